"""The model card: its own lines work, and it claims what was measured."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from tests.cli.conftest import FIT, Unruly
from tests.serve.conftest import begin

from unruly.export.card import Compared, model_card
from unruly.export.folder import export
from unruly.model.storage import load
from unruly.project.new import make_starter


def test_hostile_names_stay_in_the_cards_table(films: Path) -> None:
    fitted = load(films).fitted
    line = fitted.summary.sources[0]
    object.__setattr__(line, "name", "x | y\n\n# <script>")
    text = model_card(fitted, "films", None)
    assert "<script>" not in text
    assert "\n# &lt;" not in text


def test_the_card_has_the_scores_of_documents_with_true_labels(
    unruly: Unruly, films: Path, tmp_path: Path
) -> None:
    yaml = pytest.importorskip("yaml")
    data = tmp_path / "new: films.csv"
    data.write_text("text,label\na lovely film,good\nan awful film,bad\nhow great,bad\n")
    done = unruly("export", films, "-o", "out", "--no-onnx", "--data", data, "--json")
    assert done.code == 0
    figures = json.loads(done.out)["evaluation"]["all"]
    card = Path("out/README.md").read_text()
    _, head, body = card.split("---\n", 2)
    (result,) = yaml.safe_load(head)["model-index"][0]["results"]
    assert result["dataset"]["name"] == "new: films.csv"
    metrics = {metric["type"]: metric["value"] for metric in result["metrics"]}
    assert metrics["accuracy"] == round(figures["model"]["accuracy"], 4)
    assert metrics["f1"] == round(figures["model"]["macro_f1"], 4)
    assert f"| majority vote | {figures['majority_vote']['accuracy']:.1%} (" in body
    assert "3 for scoring (new: films.csv)" in body
    assert "go with --data" in unruly("export", films, "-o", "no", "--label", "label").err


def test_a_card_without_scores_says_how_to_get_them(films: Path) -> None:
    card = model_card(load(films).fitted, "films", None)
    assert "model-index" not in card
    assert "unruly export films.unruly -o FOLDER --card --data FILE" in card


@pytest.mark.parametrize("kind", ["films", "starred"])
def test_the_cards_own_lines_work(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model: Path = request.getfixturevalue(kind)
    functions = [model.parent / "rules.py"] if kind == "starred" else []
    export(model, tmp_path / "out", card=True, onnx=False, functions=functions)
    monkeypatch.chdir(tmp_path / "out")
    card = Path("README.md").read_text()
    code, shell = re.findall(r"```(?:python|sh)\n(.*?)```", card, re.S)
    if kind == "starred":
        assert "its rules read `stars`" in card
        with pytest.warns(UserWarning, match="'dear' abstains: no column 'stars'"):
            exec(code, {})
    else:
        assert "its rules read" not in card
        exec(code, {})
    serve, ask = (shlex.split(line) for line in shell.splitlines())
    assert serve[:2] == ["unruly", "serve"]
    place = serve.index("--port")
    running = begin(*serve[2:place])
    try:
        assert running.post("/predict", ask[-1].encode()).status == 200
    finally:
        running.stop()


def test_the_class_shares_that_were_assumed_are_a_limit(unruly: Unruly, tmp_path: Path) -> None:
    make_starter(tmp_path / "spam")
    file = tmp_path / "spam" / "unruly.toml"
    file.write_text(re.sub(r"(?m)^prior = .*$", "", file.read_text()))
    fit = unruly("fit", "spam", "-o", "spam.unruly", "--encoder", "lsa")
    said = re.findall(r"Class shares are not known.*\n.*%", fit.out)
    assert len(said) == 1
    limits = model_card(load(tmp_path / "spam.unruly").fitted, "spam", None).partition("## Limits")[
        2
    ]
    assert " ".join(said[0].split()) in limits


def test_what_the_graph_was_compared_on(tmp_path: Path, unruly: Unruly) -> None:
    pytest.importorskip("onnx")
    make_starter(tmp_path / "spam")
    words = {
        "": "on 73 training documents they",
        "--no-excerpts": "on 1,000 rows of random numbers",
    }
    for flag, claim in words.items():
        assert unruly("fit", "spam", "-o", "m.unruly", "--encoder", "lsa", *flag.split()).code == 0
        export(tmp_path / "m.unruly", tmp_path / f"out{flag}", card=True)
        assert claim in (tmp_path / f"out{flag}" / "README.md").read_text()


def test_the_papers_sources_have_reliabilities(tmp_path: Path, unruly: Unruly) -> None:
    make_starter(tmp_path / "spam")
    assert unruly("fit", "spam", "-o", "m.unruly", *FIT).code == 0
    card = model_card(load(tmp_path / "m.unruly").fitted, "m", Compared(1, True, 0.0))
    assert "| source | votes | coverage | reliability |" in card
    assert "estimated" not in card

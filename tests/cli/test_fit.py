"""`unruly fit`, `evaluate` and `worth`: from a project to a saved model, with its figures and its ledger."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from tests.cli.conftest import FIT, Unruly, command_line

from unruly.cli.fit import check_typed, fit, setting_options, typed_settings
from unruly.errors import InputError
from unruly.settings import SETTINGS


def test_the_summary_has_all_that_it_promises(unruly: Unruly, spam: Path) -> None:
    done = unruly("fit", spam, "-o", "spam.unruly", *FIT)
    assert done.code == 0
    for words in (
        "documents   73, of which 60 (82.2%) have votes",
        "heads       votes and text predict the same class on",
        "reliability",
        "about_the_song",
        "accuracy",
        "macro-F1",
        "precision  recall     F1",
        "calibration error",
        "majority",
        "covered",
        "uncovered",
        "gold labels: none in the model; 73 for scoring",
    ):
        assert words in done.out, words
    assert "spam.unruly is ready" in done.err
    assert Path("spam.unruly").is_file()


def test_json(unruly: Unruly, spam: Path) -> None:
    done = unruly("fit", spam, "-o", "spam.unruly", *FIT, "--json", "-q")
    assert done.err == ""
    plain = json.loads(done.out)
    assert plain["documents"] == 73
    assert plain["classes"] == ["ham", "spam"]
    assert len(plain["sources"]) == 8
    assert 0 <= plain["agreement"] <= 1
    assert plain["scored_on"] == "train"
    assert set(plain["evaluation"]) >= {"all", "covered", "uncovered"}
    assert plain["epochs"] == 15


def test_the_same_seed_gives_the_same_bytes(unruly: Unruly, spam: Path) -> None:
    for name in ("a.unruly", "b.unruly"):
        unruly("fit", spam, "-o", name, *FIT, "-q", "--no-score")
    assert Path("a.unruly").read_bytes() == Path("b.unruly").read_bytes()
    unruly("fit", spam, "-o", "c.unruly", *FIT, "-q", "--no-score", "--seed", "1")
    assert Path("a.unruly").read_bytes() != Path("c.unruly").read_bytes()


def test_without_gold_or_with_no_score_nothing_is_scored(unruly: Unruly, spam: Path) -> None:
    done = unruly("fit", spam, "-o", "spam.unruly", *FIT, "--no-score")
    assert "accuracy" not in done.out
    assert "gold labels: none used" in done.out


def test_the_projects_own_settings_and_options_over_them(unruly: Unruly, spam: Path) -> None:
    toml = spam / "unruly.toml"
    train = "\n[train]\nmethod = 'paper'\nepochs = 7\n"
    toml.write_text("encoder = 'lsa'\n" + toml.read_text() + train)
    assert json.loads(unruly("fit", spam, "-o", "m.unruly", "--json").out)["epochs"] == 7
    done = unruly("fit", spam, "-o", "m.unruly", "--epochs", "3", "--json")
    assert json.loads(done.out)["epochs"] == 3


@pytest.mark.parametrize("name", ["labels.csv", "theirs.csv"])
def test_labels_are_used_without_being_asked_for_and_enter_the_ledger(
    unruly: Unruly, spam: Path, name: str
) -> None:
    (spam / name).write_text("id,is_spam\n0,1\n1,0\n2,0\n")
    toml = spam / "unruly.toml"
    if name != "labels.csv":
        toml.write_text(toml.read_text().replace("[data]\n", f'[data]\nlabels = "{name}"\n'))
    done = unruly("fit", spam, "-o", "m.unruly", "--encoder", "lsa")
    assert done.code == 0, done.err
    told = f"3 for training ({name}), 3 for prior ({name}), 3 for calibration ({name})"
    assert f"gold labels: {told}" in done.out


def test_odd_labels_are_one_line_each_and_kept_apart(unruly: Unruly, spam: Path) -> None:
    lines = "id;label;by\r\n0;spam;ada\r\n0;ham;bob\r\n1;eggs;ada\r\n999;ham;ada\r\n2;;ada\r\n3;ham;ada\r\n"
    (spam / "labels.csv").write_bytes(b"\xef\xbb\xbf" + lines.encode())
    done = unruly("fit", spam, "-o", "m.unruly", "--encoder", "lsa")
    assert done.code == 0, done.err
    assert "gold labels: 1 for training (labels.csv)" in done.out
    odd = [line for line in done.err.splitlines() if line.startswith("labels.csv:")]
    assert len(odd) == 4
    assert "line 6" in odd[0]
    assert "999" in odd[1]
    assert "eggs" in odd[2]
    assert "ada spam, bob ham" in odd[3]
    plain = json.loads(unruly("fit", spam, "-o", "m.unruly", "--encoder", "lsa", "--json").out)
    found = {one["kind"]: one for one in plain["problems"]}
    assert found["unreadable_line"]["line"] == 6
    assert found["unknown_id"]["id"] == "999"
    assert found["unknown_class"]["label"] == "eggs"
    assert found["contradiction"]["labels"] == [["ada", "spam"], ["bob", "ham"]]


def test_a_file_of_labels_that_is_named_must_be_there(unruly: Unruly, spam: Path) -> None:
    toml = spam / "unruly.toml"
    toml.write_text(toml.read_text().replace("[data]\n", '[data]\nlabels = "theirs.csv"\n'))
    done = unruly("fit", spam, "-o", "m.unruly", "--encoder", "lsa")
    assert done.code == 2
    assert "there is no file 'theirs.csv': `unruly label` makes it" in done.err


def test_gold_validation_only_when_asked(unruly: Unruly, spam: Path) -> None:
    (spam / "valid.csv").write_text((spam / "comments.csv").read_text())
    toml = spam / "unruly.toml"
    toml.write_text(toml.read_text().replace("[data]\n", '[data]\nvalid = "valid.csv"\n'))
    assert "for selection" not in unruly("fit", spam, "-o", "m.unruly", *FIT).out
    asked = unruly("fit", spam, "-o", "m.unruly", *FIT, "--selection", "gold")
    assert "gold labels: 73 for selection" in asked.out, asked.err


def test_the_test_file_is_scored_where_there_is_one(unruly: Unruly, spam: Path) -> None:
    (spam / "test.csv").write_text("comment,is_spam\nplease subscribe,1\nlovely song,0\n")
    toml = spam / "unruly.toml"
    toml.write_text(toml.read_text().replace("[data]\n", '[data]\ntest = "test.csv"\n'))
    done = unruly("fit", spam, "-o", "m.unruly", *FIT)
    assert "against the gold labels of the test file" in done.out
    assert "2 for scoring" in done.out
    assert "these are the training documents" not in done.out


def test_every_setting_is_an_option_with_its_own_words() -> None:
    shown = " ".join(CliRunner().invoke(fit, ["--help"], prog_name="unruly fit").output.split())
    for kind in SETTINGS.values():
        for option in kind.options():
            assert option.flag in shown
            assert option.help[1:20] in shown


@pytest.mark.parametrize(
    "args",
    [
        ("--epochs", "5"),
        ("--learning-rate", "0.1"),
        ("--hidden", "8"),
        ("--c1", "0.1"),
        ("--p", "1"),
        ("--batch-size", "8"),
        ("--ablation", "rule-only"),
        ("--selection", "gold"),
        ("--calibrate",),
    ],
)
def test_options_of_another_method_are_refused(
    unruly: Unruly, spam: Path, args: tuple[str, ...]
) -> None:
    done = unruly("fit", spam, "-o", "m.unruly", "--encoder", "lsa", *args)
    flag = args[0]
    assert done.code == 2
    assert done.err == (
        f"error: {flag} is an option of --method paper: add it, or leave {flag} out\n"
    )
    done = unruly("fit", spam, "-o", "m.unruly", "--method", "paper", "--prior", "0.5,0.5")
    assert "--prior is not used by the method paper" in done.err


def test_a_prior_of_the_file_that_the_method_does_not_use_is_left_out_and_said_so(
    unruly: Unruly, spam: Path
) -> None:
    file = spam / "unruly.toml"
    told = "the prior of the project is not used: the method paper has none"
    short = ("--method", "paper", "--epochs", "2", "--hidden", "4")
    args = ("fit", spam, "-o", "m.unruly", "--encoder", "lsa", *short)
    stated = unruly(*args)
    assert stated.code == 0
    assert told in stated.err
    saved = Path("m.unruly").read_bytes()
    assert json.loads(unruly(*args, "--json").out)["prior_unused"] is True
    refused = unruly(*args, "--prior", "0.5,0.5")
    assert (refused.code, refused.out) == (2, "")
    assert "--prior is not used by the method paper" in refused.err
    file.write_text(re.sub(r"(?m)^prior = .*$", "", file.read_text()))
    without = unruly(*args)
    assert (without.code, told in without.err) == (0, False)
    assert Path("m.unruly").read_bytes() == saved


def test_no_excerpts(unruly: Unruly, spam: Path) -> None:
    text = (spam / "comments.csv").read_text().splitlines()[1].split(",")[0].strip('"')[:30]
    for flags, there in (([], True), (["--no-excerpts"], False)):
        assert unruly("fit", spam, "-o", "m.unruly", *FIT, *flags, "-q").code == 0
        assert (text.encode() in Path("m.unruly").read_bytes()) == there


def test_what_is_no_project_is_recognised(unruly: Unruly, spam: Path, fitted: Path) -> None:
    done = unruly("fit", spam / "comments.csv", "-o", "m.unruly")
    assert done.code == 2
    assert "this is a data file, but a project is needed: `unruly new NAME --data " in done.err
    Path("mine.csv").write_text("text\nhello\n")
    assert "`unruly new NAME --data mine.csv` makes one" in unruly("check", "mine.csv").err
    done = unruly("fit", fitted, "-o", "m.unruly")
    assert "this is a model, but a project is needed" in done.err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["--method", "paper", "--hidden", "0"],
            "error: hidden = 0: must be a whole number from 1",
        ),
        (["--hidden", "many"], "error: Invalid value for '--hidden'"),
        (
            ["--method", "paper", "--c1", "0.8", "--c3", "0.8"],
            "error: c1 = 0.8 and c3 = 0.8: together",
        ),
        (["--prior", "0.9"], "error: prior: 1 number for 2 classes"),
        (["--prior", "0.9,x"], "error: prior: '0.9,x' is not understood: expected"),
        (["--prior", "guess"], "error: prior: 'guess' is not understood: expected"),
        (["--encoder", "lsaa"], "error: encoder: there is no encoder 'lsaa', nor a folder"),
        (["--ablation", "half"], "error: Invalid value for '--ablation'"),
    ],
)
def test_bad_options_are_one_line(
    unruly: Unruly, spam: Path, args: list[str], message: str
) -> None:
    Path("m.unruly").write_text("precious")
    done = unruly("fit", spam, "-o", "m.unruly", *args)
    assert done.code == 2
    assert done.err.startswith(message), done.err
    assert done.err.count("\n") == 1
    assert Path("m.unruly").read_text() == "precious"


def test_interrupted_it_leaves_the_old_model(spam: Path, tmp_path: Path) -> None:
    (tmp_path / "m.unruly").write_text("precious")
    run = subprocess.Popen(
        command_line(
            [
                "fit",
                "spam",
                "-o",
                "m.unruly",
                "--encoder",
                "lsa",
                "--method",
                "paper",
                "--epochs",
                "1000000",
            ]
        ),
        cwd=tmp_path,
        env={**os.environ, "UNRULY_CACHE": str(tmp_path / "cache")},
        stderr=subprocess.PIPE,
        text=True,
    )
    started = time.monotonic()
    while not any(names for _, _, names in os.walk(tmp_path / "cache" / "features")):
        assert run.poll() is None, run.communicate()  # once the features are there, it trains
        assert time.monotonic() - started < 60
        time.sleep(0.05)
    time.sleep(0.5)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert err.endswith("interrupted: nothing half-written is left\n")
    assert (tmp_path / "m.unruly").read_text() == "precious"
    assert {path.name for path in tmp_path.iterdir()} == {"cache", "m.unruly", "spam"}


def test_a_model_with_functions_is_ready_with_the_path_that_works(
    unruly: Unruly, spam: Path, tmp_path: Path
) -> None:
    (spam / "mine.py").write_text(
        'from unruly import rule\n\n@rule\ndef loud(row):\n    return "spam" if row.text.isupper() else None\n'
    )
    text = (spam / "unruly.toml").read_text()
    more = (
        '[[source]]\nname = "loud"\nrule = [{ function = { file = "mine.py", name = "loud" } }]\n'
    )
    (spam / "unruly.toml").write_text(text + more)
    done = unruly("fit", "spam", "-o", "m.unruly", "--encoder", "lsa")
    assert 'try: unruly explain m.unruly --functions spam/mine.py "a text' in done.err
    needed = "predict, explain, serve and report need --functions spam/mine.py"
    assert done.err.count(needed) == 1
    assert needed not in unruly("fit", "spam", "-o", "m.unruly", "--encoder", "lsa", "-q").err
    assert unruly("report", "m.unruly", "-o", "r.html", "-q").code == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    command = "unruly report MODEL test.csv --label COLUMN --functions mine.py -o report.html"
    assert f"<code>{command}</code>" in page
    assert "`" not in page[page.index("<main") : page.index("</main")]
    assert unruly("explain", "m.unruly", "--functions", "spam/mine.py", "BUY NOW").code == 0


FOUND: list[dict[str, Any]] = []


@click.command()
@setting_options
@click.pass_context
def tool(context: click.Context) -> None:
    FOUND.append(dict(typed_settings(context)))


def typed(*args: str) -> dict[str, Any]:
    result = CliRunner().invoke(tool, args, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return FOUND.pop()


def test_nothing_typed_nothing_changed() -> None:
    assert typed() == {}


OPTIONS = [(method, option) for method, kind in SETTINGS.items() for option in kind.options()]


@pytest.mark.parametrize(("method", "option"), OPTIONS, ids=lambda x: getattr(x, "name", x))
def test_each_setting_can_be_typed(method: str, option: Any) -> None:
    value: Any
    if option.range is None:
        assert typed(option.flag) == {option.name: True}
        assert typed(f"--no-{option.flag[2:]}") == {option.name: False}
        return
    if option.range.choices:
        value = option.range.choices[-1]
    else:
        value = max(1, int(option.range.low)) if option.range.whole else max(0.5, option.range.low)
    found = typed(option.flag, str(value))
    assert found == {option.name: value}
    assert type(found[option.name]) is type(value)
    zero = {"c1": 0.0, "c3": 0.0} if method == "paper" else {}
    assert getattr(SETTINGS[method](**{**zero, **found}), option.name) == value


@pytest.mark.parametrize(
    "args", [["--hidden", "1.5"], ["--ablation", "guess"], ["--alpha", "much"]]
)
def test_wrong_kinds_are_refused(args: list[str]) -> None:
    assert CliRunner().invoke(tool, args).exit_code == 2


@pytest.mark.parametrize(("method", "option"), OPTIONS, ids=lambda x: getattr(x, "name", x))
def test_an_option_of_another_method_is_refused_with_a_hint(method: str, option: Any) -> None:
    other = next(name for name in SETTINGS if name != method)
    shared = {o.name for o in SETTINGS[other].options()}
    check_typed({option.name: 1}, method)
    if option.name in shared:
        return
    with pytest.raises(
        InputError, match=f"{option.flag} is an option of --method {method}: add it"
    ):
        check_typed({option.name: 1}, other)


def test_the_figures(unruly: Unruly, fitted: Path) -> None:
    data = fitted.parent / "spam" / "comments.csv"
    done = unruly("evaluate", fitted, data, "--label", "is_spam")
    assert (done.code, done.err) == (0, "text column: comment\n")
    for words in (
        "accuracy",
        "macro-F1",
        "precision  recall     F1",
        "calibration error",
        "majority",
        "covered",
        "uncovered",
    ):
        assert words in done.out
    assert "gold labels: none in the model; 73 for scoring" in done.out


def test_a_project_and_the_usual_name_of_the_label_column(unruly: Unruly, fitted: Path) -> None:
    by_project = unruly("evaluate", fitted, fitted.parent / "spam", "--split", "train", "--json")
    plain = json.loads(by_project.out)
    assert plain["all"]["model"]["documents"] == 73
    Path("gold.csv").write_text("text,label\nplease subscribe,spam\nlovely song,ham\n")
    plain = json.loads(unruly("evaluate", fitted, "gold.csv", "--json").out)
    assert plain["all"]["model"]["documents"] == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("text\nhello\n", "pass the column of the gold labels with --label"),
        ("text,label\nhello,eggs\n", "the label 'eggs' is not a class"),
        ("text,label\nhello,\n", "no document has a gold label"),
        ("text,label\n", "gold.csv"),
    ],
)
def test_nothing_to_score_against(unruly: Unruly, fitted: Path, text: str, message: str) -> None:
    Path("gold.csv").write_text(text)
    done = unruly("evaluate", fitted, "gold.csv")
    assert done.code == 2, done.out
    assert message in done.err
    assert done.err.count("\n") == 1


def test_a_project_without_a_test_file_is_told_of_its_other_file(
    unruly: Unruly, fitted: Path
) -> None:
    spam = fitted.parent / "spam"
    done = unruly("predict", fitted, spam, "-o", "out.csv")
    assert done.code == 2
    assert f"a file instead of the project, such as {spam / 'comments.csv'}" in done.err


def test_the_starter_project(unruly: Unruly) -> None:
    assert unruly("new", "spam").code == 0
    done = unruly("worth", "spam", "--encoder", "lsa", "--draws", "2", "--json")
    assert (done.code, done.err) == (0, "")
    plain = json.loads(done.out)
    assert "sentence" not in plain
    assert plain["hand_labels"][0]["labels"] == 10
    assert plain["gold_free"] is True
    assert plain["ledger"][0]["labels"] == 36
    table = unruly("worth", "spam", "--encoder", "lsa", "--draws", "2")
    assert "spread over draws" in table.out
    lines = [line.split() for line in table.out.splitlines()]
    assert ["37", "-"] in [[words[0], words[-1]] for words in lines if len(words) == 3]
    low, high = plain["rules_accuracy_low"], plain["rules_accuracy_high"]
    assert f"({low:.1%} to {high:.1%})" in next(
        x for x in table.out.splitlines() if "the rules" in x
    )
    told = " ".join(table.out.split())
    used = plain["ledger"][1]
    assert used["use"] == "comparison"
    assert f"{used['labels']} for training the classifier that the rules are compared with" in told
    assert "36 for scoring (half of the labelled training documents)" in told


def test_without_gold_it_says_what_to_do(unruly: Unruly) -> None:
    assert unruly("new", "spam").code == 0
    project = Path("spam/unruly.toml")
    lines = project.read_text("utf-8").splitlines()
    project.write_text(
        "\n".join(x for x in lines if not x.startswith('label = "is_spam"')), "utf-8"
    )
    done = unruly("worth", "spam", "--encoder", "lsa")
    assert done.code == 2
    assert "no training document has a gold label" in done.err
    assert "unruly label" in done.err


COLUMNS = """
[task]
classes = ["ham", "spam"]
[data]
train = "mail.csv"
[[source]]
name = "song"
rule = [{ label = "ham", keywords = ["song"] }]
[[source]]
name = "offer"
rule = [{ label = "spam", keywords = ["offer"] }]
[[source]]
name = "dear"
rule = [{ function = { file = "rules.py", name = "dear" } }]
"""
DEAR = """
import unruly

@unruly.rule
def dear(row):
    return "spam" if row.amount > 100 else None
"""


@pytest.fixture
def paid(tmp_path: Path) -> Path:
    """A project whose function reads another column."""
    folder = tmp_path / "paid"
    folder.mkdir()
    (folder / "unruly.toml").write_text(COLUMNS)
    (folder / "rules.py").write_text(DEAR)
    kinds = [f"D{n},{'an offer' if n % 2 else 'a song'} {n},{50 + 60 * (n % 2)}" for n in range(40)]
    (folder / "mail.csv").write_text("\n".join(["id,text,amount", *kinds]))
    return folder


def test_the_command_to_try_works_where_rules_read_other_columns(
    unruly: Unruly, paid: Path
) -> None:
    done = unruly("fit", paid.name, "-o", "m.unruly", "--encoder", "lsa")
    tried = done.err.rpartition("try: unruly ")[2].split()
    assert tried == ["explain", "m.unruly", "--data", "paid", "--id", "D0"]
    explained = unruly(*tried)
    assert (explained.code, explained.err) == (0, "")
    text = unruly("explain", "m.unruly", "--functions", "paid/rules.py", "an offer")
    assert text.code == 0
    assert "dear abstains: the document has no column 'amount'" in text.out
    assert "--data FILE --id ID" in text.err
    (paid / "mail.csv").write_text("text\nan offer\n")
    labelled = unruly(
        "predict", "m.unruly", "paid/mail.csv", "-o", "o.csv", "--functions", "paid/rules.py"
    )
    assert labelled.code == 0
    assert (
        "warning: the source 'dear' abstains: no column 'amount' in paid/mail.csv" in labelled.err
    )


@pytest.mark.parametrize(
    "name", ["out.csv", "out.TSV", "m.jsonl", "m.parquet", "m.xlsx", "m.toml", "m.py", "m.html"]
)
def test_a_model_is_not_named_like_a_table(unruly: Unruly, spam: Path, name: str) -> None:
    done = unruly("fit", spam, "-o", name, "--encoder", "lsa")
    assert done.code == 2
    assert (
        f"a model is no {Path(name).suffix.lower()} file: name it {Path(name).stem}.unruly"
        in done.err
    )
    assert not Path(name).exists()


def test_what_fit_prints_names_the_project(unruly: Unruly, spam: Path) -> None:
    file = spam / "unruly.toml"
    file.write_text(re.sub(r"(?m)^prior = .*$", "", file.read_text()))  # nothing is stated
    out = unruly("fit", "spam", "-o", "m.unruly", "--encoder", "lsa").out
    assert "label 20 documents (`unruly label spam`)" in out

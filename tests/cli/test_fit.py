"""`unruly fit`: from a project to a saved model, with its figures and its ledger."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.cli.conftest import FIT, Unruly, command_line

from unruly.cli.fit import command
from unruly.model.methods import SETTINGS


def test_the_summary_has_all_that_it_promises(unruly: Unruly, spam: Path) -> None:
    done = unruly("fit", spam, "-o", "spam.unruly", *FIT)
    assert done.code == 0
    for words in (
        "documents   73, of which 60 (82.2%) have votes",
        "agreement   denoiser and classifier",
        "reliability",
        "about_the_song",
        "accuracy",
        "macro-F1",
        "F1 ham",
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
    assert f"gold labels: 3 for training ({name}), 3 for prior ({name})" in done.out


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
    assert "optimistic" not in done.out


def test_every_setting_is_an_option_with_its_own_words() -> None:
    shown = " ".join(CliRunner().invoke(command, ["--help"], prog_name="unruly fit").output.split())
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
    assert "--prior is not used by --method paper" in done.err


def test_no_excerpts(unruly: Unruly, spam: Path) -> None:
    text = (spam / "comments.csv").read_text().splitlines()[1].split(",")[0].strip('"')[:30]
    for flags, there in (([], True), (["--no-excerpts"], False)):
        assert unruly("fit", spam, "-o", "m.unruly", *FIT, *flags, "-q").code == 0
        assert (text.encode() in Path("m.unruly").read_bytes()) == there


def test_what_is_no_project_is_recognised(unruly: Unruly, spam: Path, fitted: Path) -> None:
    done = unruly("fit", spam / "comments.csv", "-o", "m.unruly")
    assert done.code == 2
    assert "this is a data file, and a project is needed: `unruly new NAME`" in done.err
    done = unruly("fit", fitted, "-o", "m.unruly")
    assert "this is a model, and a project is needed" in done.err


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
    assert unruly("explain", "m.unruly", "--functions", "spam/mine.py", "BUY NOW").code == 0

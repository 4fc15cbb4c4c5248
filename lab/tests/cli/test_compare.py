"""`unruly compare`: the tables, the files, and what happens when a method cannot run."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Unruly

from unruly_lab.compare.comparison import QUICK
from unruly_lab.peers.systems import SYSTEMS

FEW = ("--encoder", "lsa", "--methods", "majority-vote,bert-mlp")


def without_gold(project: Path) -> None:
    file = project / "unruly.toml"
    lines = file.read_text("utf-8").splitlines()
    file.write_text("\n".join(x for x in lines if not x.startswith('label = "is_spam"')), "utf-8")


def test_the_quick_choice_as_json(unruly: Unruly, spam: Path) -> None:
    done = unruly("compare", spam, "--encoder", "lsa", "--seeds", "1", "--json", "--quiet")
    assert (done.code, done.err) == (0, "")
    plain = json.loads(done.out)
    assert [system["name"] for system in plain["systems"]] == list(QUICK)
    assert [system["failure"] for system in plain["systems"]] == [None] * len(QUICK)
    assert all(system["accuracy"]["value"] > 0.6 for system in plain["systems"])
    assert plain["agreement"]["names"] == list(QUICK)
    assert plain["gold_used"] == [
        {"use": "scoring", "labels": 73, "origin": "labelled training documents"}
    ]
    assert not any(system["gold_used"] for system in plain["systems"])


def test_tables_files_and_chart(unruly: Unruly, spam: Path) -> None:
    pytest.importorskip("matplotlib")
    done = unruly("compare", spam, *FEW, "--chart", "c.png", "-o", "r.csv")
    assert done.code == 0
    for words in (
        "accuracy",
        "F1 spam",
        "stability",
        "same predictions",
        "Majority vote",
        "BERT-MLP",
    ):
        assert words in done.out
    assert "accuracy and F1 on labelled training documents, with 95 % intervals" in done.out
    assert done.err.splitlines() == ["r.csv is written", "c.png is drawn"]
    with Path("r.csv").open(encoding="utf-8", newline="") as file:
        assert [row["system"] for row in csv.DictReader(file)] == ["majority-vote", "bert-mlp"]
    assert Path("c.png").read_bytes().startswith(b"\x89PNG")


def test_without_gold(unruly: Unruly, spam: Path) -> None:
    without_gold(spam)
    done = unruly("compare", spam, *FEW, "-q")
    assert (done.code, done.err) == (0, "")
    assert "accuracy" not in done.out
    assert "nothing here shows which method is right" in done.out
    assert done.out.rstrip().endswith("gold labels: none used")


def test_one_that_cannot_run_is_told_and_the_others_run(unruly: Unruly, spam: Path) -> None:
    done = unruly(
        "compare", spam, "--encoder", "lsa", "--methods", "bert-mlp-gold,majority-vote", "-q"
    )
    assert done.code == 0
    assert "bert-mlp-gold did not run: a supervised model learns from true labels" in done.out
    assert "100.0%" in done.out


def test_when_nobody_can_run_the_exit_code_says_so(unruly: Unruly, spam: Path) -> None:
    done = unruly(
        *("compare", spam, "--encoder", "lsa", "--methods", "bert-mlp-gold"),
        *("--chart", "c.svg", "-q"),
    )
    assert done.code == 1
    assert "did not run" in done.out
    assert not Path("c.svg").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--methods", "nonsense"), "no system is called 'nonsense': there are majority-vote"),
        (("--methods", ","), "--methods names no system"),
        (("--chart", "c.pdf"), "use .png or .svg"),
        (("-o", "r.xlsx"), "use .json, .md or .csv"),
        (("-o", "nowhere/r.json"), "the folder nowhere does not exist"),
        (("--seeds", "0"), "0 is not in the range"),
    ],
)
def test_bad_input_is_refused_before_the_work(
    unruly: Unruly, spam: Path, options: tuple[str, ...], message: str
) -> None:
    done = unruly("compare", spam, *options)
    assert done.code == 2
    assert message in done.err
    assert len(done.err.splitlines()) == 1


def test_help_names_every_method(unruly: Unruly) -> None:
    text = re.sub(r"-\s+", "-", unruly("compare", "--help").out)  # lines may break at hyphens
    words = re.split(r"[\s,.]+", text)
    assert not [system.name for system in SYSTEMS if system.name not in words]


def test_in_its_own_process(real: Unruly, spam: Path) -> None:
    done = real("compare", spam, "--encoder", "lsa", "--methods", "majority-vote", "-o", "r.json")
    assert done.code == 0
    assert json.loads((spam.parent / "r.json").read_text("utf-8"))["systems"][0]["failure"] is None

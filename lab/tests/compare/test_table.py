"""A comparison on paper: every row has every column, files hold what the screen shows."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lab.tests.peers.planted_task import trained

from unruly.ledger import Ledger, Use
from unruly.statistics import Share
from unruly_lab.compare.comparison import Comparison, Row
from unruly_lab.compare.scores import GoldScores
from unruly_lab.compare.table import (
    agreement_table,
    gold_table,
    sentences,
    tables,
    write_comparison,
)
from unruly_lab.peers.systems import entry

SCORES = GoldScores(
    Share(0.9, 0.8, 0.95, 100),
    Share(0.85, 0.7, 0.9, 100),
    (Share(0.95, 0.9, 0.99, 100), Share(float("nan"), 0.0, 1.0, 100)),
)
ROWS = (
    Row(entry("majority-vote"), None, 1.0, 1.0, -0.69, SCORES, 0.01, 0),
    Row(entry("bert-mlp"), None, 0.91, 0.88, -0.4, SCORES, 2.5, 3330, (trained(4),)),
    Row(entry("ulmfit"), failure="the library x is not installed"),
)
GOLD = Comparison(
    rows=ROWS,
    agreement=np.array([[1.0, 0.8], [0.8, 1.0]]),
    classes=("ham", "spam"),
    documents=1000,
    covered=800,
    hidden=80,
    seeds=2,
    encoder="lsa",
    scored_on="the test file",
    repeats=7,
    ledger=Ledger().add(Use.SCORING, 100, "the test file"),
)
BARE = replace(
    GOLD,
    rows=tuple(replace(row, gold=None) for row in ROWS),
    scored_on=None,
    repeats=0,
    hidden=0,
    ledger=Ledger(),
)
THREE = replace(GOLD, classes=("a", "b", "c"))


@pytest.mark.parametrize("comparison", [GOLD, BARE, THREE], ids=["gold", "bare", "three"])
def test_every_row_has_every_column(comparison: Comparison) -> None:
    found = tables(comparison)
    assert len(found) == (2 if comparison is BARE else 3)
    for header, rows in found:
        assert {len(row) for row in rows} == {len(header)}
    assert all(len(rows) == 3 for _, rows in found[:-1])


def test_the_cells() -> None:
    (gold, scores), (behaviour, figures), _ = tables(GOLD)
    assert dict(zip(gold, scores[1], strict=True)) == {
        "system": "BERT-MLP",
        "accuracy": "90.0 (80–95)",
        "macro F1": "85.0 (70–90)",
        "F1 ham": "95.0 (90–99)",
        "F1 spam": "–",
    }
    assert dict(zip(behaviour, figures[1], strict=True)) == {
        "system": "BERT-MLP",
        "stability": "91.0%",
        "follows majority": "88.0%",
        "held-out votes": "-0.400",
        "CPU s": "2.5",
        "gold used": "4 for training",
    }
    assert figures[2][-1] == "did not run"
    assert gold_table(THREE)[0] == ("system", "accuracy", "macro F1")
    assert "held-out votes" not in tables(BARE)[0][0]


def test_the_sentences() -> None:
    shown = "\n".join(sentences(GOLD))
    assert "7 of the scored documents repeat training documents" in shown
    assert "ulmfit did not run: the library x is not installed" in shown
    assert "a uniform guess gives -0.693" in shown
    assert shown.endswith("gold labels: none in the model; 100 for scoring (the test file)")
    one = "\n".join(sentences(replace(GOLD, repeats=1)))
    assert "1 of the scored documents repeats a training document\n" in one
    bare = "\n".join(sentences(BARE))
    assert "nothing here shows which method is right" in bare
    assert "too few documents" in bare


def test_agreement_leaves_out_who_did_not_run() -> None:
    header, rows = agreement_table(GOLD)
    assert header == ("same predictions, %", "1", "2")
    assert rows[1] == ("2 BERT-MLP", "80", "100")


def test_json_holds_everything(tmp_path: Path) -> None:
    write_comparison(GOLD, tmp_path / "r.json")
    plain = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert plain == json.loads(json.dumps(GOLD.to_plain()))
    assert plain["systems"][0]["f1"][1] == {"value": None, "low": None, "high": None}


def test_csv_has_a_row_for_each_system(tmp_path: Path) -> None:
    write_comparison(GOLD, tmp_path / "r.csv")
    with (tmp_path / "r.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["system"] for row in rows] == ["majority-vote", "bert-mlp", "ulmfit"]
    assert (rows[1]["accuracy_low"], rows[1]["f1_spam"], rows[1]["parameters"]) == (
        "0.8",
        "",
        "3330",
    )
    assert rows[2]["failure"] == "the library x is not installed"
    assert None not in rows[0]


def test_markdown_is_tables_and_a_list(tmp_path: Path) -> None:
    write_comparison(GOLD, tmp_path / "r.md")
    lines = (tmp_path / "r.md").read_text("utf-8").splitlines()
    widths = {line.count("|") for line in lines if line.startswith("| ") and "BERT" in line}
    assert widths == {len(header) + 1 for header, _ in tables(GOLD)}
    assert sum(line.startswith("- ") for line in lines) == len(sentences(GOLD))

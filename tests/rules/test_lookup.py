from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from unruly.errors import RuleError
from unruly.rules.lookup import Lookup
from unruly.rules.plain import source_from_plain
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus

FRAME = pl.DataFrame(
    {
        "text": ["1", "2", "3", "4"],
        "entity1": ["Ann Lee", "Bo Orr", "Cy Poe", None],
        "entity2": ["Bo Orr", "Ann Lee", "Di Orr", "Bo Orr"],
    }
)


@pytest.fixture
def couples(tmp_path: Path) -> Path:
    path = tmp_path / "couples.csv"
    path.write_text("name,spouse\nAnn Lee,Bo Orr\nXi Poe,Yo Orr\n", encoding="utf-8")
    return path


def fired(rule: Lookup, frame: pl.DataFrame = FRAME) -> list[bool]:
    sources = Sources(["no", "yes"], [Source("l", [Rule("yes", rule)])])
    return [bool(v) for v in sources.vote(Corpus.from_frame(frame, text="text")).voted[:, 0]]


PAIR = ("entity1", "entity2")


def test_a_pair_counts_one_way_or_both(couples: Path) -> None:
    assert fired(Lookup(str(couples), PAIR)) == [True, False, False, False]
    assert fired(Lookup(str(couples), PAIR, either_order=True)) == [True, True, False, False]


def test_last_names(couples: Path) -> None:
    assert fired(Lookup(str(couples), PAIR, last_names=True)) == [True, False, True, False]


def test_one_value_and_a_named_key(couples: Path) -> None:
    assert fired(Lookup(str(couples), ["entity2"], keys=["spouse"])) == [True, False, False, True]


def test_case_and_numbers(tmp_path: Path) -> None:
    (tmp_path / "brands.csv").write_text("brand\nACME\n7\n")
    frame = pl.DataFrame({"text": ["a", "b"], "brand": ["acme", " ACME "], "n": [7, 8]})
    path = str(tmp_path / "brands.csv")
    assert fired(Lookup(path, ["brand"]), frame) == [False, True]
    assert fired(Lookup(path, ["brand"], ignore_case=True), frame) == [True, True]
    assert fired(Lookup(path, ["n"]), frame) == [True, False]


def test_the_file_is_relative_to_the_project_and_its_contents_are_the_meaning(
    couples: Path,
) -> None:
    table = {
        "name": "l",
        "rule": [{"label": "yes", "lookup": {"file": "couples.csv", "columns": list(PAIR)}}],
    }
    before = source_from_plain(table, ["no", "yes"], couples.parent)
    couples.write_text("name,spouse\nCy Poe,Di Orr\n", encoding="utf-8")
    after = source_from_plain(table, ["no", "yes"], couples.parent)
    assert before.meaning() != after.meaning()
    votes = Sources(["no", "yes"], [after]).vote(Corpus.from_frame(FRAME, text="text"))
    assert votes.voted[:, 0].tolist() == [False, False, True, False]


def test_bad_tables(couples: Path, tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="no 'wife'"):
        Lookup(str(couples), ["entity1"], keys=["wife"])
    with pytest.raises(RuleError, match="3 are needed"):
        Lookup(str(couples), ["a", "b", "c"])
    with pytest.raises(RuleError, match="two columns"):
        Lookup(str(couples), ["entity1"], either_order=True)
    table = {
        "name": "l",
        "rule": [{"label": "yes", "lookup": {"file": "none.csv", "columns": ["a"]}}],
    }
    with pytest.raises(RuleError, match=r"source 'l', rule 1: there is no file none\.csv"):
        source_from_plain(table, ["no", "yes"], tmp_path)

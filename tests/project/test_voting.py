"""Votes of a split: whole or as a stream, the same votes, ids and gold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unruly.errors import InputError
from unruly.project.data import DataFiles
from unruly.project.project import Project
from unruly.project.voting import vote_split
from unruly.rules.keywords import Keywords
from unruly.rules.rule import Rule
from unruly.rules.source import Source
from unruly.rules.sources import Sources

SOURCES = Sources(["ham", "spam"], [Source("free", [Rule("spam", Keywords(["free"]))])])


def project(folder: Path, data: DataFiles) -> Project:
    return Project(SOURCES, data, folder=folder)


@pytest.mark.parametrize("small", [0, 100_000])
def test_votes_gold_and_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: int) -> None:
    monkeypatch.setattr("unruly.project.voting.SMALL", small)
    (tmp_path / "a.csv").write_text("key,text,label\nq,free beer,spam\np,tea,\n")
    files = DataFiles(train="a.csv", text="text", id="key", label="label")
    voted = vote_split(project(tmp_path, files))
    assert voted.votes.matrix.tolist() == [[1], [-1]]
    assert voted.votes.ids.to_list() == ["q", "p"]
    assert voted.gold is not None
    assert voted.gold.tolist() == [1, -1]


@pytest.mark.parametrize("small", [0, 100_000])
def test_without_gold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: int) -> None:
    monkeypatch.setattr("unruly.project.voting.SMALL", small)
    (tmp_path / "a.csv").write_text("text\nfree beer\n")
    assert vote_split(project(tmp_path, DataFiles(train="a.csv"))).gold is None


def test_a_wrench_folder(tmp_path: Path) -> None:
    (tmp_path / "label.json").write_text('{"0": "ham", "1": "spam"}')
    row = {"label": 1, "weak_labels": [-1], "data": {"text": "free beer"}}
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.json").write_text(json.dumps({"0": row}))
    voted = vote_split(project(tmp_path, DataFiles(test=".")), "test")
    assert voted.votes.matrix.tolist() == [[1]]
    assert voted.gold is not None
    assert voted.gold.tolist() == [1]


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.csv: there is no such file"):
        vote_split(project(tmp_path, DataFiles(train="a.csv")))

"""The starter folder works at once, and never overwrites anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from unruly.errors import InputError
from unruly.project.file import STARTER_FILES, make_starter
from unruly.project.project import Project


def test_it_is_a_project_that_votes(tmp_path: Path) -> None:
    project = Project.read(make_starter(tmp_path / "spam"))
    corpus = project.corpus("train")
    votes = project.sources.vote(corpus)
    assert 40 <= len(corpus) <= 100
    assert corpus.gold is not None
    assert set(corpus.gold.tolist()) == {0, 1}
    assert votes.voted.any(axis=0).all(), "a source of the starter never votes"
    assert 0.6 < votes.coverage < 1
    counts = votes.counts()
    assert ((counts > 0).sum(axis=1) > 1).any(), "no two sources disagree"


def test_its_readme_names_it(tmp_path: Path) -> None:
    readme = (make_starter(tmp_path / "mine") / "README.md").read_text()
    assert "unruly check mine" in readme
    assert "{" not in readme


def test_a_folder_that_exists_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "spam").mkdir()
    (tmp_path / "spam" / "precious.txt").write_text("mine")
    with pytest.raises(InputError, match="spam exists already: choose another name"):
        make_starter(tmp_path / "spam")
    assert [p.name for p in (tmp_path / "spam").iterdir()] == ["precious.txt"]


def test_nothing_half_made_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unruly.project.file.STARTER_FILES", (*STARTER_FILES, "missing"))
    with pytest.raises(FileNotFoundError):
        make_starter(tmp_path / "spam")
    assert list(tmp_path.iterdir()) == []

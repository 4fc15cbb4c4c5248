"""Remedies: which critique has one, what it does to the file, and that refusals are remembered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from unruly.errors import InputError
from unruly.model.advice import (
    Conflict,
    RepeatedSource,
    SilentSource,
    UncoveredClass,
    WeakSource,
    WeakWord,
)
from unruly.project.editing import ProjectText, write_edit
from unruly.project.file import make_starter
from unruly.project.project import Project
from unruly.project.remedies import (
    DisableSource,
    DropWord,
    MergeSource,
    Remedy,
    keep,
    read_kept,
    remedy_from_plain,
    remedy_of,
    remedy_to_plain,
    without_kept,
)
from unruly.statistics import Share

LOW = Share(0.2, 0.1, 0.3, 50)
WORD = WeakWord("money", 1, "cash", "spam", 30, LOW, Share(0.9, 0.8, 0.95, 40), measured=False)
SOURCE = WeakSource("link", 50, LOW, measured=False, chance=None)
REMEDIES: tuple[Remedy, ...] = (
    DropWord("money", 1, "cash"),
    DisableSource("link"),
    MergeSource("link", "money"),
)


def test_what_a_critique_asks_for() -> None:
    assert remedy_of(WORD) == DropWord("money", 1, "cash")
    assert remedy_of(SOURCE) == DisableSource("link")
    assert remedy_of(SilentSource("x")) == DisableSource("x")
    assert remedy_of(RepeatedSource("a", "b", 40, 0.9)) == MergeSource("a", "b")


def test_where_a_person_has_to_read_first_there_is_none() -> None:
    assert remedy_of(replace(SOURCE, accuracy=Share(0.4, 0.1, 0.7, 50))) is None
    below = replace(SOURCE, accuracy=Share(0.4, 0.3, 0.55, 50), chance=0.6)
    assert remedy_of(below) == DisableSource("link")
    assert remedy_of(replace(WORD, checked=Share(0.95, 0.8, 1.0, 30))) is None
    assert remedy_of(replace(WORD, checked=Share(0.25, 0.1, 0.5, 30))) is not None
    assert remedy_of(UncoveredClass("ham", (), 3, None)) is None
    assert remedy_of(Conflict("a", "b", 40, 30, 20, "x", "y", 20, False, ())) is None


@pytest.mark.parametrize("remedy", REMEDIES)
def test_a_remedy_survives_json_and_the_file(remedy: Remedy, tmp_path: Path) -> None:
    assert remedy_from_plain(remedy_to_plain(remedy)) == remedy
    keep(tmp_path, [remedy])
    keep(tmp_path, [*REMEDIES, remedy])  # each once
    assert set(read_kept(tmp_path)) == set(REMEDIES)
    assert len(read_kept(tmp_path)) == 3


def test_refused_remedies_take_their_critique_with_them() -> None:
    critique = (WORD, SOURCE, UncoveredClass("ham", (), 3, None))
    assert without_kept(critique, [DropWord("money", 1, "cash")]) == critique[1:]


def test_remedies_are_written(tmp_path: Path) -> None:
    folder = make_starter(tmp_path / "spam")

    def applied(remedy: Remedy) -> Project:
        before = ProjectText.read(folder)
        return write_edit(before, remedy.applied(before.text))

    assert applied(DisableSource("link")).sources.disabled == ("link",)
    project = applied(DropWord("money", 1, "cash"))
    assert "cash" not in project.sources.words()
    assert "money" in project.sources.words()
    merged = applied(MergeSource("money", "my_things"))
    assert "money" not in merged.sources.names
    assert "money" in merged.sources.words()


def test_a_line_that_is_no_remedy_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kept.csv").write_text("kind,source,rule,word,into\ndrop_word,a,one,song,\n")
    with pytest.raises(InputError, match=r"line 2: not a refused remedy"):
        read_kept(tmp_path)


@pytest.mark.parametrize("end", ["", 'drop_word,a,1,"fun",\n'])
def test_a_quote_without_an_end_swallows_no_lines(tmp_path: Path, end: str) -> None:
    lines = 'drop_word,a,1,"song,\ndrop_word,b,1,tune,\n'
    (tmp_path / "kept.csv").write_text("kind,source,rule,word,into\n" + lines + end)
    with pytest.raises(InputError, match=r"line 2: a quote is not closed"):
        read_kept(tmp_path)

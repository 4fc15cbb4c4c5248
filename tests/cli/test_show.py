"""`unruly show`: the documents behind a figure, their spans marked."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import Unruly

from unruly.project.project import Project
from unruly.project.voting import vote_split


def test_the_numbers_are_those_of_the_table(unruly: Unruly, spam: Path) -> None:
    votes = vote_split(Project.read(spam)).votes
    uncovered = json.loads(unruly("show", spam, "--uncovered", "-n", "99", "--json").out)
    assert uncovered["total"] == int((~votes.covered).sum()) == len(uncovered["documents"])
    assert all(not one["votes"] for one in uncovered["documents"])
    for j, name in enumerate(votes.sources):
        found = json.loads(unruly("show", spam, "--source", name, "-n", "3", "--json").out)
        assert found["total"] == int((votes.matrix[:, j] >= 0).sum())
        assert len(found["documents"]) <= 3
        for one in found["documents"]:
            assert name in [vote["source"] for vote in one["votes"]]


def test_label_and_conflicts(unruly: Unruly, spam: Path) -> None:
    votes = vote_split(Project.read(spam)).votes
    first, other = votes.sources[:2]
    a, b = votes.matrix[:, 0], votes.matrix[:, 1]
    found = unruly("show", spam, "--source", first, "--conflicts-with", other, "--json").out
    assert json.loads(found)["total"] == int(((a >= 0) & (b >= 0) & (a != b)).sum())
    found = unruly("show", spam, "--label", "spam", "--json").out
    assert json.loads(found)["total"] == int((votes.matrix == 1).any(axis=1).sum())


def test_spans_are_marked_and_escapes_harmless(unruly: Unruly, spam: Path) -> None:
    (spam / "comments.csv").write_text("comment,is_spam\nplease \x1b[2J subscribe now,1\nhi,0\n")
    done = unruly("show", spam, "--source", "subscribe")
    assert "\x1b" not in done.out
    assert "\\u001b[2J [subscribe] now" in done.out
    assert "1 of 1 document" in done.err


def test_to_a_file(unruly: Unruly, spam: Path) -> None:
    assert unruly("show", spam, "--uncovered", "-o", "left.csv").code == 0
    assert pl.read_csv("left.csv").columns == ["id", "text", "gold", "votes", "matched"]
    assert unruly("show", spam, "-o", "no/left.csv").code == 2


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--source", "subscrib"], "there is no source 'subscrib': did you mean 'subscribe'?"),
        (["--label", "eggs"], "there is no class 'eggs'"),
        (["--conflicts-with", "subscribe"], "--conflicts-with needs --source"),
        (["--uncovered", "--label", "ham"], "ask for --uncovered alone"),
    ],
)
def test_what_makes_no_sense(unruly: Unruly, spam: Path, args: list[str], message: str) -> None:
    done = unruly("show", spam, *args)
    assert done.code == 2
    assert message in done.err

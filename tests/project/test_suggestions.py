"""Suggestions: what they are judged by, what an accepted one does to the file, and that refusals are remembered."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from unruly.errors import InputError
from unruly.findings import BalanceOrigin, ClassBalance
from unruly.model.critique import DisableSource, DropWord, MergeSource, Remedy
from unruly.model.suggestions import Refused
from unruly.project.editing import ProjectText, write_edit
from unruly.project.new import make_starter
from unruly.project.project import Project
from unruly.project.suggestions import (
    REFUSED,
    REST,
    Refusal,
    edited,
    judge,
    read_refused,
    refusal_from_plain,
    refusal_to_plain,
    refuse,
    with_stand_in,
    write_refused,
)
from unruly.votes.votes import ABSTAIN, Votes


def test_a_stand_in_leaves_partial_and_missing_votes_as_they_are() -> None:
    either = np.array([[0.5, 0.5, 0], [0, 0, 0], [0, 0, 0]], np.float32)
    votes = Votes(
        np.array([[0, ABSTAIN], [ABSTAIN, 1], [ABSTAIN, ABSTAIN]], np.int8),
        ("either", "asked"),
        ("a", "b", "c"),
        pl.Series([1, 2, 3]),
        soft={"either": either},
        unasked={"asked": np.array([True, False, False])},
    )
    joined = with_stand_in(votes, 2)
    assert joined.sources == ("either", "asked", REST)
    assert joined.matrix[:, 2].tolist() == [ABSTAIN, ABSTAIN, 2]
    assert joined.agrees(np.array([1, 1, 1]))[0, 0]  # "a or b" is right where the class is b
    assert joined.unasked["asked"].tolist() == [True, False, False]


def test_labels_count_for_the_shares_as_they_were_drawn(tmp_path: Path) -> None:
    """Labels drawn to check one source teach the model that judges, and tell nothing of the class shares."""
    folder = make_starter(tmp_path / "spam")
    text = (folder / "unruly.toml").read_text("utf-8")
    unstated = text.replace('prior = "spam is about 2 in 5"', "")
    (folder / "unruly.toml").write_text(unstated + '\n[encoder]\nname = "lsa"\n', "utf-8")
    lines = [f"{row},spam,2026-01-01,ada,source:money#1,0.5" for row in range(15)]
    head = "id,label,when,by,why,probability"
    (folder / "labels.csv").write_text("\n".join([head, *lines]) + "\n", "utf-8")
    judged = judge(Project.read(folder))
    assert judged.labels is not None
    assert judged.labels.labels == 15
    assert judged.judge.shares is None
    (folder / "labels.csv").write_text(
        "\n".join([head, *lines]).replace("source:money", "random") + "\n", "utf-8"
    )
    assert judge(Project.read(folder)).judge.shares is not None


def test_stated_shares_count_where_documents_without_votes_stand_in(tmp_path: Path) -> None:
    folder = make_starter(tmp_path / "spam")
    text = (folder / "unruly.toml").read_text("utf-8").replace("# prior =", "prior =")
    only_spam = text.split("[[source]]")[0] + '[[source]]\nname = "money"\n[[source.rule]]\n'
    only_spam += 'label = "spam"\nkeywords = ["money", "free", "win"]\n\n[encoder]\nname = "lsa"\n'
    (folder / "unruly.toml").write_text(only_spam, "utf-8")
    judged = judge(Project.read(folder))
    assert judged.stand_in == "ham"
    assert judged.judge.shares == pytest.approx((0.6, 0.4))
    (balance,) = (note for note in judged.notes if isinstance(note, ClassBalance))
    assert balance.origin is BalanceOrigin.STATED


REFUSALS: tuple[Refusal, ...] = (
    Refused("späm", {"keywords": ["ca\u2028sh\n"]}),
    DropWord("money", 1, "cash"),
    DisableSource("link"),
    MergeSource("link", "money"),
)


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refusal_survives_json_and_the_file(refusal: Refusal, tmp_path: Path) -> None:
    assert refusal_from_plain(json.loads(json.dumps(refusal_to_plain(refusal)))) == refusal
    refuse(tmp_path, [refusal])
    refuse(tmp_path, [*REFUSALS, refusal])  # each once
    assert len(read_refused(tmp_path)) == 4
    assert all(one in read_refused(tmp_path) for one in REFUSALS)
    write_refused(tmp_path, [])
    assert read_refused(tmp_path) == ()


def test_remedies_are_written(tmp_path: Path) -> None:
    folder = make_starter(tmp_path / "spam")

    def applied(remedy: Remedy) -> Project:
        before = ProjectText.read(folder)
        return write_edit(before, edited(before.text, remedy))

    assert applied(DisableSource("link")).sources.disabled == ("link",)
    project = applied(DropWord("money", 1, "cash"))
    assert "cash" not in project.sources.words()
    assert "money" in project.sources.words()
    merged = applied(MergeSource("money", "my_things"))
    assert "money" not in merged.sources.names
    assert "money" in merged.sources.words()


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b'{"kind": "rule", "label": "spam"}',
        b'{"kind": "rule", "label": "spam", "condition": "cash"}',
        b'{"kind": "rule", "label": 1, "condition": {}}',
        b'{"kind": "drop_word", "source": "a", "rule": "one", "word": "song"}',
        b'{"kind": "drop_word", "source": "a", "rule": 1}',
        b'{"kind": "disable_source", "source": ""}',
        b'{"kind": "burn_source", "source": "a"}',
    ],
)
def test_a_line_that_is_no_refusal_is_named(line: bytes, tmp_path: Path) -> None:
    first = b'\xef\xbb\xbf{"kind": "disable_source", "source": "a"}\r\n\r\n'
    (tmp_path / REFUSED).write_bytes(first)
    assert read_refused(tmp_path) == (DisableSource("a"),)
    (tmp_path / REFUSED).write_bytes(first + line + b"\n")
    with pytest.raises(InputError, match=r"refused.jsonl, line 3: not a refused suggestion"):
        read_refused(tmp_path)

"""The documents that teach most: twenty of them, in three groups.

- conflicts that were resolved against the majority of the sources;
- documents without any vote on which the model is confident all the same;
- documents with votes on which it is in doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.report.answers import Answers
from unruly.report.excerpt import Piece, excerpt
from unruly.votes.votes import Match

AGAINST, UNCOVERED, DOUBTED = (
    "against the majority",
    "uncovered but confident",
    "covered but doubted",
)
MOST = 20


@dataclass(frozen=True)
class Voice:
    """One vote on the document."""

    source: str
    label: str
    weight: float  # a_ij: the votes on the document sum to 1
    reason: str


@dataclass(frozen=True)
class Instructive:
    """One document, ready to be shown."""

    id: str
    group: str
    pieces: tuple[Piece, ...]
    voices: tuple[Voice, ...]
    majority: tuple[str, ...]  # the classes with most votes
    label: str
    confidence: float
    gold: str | None  # None where unknown


def instructive(answers: Answers, most: int = MOST) -> tuple[Instructive, ...]:
    """The most telling documents of each group, a third each as far as there are enough."""
    groups = {
        AGAINST: _against(answers),
        UNCOVERED: _uncovered(answers),
        DOUBTED: _doubted(answers),
    }
    return tuple(
        _document(answers, row, group)
        for group, rows in _shared_out(groups, most).items()
        for row in rows
    )


def _against(answers: Answers) -> list[int]:
    """The majority is clear, and the answer is another; the most confident first."""
    counts = answers.votes.counts()  # (n, m)
    clear = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) == 1
    rows = answers.votes.covered & clear & (counts.argmax(axis=1) != answers.final)
    return _ordered(np.flatnonzero(rows), -answers.heads.combined.max(axis=1))


def _uncovered(answers: Answers) -> list[int]:
    return _ordered(np.flatnonzero(~answers.votes.covered), -answers.heads.combined.max(axis=1))


def _doubted(answers: Answers) -> list[int]:
    return _ordered(np.flatnonzero(answers.votes.covered), answers.heads.combined.max(axis=1))


def _ordered(rows: NDArray[np.intp], key: NDArray[np.floating]) -> list[int]:
    chosen: list[int] = rows[np.argsort(key[rows], kind="stable")].tolist()
    return chosen


def _shared_out(groups: dict[str, list[int]], most: int) -> dict[str, list[int]]:
    """Documents by turns from each group, none twice."""
    taken: dict[str, list[int]] = {name: [] for name in groups}
    left = {name: iter(rows) for name, rows in groups.items()}
    seen: set[int] = set()
    while left and len(seen) < most:
        for name in list(left):
            row = next((row for row in left[name] if row not in seen), None)
            if row is None:
                del left[name]
            elif len(seen) < most:
                seen.add(row)
                taken[name].append(row)
    return taken


def _document(answers: Answers, row: int, group: str) -> Instructive:
    votes = answers.votes
    why = votes.matches(row) if votes.provenance else ()
    gold = None if answers.gold is None or answers.gold[row] < 0 else int(answers.gold[row])
    counts = votes.counts()[row]
    most = np.flatnonzero(counts == counts.max()) if counts.any() else np.array([], dtype=np.int64)
    return Instructive(
        id=str(votes.ids[row]),
        group=group,
        pieces=excerpt(answers.texts[row], _spans(why, votes.classes)),
        voices=_voices(answers, row, why),
        majority=tuple(votes.classes[r] for r in most),
        label=votes.classes[answers.final[row]],
        confidence=float(answers.heads.combined[row].max()),
        gold=None if gold is None else votes.classes[gold],
    )


def _spans(why: Sequence[Match], classes: tuple[str, ...]) -> list[tuple[int, int, int]]:
    return [(start, end, classes.index(match.label)) for match in why for start, end in match.spans]


def _voices(answers: Answers, row: int, why: Sequence[Match]) -> tuple[Voice, ...]:
    votes, reasons = answers.votes, {match.source: match.reason for match in why}
    weight = answers.heads.conditional[row]
    cast = sorted(np.flatnonzero(votes.voted[row]).tolist(), key=lambda j: (-float(weight[j]), j))
    return tuple(
        Voice(
            source=votes.sources[j],
            label=votes.classes[votes.matrix[row, j]],
            weight=float(weight[j]),
            reason=reasons.get(votes.sources[j], ""),
        )
        for j in cast
    )

"""The documents behind a figure: those that a source votes on, that two disagree about, that nobody covers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.files import written_whole
from unruly.progress import SILENT, Progress
from unruly.project.project import Project
from unruly.project.voting import blamed_on_its_line
from unruly.rules.cache import Cache
from unruly.votes.votes import Match, Votes
from unruly.wording import index_of

Span = tuple[int, int]


@dataclass(frozen=True)
class ShownDocument:
    """One document, and why each source voted on it as it did."""

    id: object
    text: str
    gold: str | None
    votes: tuple[Match, ...]

    @property
    def spans(self) -> tuple[Span, ...]:
        """The parts of the text that rules matched, joined where they overlap, in order.

        >>> votes = (
        ...     Match("a", 0, "x", ((0, 4), (9, 12)), ""),
        ...     Match("b", 0, "x", ((3, 6),), ""),
        ... )
        >>> ShownDocument(1, "some text here", None, votes).spans
        ((0, 6), (9, 12))
        """
        joined: list[list[int]] = []
        for start, end in sorted({span for vote in self.votes for span in vote.spans}):
            if joined and start <= joined[-1][1]:
                joined[-1][1] = max(joined[-1][1], end)
            else:
                joined.append([start, end])
        return tuple((start, end) for start, end in joined)

    def marked(self, before: str = "[", after: str = "]") -> str:
        """The text with a mark before and after each matched part."""
        pieces, last = [], 0
        for start, end in self.spans:
            pieces += [self.text[last:start], before, self.text[start:end], after]
            last = end
        return "".join([*pieces, self.text[last:]])

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "id": self.id,
            "text": self.text,
            "gold": self.gold,
            "votes": [
                {
                    "source": vote.source,
                    "label": vote.label,
                    "rule": vote.rule + 1,
                    "reason": vote.reason,
                    "spans": [list(span) for span in vote.spans],
                }
                for vote in self.votes
            ],
        }


@dataclass(frozen=True)
class Shown:
    """The first documents that fit what was asked for, and how many do."""

    documents: tuple[ShownDocument, ...]
    total: int

    def to_frame(self) -> pl.DataFrame:
        """One row for each document: id, text, gold label, and its votes in words."""
        return pl.DataFrame(
            {
                "id": pl.Series([str(one.id) for one in self.documents], dtype=pl.String),
                "text": pl.Series([one.text for one in self.documents], dtype=pl.String),
                "gold": pl.Series([one.gold for one in self.documents], dtype=pl.String),
                "votes": pl.Series(
                    [
                        "; ".join(f"{v.source}: {v.label}" for v in one.votes)
                        for one in self.documents
                    ],
                    dtype=pl.String,
                ),
                "matched": pl.Series(
                    ["; ".join(one.text[a:b] for a, b in one.spans) for one in self.documents],
                    dtype=pl.String,
                ),
            }
        )

    def write(self, path: Path) -> None:
        """The rows of `to_frame` to a file; its ending tells the format."""
        frame = self.to_frame()
        with written_whole(path) as part:
            match path.suffix.lower():
                case ".csv":
                    frame.write_csv(part)
                case ".tsv":
                    frame.write_csv(part, separator="\t")
                case ".jsonl":
                    frame.write_ndjson(part)
                case _:
                    frame.write_parquet(part)


def show(
    project: Project,
    split: str = "train",
    *,
    source: str | None = None,
    conflicts_with: str | None = None,
    label: str | None = None,
    uncovered: bool = False,
    most: int = 20,
    progress: Progress = SILENT,
) -> Shown:
    """Documents of one split: with a vote of `source`, for `label`, against `conflicts_with`, or without votes."""
    if uncovered and (source or conflicts_with or label):
        raise InputError(
            "documents without votes have no source and no label: ask for --uncovered alone"
        )
    if conflicts_with and not source:
        raise InputError("--conflicts-with needs --source: name both sources that disagree")
    corpus = project.corpus(split)
    with blamed_on_its_line(project):
        votes = project.sources.vote(corpus, progress, Cache.default())
    rows = np.flatnonzero(_wanted(votes, source, conflicts_with, label, uncovered))
    first = rows[:most]
    found = [
        ShownDocument(
            id=corpus.ids[row],
            text=corpus.texts[row],
            gold=None
            if corpus.gold is None or corpus.gold[row] < 0
            else project.classes[corpus.gold[row]],
            votes=votes.matches(row),
        )
        for row in first.tolist()
    ]
    return Shown(tuple(found), len(rows))


def _wanted(
    votes: Votes,
    source: str | None,
    conflicts_with: str | None,
    label: str | None,
    uncovered: bool,
) -> NDArray[np.bool_]:
    """(n,): which documents were asked for."""
    if uncovered:
        return ~votes.covered
    wanted = np.ones(votes.n, dtype=np.bool_)
    columns = list(range(votes.k))
    if source is not None:
        columns = [index_of(source, votes.sources, "source")]
        wanted &= votes.voted[:, columns[0]]
    if conflicts_with is not None:
        other = index_of(conflicts_with, votes.sources, "source")
        wanted &= votes.voted[:, other] & ~_compatible(votes, columns[0], other)
    if label is not None:
        number = index_of(label, votes.classes, "class")
        wanted &= votes.agrees(np.full(votes.n, number))[:, columns].any(axis=1)
    return wanted


def _compatible(votes: Votes, one: int, other: int) -> NDArray[np.bool_]:
    """(n,): where the votes of two sources allow a class in common."""
    both = [votes.agrees(np.full(votes.n, r))[:, [one, other]].all(axis=1) for r in range(votes.m)]
    return np.asarray(np.any(both, axis=0))

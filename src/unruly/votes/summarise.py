"""Counting the source table: one pass over the votes, block by block."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unruly.errors import InputError
from unruly.votes.interval import clustered, wilson
from unruly.votes.summary import MajoritySummary, Score, SourceSummary, Summary
from unruly.votes.tally import Tally, sums, tallies
from unruly.votes.votes import ABSTAIN, Votes


def summarise(votes: Votes, gold: ArrayLike | None = None) -> Summary:
    """Count everything in one pass over the votes."""
    truth = None if gold is None else checked_gold(gold, votes)
    counts = _Counts(votes)
    for tally in tallies(votes):
        counts.add(tally, None if truth is None else truth[tally.rows])
    sources = tuple(counts.source(j, truth is not None) for j in range(votes.k))
    return Summary(
        documents=votes.n,
        classes=votes.classes,
        sources=sources,
        total=counts.total(truth is not None),
        majority=counts.majority(truth is not None),
    )


def checked_gold(gold: ArrayLike, votes: Votes) -> NDArray[np.int64]:
    """(n,): gold as class numbers, -1 where unknown."""
    truth = np.asarray(gold)
    if truth.ndim != 1 or len(truth) != votes.n:
        raise InputError(
            f"{votes.n} documents have votes, but gold has the shape {truth.shape}: give one label each"
        )
    whole = truth.dtype.kind == "f" and np.array_equal(truth, np.round(truth))
    if truth.dtype.kind not in "iub" and not whole:
        raise InputError(f"gold must be class numbers (-1 where unknown), not {truth.dtype}")
    truth = truth.astype(np.int64)
    wrong = np.flatnonzero((truth < -1) | (truth >= votes.m))
    if len(wrong):
        raise InputError(
            f"row {wrong[0]}: the gold label {truth[wrong[0]]} is not a class: classes are numbered 0 to {votes.m - 1}"
        )
    return truth


class _Counts:
    """Sums over blocks of documents."""

    def __init__(self, votes: Votes) -> None:
        self.votes = votes
        k, m = votes.k, votes.m
        self.by_class = np.zeros((k, m), dtype=np.int64)  # votes of each source for each class
        self.overlaps = np.zeros(k, dtype=np.int64)
        self.conflicts = np.zeros(k, dtype=np.int64)
        self.correct = np.zeros(k, dtype=np.int64)
        self.checked = np.zeros(k, dtype=np.int64)
        self.covered = self.overlapped = self.conflicted = self.ties = 0
        self.moments = np.zeros(3)  # Σ right², Σ right × cast, Σ cast², over documents
        self.won = self.lost = self.tied = 0

    def add(self, tally: Tally, truth: NDArray[np.int64] | None) -> None:
        cast = tally.counts.sum(axis=1)  # (b,)
        several, torn = cast > 1, (tally.counts > 0).sum(axis=1) > 1
        voted = (tally.block != ABSTAIN).astype(np.float32)  # (b, k)
        self.by_class += tally.by_source
        self.overlaps += _columns(several, voted)
        self.conflicts += _columns(torn, voted)
        self.covered += int((cast > 0).sum())
        self.overlapped += int(several.sum())
        self.conflicted += int(torn.sum())
        tie = (cast > 0) & (tally.leaders > 1)
        self.ties += int(tie.sum())
        if truth is not None:
            self.checked += _columns(truth >= 0, voted)
            self._check(tally, truth, cast, tie)

    def _check(
        self,
        tally: Tally,
        truth: NDArray[np.int64],
        cast: NDArray[np.int64],
        tie: NDArray[np.bool_],
    ) -> None:
        known = truth >= 0
        wanted = np.where(known, truth, -2).astype(np.int8)  # -2: equal to no vote
        by_row, by_column = sums(tally.block == wanted[:, None])
        self.correct += by_column
        hits, checked = by_row.astype(np.float64), np.where(known, cast, 0).astype(np.float64)
        self.moments += np.array([hits @ hits, hits @ checked, checked @ checked])
        decided = known & (cast > 0) & ~tie
        won = int((tally.winner[decided] == truth[decided]).sum())
        self.won += won
        self.lost += int(decided.sum()) - won
        self.tied += int((tie & known).sum())

    def source(self, j: int, scored: bool) -> SourceSummary:
        right, checked = int(self.correct[j]), int(self.checked[j])
        score = Score(right, checked - right, wilson(right, checked))
        return SourceSummary(
            source=self.votes.sources[j],
            j=j,
            polarity=tuple(np.flatnonzero(self.by_class[j]).tolist()),
            coverage=self._share(self.by_class[j].sum()),
            overlaps=self._share(self.overlaps[j]),
            conflicts=self._share(self.conflicts[j]),
            score=score if scored else None,
        )

    def total(self, scored: bool) -> SourceSummary:
        right, checked = int(self.correct.sum()), int(self.checked.sum())
        share = right / checked if checked else 0.0
        spread = float(self.moments @ [1.0, -2 * share, share * share])
        score = Score(right, checked - right, clustered(share, max(0.0, spread), checked))
        return SourceSummary(
            source="total",
            j=None,
            polarity=tuple(np.flatnonzero(self.by_class.sum(axis=0)).tolist()),
            coverage=self._share(self.covered),
            overlaps=self._share(self.overlapped),
            conflicts=self._share(self.conflicted),
            score=score if scored else None,
        )

    def majority(self, scored: bool) -> MajoritySummary:
        score = Score(self.won, self.lost, wilson(self.won, self.won + self.lost))
        return MajoritySummary(
            coverage=self._share(self.covered),
            ties=self._share(self.ties),
            tied=self.tied if scored else self.ties,
            score=score if scored else None,
        )

    def _share(self, count: int) -> float:
        return float(count / self.votes.n) if self.votes.n else 0.0


def _columns(rows: NDArray[np.bool_], voted: NDArray[np.float32]) -> NDArray[np.int64]:
    """(k,): how often each source voted on these rows."""
    return (rows.astype(np.float32) @ voted).astype(np.int64)

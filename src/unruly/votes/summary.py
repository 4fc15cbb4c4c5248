"""The source table: what each source covers, where it stands against the others, and how often it is right.

The columns of the frames are Snorkel's, in Snorkel's order (`LFAnalysis.lf_summary`): shares are of all documents. In
text, classes have their names in place of Polarity, and shares are percentages, as everywhere.
"Emp. Acc." is the share of a source's votes that are right, where gold is known; a source that never
voted there has none. A partial vote ("one of these classes") is right when it names the true class, and
in conflict only where all the votes on a document allow no class in common. Where there are any, "Partial"
is the share of documents with such a vote, and "Unasked" of those that the source was never shown.
`count_pairs` tells how often two sources vote on the same document, and how often alike.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from unruly.errors import InputError, need
from unruly.html import html_table
from unruly.statistics import Share, clustered, wilson
from unruly.texts.columns import check_labels, label_numbers, warn_if_counted_from_one
from unruly.votes.majority import Tally, sums, tallies
from unruly.votes.votes import ABSTAIN, DIGITS, Votes
from unruly.wording import aligned, listed, plural

_MOST_CLASSES = 4  # named in a row of the table


@dataclass(frozen=True)
class Score:
    """Votes checked against gold; documents without gold do not count."""

    correct: int
    incorrect: int
    share: Share  # that is right; n: the votes that could be checked

    @property
    def accuracy(self) -> float | None:
        """The share that is right, None when nothing could be checked."""
        return self.share.value if self.share.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its 95 % interval, likewise."""
        return (self.share.low, self.share.high) if self.share.n else None

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        ends = self.interval
        return {
            "correct": self.correct,
            "incorrect": self.incorrect,
            "interval": None if ends is None else {"low": ends[0], "high": ends[1]},
            "accuracy": self.accuracy,
        }


@dataclass(frozen=True)
class SourceSummary:
    """One row of the table. Shares are of all documents."""

    source: str
    j: int | None  # the source's column, None for the total
    polarity: tuple[int, ...]  # the classes it votes for
    coverage: float  # documents with a vote
    overlaps: float  # with a vote of another source, too
    conflicts: float  # where the votes allow no class in common
    score: Score | None  # None without gold
    partial: float = 0.0  # with a vote for "one of these classes"
    unasked: float = 0.0  # that the source was never shown


@dataclass(frozen=True)
class MajoritySummary:
    """Plain majority vote, scored on all documents with gold.

    A tie counts in equal parts; documents without votes get the commonest class.
    """

    coverage: float  # documents with a vote, tied ones included
    ties: float  # documents where two classes or more lead
    commonest: str | None  # the class that wins most documents; None without votes
    accuracy: Share | None  # of all documents with gold; None without gold, or without votes


@dataclass(frozen=True)
class Summary:
    """One row for each source, a total row, and majority vote.

    >>> from unruly.votes.votes import Votes
    >>> votes = Votes.from_array([[0, -1], [0, 1], [-1, -1], [0, 0]], classes=["ham", "spam"])
    >>> print(votes.summary(gold=[0, 1, 1, 0]))
    source    votes for  Coverage  Overlaps  Conflicts  Correct  Incorrect  Emp. Acc.    95 % interval
    source_0  ham           75.0%     50.0%      25.0%        2          1      66.7%   20.8% to 93.9%
    source_1  ham, spam     50.0%     50.0%      25.0%        2          0     100.0%  34.2% to 100.0%
    total     ham, spam     75.0%     50.0%      25.0%        4          1      80.0%   37.6% to 96.4%
    majority vote: coverage 75.0%, ties 25.0%; accuracy 62.5% (21.9% to 90.8%) on 4 documents with gold (ties count in equal parts, documents without votes as ham)
    """

    documents: int
    classes: tuple[str, ...]
    sources: tuple[SourceSummary, ...]
    total: SourceSummary
    majority: MajoritySummary

    @property
    def scored(self) -> bool:
        """Whether gold was given."""
        return self.total.score is not None

    def to_frame(self) -> pl.DataFrame:
        """The table in polars, the total as its last row."""
        rows = (*self.sources, self.total)
        columns: dict[str, pl.Series] = {
            "source": pl.Series([row.source for row in rows], dtype=pl.String),
            "j": pl.Series([row.j for row in rows], dtype=pl.Int64),
            "Polarity": pl.Series([list(r.polarity) for r in rows], dtype=pl.List(pl.Int64)),
            "Coverage": pl.Series([row.coverage for row in rows], dtype=pl.Float64),
            "Overlaps": pl.Series([row.overlaps for row in rows], dtype=pl.Float64),
            "Conflicts": pl.Series([row.conflicts for row in rows], dtype=pl.Float64),
        }
        for kind in self._more:
            shares = [getattr(row, kind) for row in rows]
            columns[kind.capitalize()] = pl.Series(shares, dtype=pl.Float64)
        scores = [row.score for row in rows if row.score is not None]
        if scores:
            ends = [score.interval for score in scores]
            columns |= {
                "Correct": pl.Series([score.correct for score in scores], dtype=pl.Int64),
                "Incorrect": pl.Series([score.incorrect for score in scores], dtype=pl.Int64),
                "Emp. Acc.": pl.Series([score.accuracy for score in scores], dtype=pl.Float64),
                "95% low": pl.Series([end and end[0] for end in ends], dtype=pl.Float64),
                "95% high": pl.Series([end and end[1] for end in ends], dtype=pl.Float64),
            }
        return pl.DataFrame(columns)

    def to_pandas(self) -> Any:
        """The table in pandas with source names as its index, as Snorkel gives it; no total row."""
        pandas = need("pandas", extra="pandas", purpose="pandas tables")
        frame = self.to_frame().head(len(self.sources))
        columns = {name: frame[name].to_list() for name in frame.columns if name != "source"}
        return pandas.DataFrame(columns, index=frame["source"].to_list())

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings."""
        plain: dict[str, Any] = asdict(self)
        rows = zip((*plain["sources"], plain["total"]), (*self.sources, self.total), strict=True)
        for row, own in rows:
            row["score"] = None if own.score is None else own.score.to_plain()
        return plain

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The header and the rows as strings, for any kind of screen."""
        header = ["source", "votes for", "Coverage", "Overlaps", "Conflicts"]
        header += [name.capitalize() for name in self._more]
        if self.scored:
            header += ["Correct", "Incorrect", "Emp. Acc.", "95 % interval"]
        rows = (*self.sources, self.total)
        return header, [_cells(row, self._more, self.classes) for row in rows]

    @property
    def _more(self) -> tuple[str, ...]:
        """The columns that only some tables need."""
        kinds = ("partial", "unasked")
        return tuple(kind for kind in kinds if any(getattr(row, kind) for row in self.sources))

    def majority_line(self) -> str:
        """Majority vote in one sentence."""
        vote = self.majority
        line = f"majority vote: coverage {vote.coverage:.1%}, ties {vote.ties:.1%}"
        if vote.accuracy is None:
            return line
        on = f"{plural(round(vote.accuracy.n), 'document')} with gold"
        return f"{line}; accuracy {vote.accuracy} on {on} (ties count in equal parts, documents without votes as {vote.commonest})"

    def __str__(self) -> str:
        header, rows = self.cells()
        return "\n".join([*aligned([header, *rows], left=(0, 1)), self.majority_line()])

    def __repr__(self) -> str:
        return (
            f"Summary({plural(len(self.sources), 'source')}, {plural(self.documents, 'document')}, "
            f"coverage {self.total.coverage:.1%})"
        )

    def _repr_html_(self) -> str:
        """The table, for notebooks."""
        return html_table(*self.cells(), self.majority_line())


def _cells(row: SourceSummary, more: tuple[str, ...], classes: tuple[str, ...]) -> list[str]:
    cells = [row.source, listed((classes[c] for c in row.polarity), _MOST_CLASSES)]
    cells += [_share(row.coverage), _share(row.overlaps), _share(row.conflicts)]
    cells += ["" if row.j is None else _share(getattr(row, kind)) for kind in more]
    if row.score is not None:
        cells += [str(row.score.correct), str(row.score.incorrect)]
        cells += [_share(row.score.accuracy), _interval(row.score.interval)]
    return cells


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _interval(interval: tuple[float, float] | None) -> str:
    return "-" if interval is None else f"{interval[0]:.1%} to {interval[1]:.1%}"


def summarise(
    votes: Votes,
    truth: NDArray[np.integer[Any]] | None = None,
    commonest: int | None = None,
) -> Summary:
    """Count everything in one pass over the votes; the truth (n,) is class numbers, -1 where unknown.

    `commonest` is the class of documents without votes where other votes tell it: those of the training documents.
    """
    counts = _Counts(votes)
    for tally in tallies(votes):
        counts.add(tally, None if truth is None else truth[tally.rows])
    sources = tuple(counts.source(j, truth is not None) for j in range(votes.k))
    return Summary(
        documents=votes.n,
        classes=votes.classes,
        sources=sources,
        total=counts.total(truth is not None),
        majority=counts.majority(truth is not None, commonest),
    )


def checked_gold(gold: ArrayLike, votes: Votes) -> NDArray[np.int64]:
    """(n,): gold as class numbers, -1 where unknown; class names will do."""
    try:
        truth = np.asarray(gold)
    except ValueError:
        raise InputError(
            "gold must be one for each document, not lists of unequal length"
        ) from None
    if truth.dtype.kind in "OUS":
        return label_numbers(gold, votes.classes, votes.n, "gold")
    numbers = check_labels(truth, votes.n, votes.m, "gold")
    warn_if_counted_from_one(pl.Series(numbers), numbers, votes.classes, "gold")
    return numbers


class _Counts:
    """Sums over blocks of documents."""

    def __init__(self, votes: Votes) -> None:
        self.votes = votes
        k, m = votes.k, votes.m
        self.by_class = np.zeros((k, m), dtype=np.int64)  # votes of each source for each class
        self.cast = np.zeros(k, dtype=np.int64)  # votes of each source
        self.overlaps = np.zeros(k, dtype=np.int64)
        self.conflicts = np.zeros(k, dtype=np.int64)
        self.correct = np.zeros(k, dtype=np.int64)
        self.checked = np.zeros(k, dtype=np.int64)
        self.covered = self.overlapped = self.conflicted = self.ties = 0
        self.partial = np.array(
            [votes.sets[j].any(axis=1).sum() if j in votes.sets else 0 for j in range(k)]
        )
        self.unasked = np.array(
            [votes.unasked[s].sum() if s in votes.unasked else 0 for s in votes.sources]
        )
        self.moments = np.zeros(3)  # Σ right², Σ right × cast, Σ cast², over documents
        self.wins = np.zeros(m)  # documents that each class wins, a tied one in equal parts
        self.right = 0.0  # of covered documents with gold
        self.covered_gold = 0
        self.uncovered_gold = np.zeros(m, dtype=np.int64)  # of each class

    def add(self, tally: Tally, truth: NDArray[np.integer[Any]] | None) -> None:
        cast = tally.cast
        several = cast > 1
        conflict = tally.conflict
        voted = (tally.block != ABSTAIN).astype(np.float32)  # (b, k)
        self.by_class += tally.by_source
        self.cast += voted.sum(axis=0).astype(np.int64)
        self.overlaps += _columns(several, voted)
        self.conflicts += _columns(conflict, voted)
        self.covered += int((cast > 0).sum())
        self.overlapped += int(several.sum())
        self.conflicted += int(conflict.sum())
        shares = tally.shares
        self.ties += int(((shares > 0).sum(axis=1) > 1).sum())
        self.wins += shares.sum(axis=0)
        if truth is not None:
            self.checked += _columns(truth >= 0, voted)
            self._check(tally, truth, shares)

    def _check(
        self, tally: Tally, truth: NDArray[np.integer[Any]], shares: NDArray[np.float64]
    ) -> None:
        known, cast = truth >= 0, tally.cast
        by_row, by_column = sums(self.votes.agrees(truth, tally.rows))
        self.correct += by_column
        hits, checked = by_row.astype(np.float64), np.where(known, cast, 0).astype(np.float64)
        self.moments += np.array([hits @ hits, hits @ checked, checked @ checked])
        rows = np.flatnonzero(known & (cast > 0))
        self.right += float(shares[rows, truth[rows]].sum())
        self.covered_gold += len(rows)
        bare = truth[known & (cast == 0)]
        self.uncovered_gold += np.bincount(bare, minlength=self.votes.m)

    def source(self, j: int, scored: bool) -> SourceSummary:
        right, checked = int(self.correct[j]), int(self.checked[j])
        score = Score(right, checked - right, wilson(right, checked))
        return SourceSummary(
            source=self.votes.sources[j],
            j=j,
            polarity=tuple(np.flatnonzero(self.by_class[j]).tolist()),
            coverage=self._share(self.cast[j]),
            partial=self._share(self.partial[j]),
            unasked=self._share(self.unasked[j]),
            overlaps=self._share(self.overlaps[j]),
            conflicts=self._share(self.conflicts[j]),
            score=score if scored else None,
        )

    def total(self, scored: bool) -> SourceSummary:
        right, checked = int(self.correct.sum()), int(self.checked.sum())
        share = right / checked if checked else 0.0
        spread = float(self.moments @ [1.0, -2 * share, share * share])
        interval = clustered(share, max(0.0, spread), checked, self.covered_gold)
        score = Score(right, checked - right, interval)
        return SourceSummary(
            source="total",
            j=None,
            polarity=tuple(np.flatnonzero(self.by_class.sum(axis=0)).tolist()),
            coverage=self._share(self.covered),
            overlaps=self._share(self.overlapped),
            conflicts=self._share(self.conflicted),
            score=score if scored else None,
        )

    def majority(self, scored: bool, commonest: int | None) -> MajoritySummary:
        if commonest is None and self.covered:
            commonest = int(self.wins.round(DIGITS).argmax())
        known = self.covered_gold + int(self.uncovered_gold.sum())
        accuracy = None
        if scored and commonest is not None and known:
            right = round(self.right, DIGITS) + int(self.uncovered_gold[commonest])
            accuracy = wilson(right, known)
        return MajoritySummary(
            coverage=self._share(self.covered),
            ties=self._share(self.ties),
            commonest=None if commonest is None else self.votes.classes[commonest],
            accuracy=accuracy,
        )

    def _share(self, count: int) -> float:
        return float(count / self.votes.n) if self.votes.n else 0.0


def _columns(rows: NDArray[np.bool_], voted: NDArray[np.float32]) -> NDArray[np.int64]:
    """(k,): how often each source voted on these rows."""
    return (rows.astype(np.float32) @ voted).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Counts for every pair of sources; all matrices are symmetric."""

    sources: tuple[str, ...]
    both: NDArray[np.int64]  # (k, k): documents on which both vote; the diagonal holds all votes
    same: NDArray[np.int64]  # (k, k): of these, documents on which they vote alike
    may_agree: NDArray[np.bool_]  # (k, k): whether they name a class in common
    may_differ: NDArray[np.bool_]  # (k, k): whether they name two classes or more between them

    @property
    def agreement(self) -> NDArray[np.float64]:
        """(k, k): the share of common documents with the same vote; NaN where there are none."""
        shares = np.full(self.both.shape, np.nan)
        np.divide(self.same, self.both, out=shares, where=self.both > 0)
        return shares

    @property
    def informative(self) -> NDArray[np.bool_]:
        """(k, k): where agreement is no matter of course: both outcomes are possible."""
        return np.asarray(self.may_agree & self.may_differ)

    @property
    def contained(self) -> NDArray[np.float64]:
        """(k, k): the share of the votes of source i (row) that source j (column) casts as well."""
        cast = np.diag(self.both)[:, None]
        shares = np.zeros(self.both.shape)
        np.divide(self.same, cast, out=shares, where=cast > 0)
        return shares


def count_pairs(votes: Votes) -> Pairs:
    """Count every pair of sources; partial votes are left out.

    >>> counted = count_pairs(Votes.from_array([[0, 0], [0, 1], [1, -1]]))
    >>> counted.both.tolist(), counted.same.tolist()
    ([[3, 2], [2, 2]], [[3, 1], [1, 2]])
    >>> count_pairs(Votes.from_array([[0, 1], [0, 1], [0, 1]])).informative.any()
    np.False_
    """
    voted = (votes.hard != ABSTAIN).astype(np.float64)  # (n, k)
    same = np.zeros((votes.k, votes.k))
    for r in range(votes.m):
        cast = (votes.hard == r).astype(np.float64)  # (n, k)
        same += cast.T @ cast
    both = np.rint(voted.T @ voted).astype(np.int64)
    named = np.stack([(votes.hard == r).any(axis=0) for r in range(votes.m)], axis=1)  # (k, m)
    common = (named[:, None, :] & named[None, :, :]).any(axis=2)  # (k, k)
    together = (named[:, None, :] | named[None, :, :]).sum(axis=2)  # (k, k)
    return Pairs(votes.sources, both, np.rint(same).astype(np.int64), common, together > 1)

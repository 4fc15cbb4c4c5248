"""What to change in the rules, found without true labels.

Everything is judged by the model's own probabilities P(y | document), called posteriors here. A vote for
class y on document i counts as P(y | i) of a right vote, so for the votes in a set V

    accuracy(V) = (Σ over votes in V of P(class of the vote | its document)) / |V|     with Wilson's interval

The interval covers chance only: a model that is wrong misjudges its rules. True labels, where they are
given, take the place of posteriors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.rules.keywords import Keywords
from unruly.rules.sources import Sources
from unruly.sampling import Share, sample_rows, wilson
from unruly.votes.votes import ABSTAIN, Votes

REPEATS = 0.85  # of its votes that another source casts as well
FEW = 20  # votes or common documents, below which nothing is judged
CONFLICT = 0.3  # of their common documents on which two sources disagree
MOST_CONFLICTS = 5
THIN = 0.25  # of the documents of a class that have a vote for it
WEAK_WORD = 0.65  # accuracy below which a word is named where the rest of its source does better
MOSTLY = 0.5  # of the documents with true labels, above which words are judged by these alone
MOST_DOCUMENTS = 5000  # that words are counted in


@dataclass(frozen=True)
class WeakSource:
    """A source that is wrong more often than right, or no better than chance."""

    kind: ClassVar[str] = "weak_source"
    source: str
    votes: int
    accuracy: Share
    measured: bool  # against true labels; else estimated
    chance: (
        float | None
    )  # accuracy of the same votes on random documents; None when shares are unknown


@dataclass(frozen=True)
class SilentSource:
    """A source that never votes on these documents."""

    kind: ClassVar[str] = "silent_source"
    source: str


@dataclass(frozen=True)
class WeakWord:
    """A word of a list, on which the source is worse than on its other votes."""

    kind: ClassVar[str] = "weak_word"
    source: str
    rule: int  # its number in the source, from 1: what an edit of the list needs
    word: str
    label: str
    votes: int
    accuracy: Share
    others: Share | None  # of the source's votes for this class without the word
    measured: bool


@dataclass(frozen=True)
class RepeatedSource:
    """A source most of whose votes another source casts as well; of two alike, the smaller."""

    kind: ClassVar[str] = "repeated_source"
    source: str
    other: str
    votes: int
    share: float  # of its votes


@dataclass(frozen=True)
class Conflict:
    """Two sources that often disagree, and the two classes about which they do so most."""

    kind: ClassVar[str] = "conflict"
    source: str
    other: str
    documents: int  # on which both vote
    conflicts: int  # on which they disagree
    label: str  # the first source's class in the commonest conflict
    other_label: str
    times: int  # that this conflict occurs
    examples: tuple[str, ...]  # ids of documents


@dataclass(frozen=True)
class UncoveredClass:
    """A class with too few votes: of no source, of one source, or on few of its documents."""

    kind: ClassVar[str] = "uncovered_class"
    label: str
    sources: tuple[str, ...]  # that vote for it
    predicted: int  # documents that the model gives this class
    reached: float | None  # share of these with a vote for it; None when there are none


Critique = WeakSource | SilentSource | WeakWord | RepeatedSource | Conflict | UncoveredClass


def advice_to_plain(advice: Critique) -> dict[str, Any]:
    """A piece of advice as JSON has it: its kind and its values.

    >>> advice_to_plain(SilentSource("links"))
    {'kind': 'silent_source', 'source': 'links'}
    """
    return {"kind": advice.kind, **asdict(advice)}


@dataclass(frozen=True, eq=False)
class Pairs:
    """Counts for every pair of sources; both matrices are symmetric."""

    sources: tuple[str, ...]
    both: NDArray[np.int64]  # (k, k): documents on which both vote; the diagonal holds all votes
    same: NDArray[np.int64]  # (k, k): of these, documents on which they vote alike

    @property
    def agreement(self) -> NDArray[np.float64]:
        """(k, k): the share of common documents with the same vote; NaN where there are none."""
        shares = np.full(self.both.shape, np.nan)
        np.divide(self.same, self.both, out=shares, where=self.both > 0)
        return shares

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
    """
    voted = (votes.hard != ABSTAIN).astype(np.float64)  # (n, k)
    same = np.zeros((votes.k, votes.k))
    for r in range(votes.m):
        cast = (votes.hard == r).astype(np.float64)  # (n, k)
        same += cast.T @ cast
    both = np.rint(voted.T @ voted).astype(np.int64)
    return Pairs(votes.sources, both, np.rint(same).astype(np.int64))


def critique_rules(
    votes: Votes,
    posteriors: NDArray[np.floating],  # (n, m)
    *,
    accuracies: Sequence[Share | None] | None = None,
    measured: Collection[str] = (),
    shares: Sequence[float] | None = None,
    texts: Sequence[str] | None = None,
    rules: Sources | None = None,
    labels: NDArray[np.int64] | None = None,
) -> tuple[Critique, ...]:
    """What is wrong with the rules, worst kind first.

    `accuracies` are those of the sources; without them the posteriors serve. `measured` names the
    sources whose accuracy is measured against true labels.
    `shares` are the class shares, where they are known and not only assumed. `texts` and `rules` are
    needed to judge the words of lists. `labels` are true classes (-1: unknown): words with enough of them are
    measured, and elsewhere they take the place of posteriors.

    >>> votes = Votes.from_array([[0, 1], [0, 0], [0, 1]] * 10, sources=["a", "b"])
    >>> certain = np.tile([[1.0, 0.0]], (30, 1))
    >>> [c.kind for c in critique_rules(votes, certain)]
    ['weak_source', 'conflict', 'uncovered_class']
    """
    truth = known_truth(posteriors, labels)
    known = posterior_accuracies(votes, truth) if accuracies is None else accuracies
    pairs = count_pairs(votes)
    final = np.asarray(truth.argmax(axis=1))
    words = () if texts is None or rules is None else weak_words(texts, votes, truth, rules, labels)
    return (
        *_weak_sources(votes, known, measured, shares),
        *words,
        *_conflicts(votes, pairs),
        *_repeated(pairs),
        *(SilentSource(s) for j, s in enumerate(votes.sources) if not votes.voted[:, j].any()),
        *_uncovered(votes, final),
    )


def known_truth(
    posteriors: NDArray[np.floating], labels: NDArray[np.int64] | None
) -> NDArray[np.float64]:
    """(n, m): the posteriors, and certainty where a true label is known."""
    truth = np.asarray(posteriors, np.float64)
    if labels is None or not (labels >= 0).any():
        return truth
    known = labels >= 0
    truth = truth.copy()
    truth[known] = np.eye(truth.shape[1])[labels[known]]
    return truth


def posterior_accuracies(
    votes: Votes, posteriors: NDArray[np.floating]
) -> tuple[Share | None, ...]:
    """The accuracy of each source's votes by the posteriors; None for one that never votes."""
    right, cast = named_share(votes, posteriors), votes.voted.sum(axis=0)  # (k,), (k,)
    return tuple(wilson(float(right[j]), int(cast[j])) if cast[j] else None for j in range(votes.k))


def named_share(votes: Votes, proba: NDArray[np.floating]) -> NDArray[np.float64]:
    """(k,): the probabilities (n, m) of the classes that votes name, summed over each source's votes."""
    each = [
        proba[:, r] @ votes.agrees(np.full(votes.n, r)).astype(np.float64) for r in range(votes.m)
    ]
    return np.asarray(np.sum(each, axis=0), np.float64)


def _weak_sources(
    votes: Votes,
    accuracies: Sequence[Share | None],
    measured: Collection[str],
    shares: Sequence[float] | None,
) -> list[WeakSource]:
    found = []
    guessed = (
        None if shares is None else named_share(votes, np.tile(np.asarray(shares), (votes.n, 1)))
    )
    for j, (name, accuracy) in enumerate(zip(votes.sources, accuracies, strict=True)):
        cast = int(votes.voted[:, j].sum())
        if accuracy is None or not accuracy.n or cast < FEW:
            continue
        chance = None if guessed is None else float(guessed[j] / cast)
        if accuracy.value < 0.5 or (chance is not None and accuracy.high <= chance):
            found.append(WeakSource(name, cast, accuracy, name in measured, chance))
    return sorted(found, key=lambda weak: weak.accuracy.value)


def weak_words(
    texts: Sequence[str],
    votes: Votes,
    truth: NDArray[np.floating],  # (n, m)
    rules: Sources,
    labels: NDArray[np.int64] | None = None,
) -> list[WeakWord]:
    """Words of keyword lists whose votes are right less often than the source's other votes.

    A vote belongs to a word where the source votes for the rule's class on a text that holds the word. Where
    most documents have true labels, only these count; else posteriors count as well.
    """
    scored = labels is not None and float((labels >= 0).mean()) > MOSTLY
    found = []
    for source, number, label, words in keyword_lists(rules):
        if source not in votes.sources or label not in votes.classes:
            continue
        j, r = votes.sources.index(source), votes.classes.index(label)
        rows = np.flatnonzero(votes.hard[:, j] == r)
        rows = rows[labels[rows] >= 0] if scored and labels is not None else rows
        rows = rows[sample_rows(len(rows), MOST_DOCUMENTS)]
        column = pl.DataFrame(
            {"text": [texts[int(row)] for row in rows]}, schema={"text": pl.String}
        )
        for word in words.words:
            one = Keywords((word,), words.match)
            there = (
                column.select(one.on(pl.col("text")).fill_null(value=False)).to_series().to_numpy()
            )
            if there.sum() < FEW:
                continue
            accuracy = wilson(float(truth[rows[there], r].sum()), int(there.sum()))
            rest = rows[~there]
            others = wilson(float(truth[rest, r].sum()), len(rest)) if len(rest) else None
            worse = others is not None and accuracy.high < others.low
            if len(rest) and (accuracy.value < 0.5 or (worse and accuracy.value < WEAK_WORD)):
                count = int(there.sum())
                found.append(WeakWord(source, number, word, label, count, accuracy, others, scored))
    return sorted(found, key=lambda weak: weak.accuracy.value)


def keyword_lists(rules: Sources) -> Iterator[tuple[str, int, str, Keywords]]:
    """Every list of keywords: its source, the rule's number from 1, its class, and itself."""
    for source in rules.sources:
        for number, rule in enumerate(source.rules, start=1):
            if isinstance(rule.when, Keywords) and isinstance(rule.label, str):
                yield source.name, number, rule.label, rule.when


def _conflicts(votes: Votes, pairs: Pairs) -> list[Conflict]:
    """The pairs that disagree on most documents, among those that do so often."""
    different = pairs.both - pairs.same
    often = np.triu((pairs.both >= FEW) & (different >= CONFLICT * pairs.both), k=1)
    ranked = sorted(np.argwhere(often).tolist(), key=lambda p: -int(different[p[0], p[1]]))
    return [_conflict(votes, pairs, i, j) for i, j in ranked[:MOST_CONFLICTS]]


def _conflict(votes: Votes, pairs: Pairs, i: int, j: int) -> Conflict:
    one, two = votes.hard[:, i], votes.hard[:, j]
    rows = np.flatnonzero((one != ABSTAIN) & (two != ABSTAIN) & (one != two))
    couples = one[rows].astype(np.int64) * votes.m + two[rows]
    counts = np.bincount(couples, minlength=votes.m**2)
    most = int(counts.argmax())
    shown = rows[couples == most][:3]
    return Conflict(
        source=votes.sources[i],
        other=votes.sources[j],
        documents=int(pairs.both[i, j]),
        conflicts=len(rows),
        label=votes.classes[most // votes.m],
        other_label=votes.classes[most % votes.m],
        times=int(counts[most]),
        examples=tuple(str(votes.ids[int(row)]) for row in shown),
    )


def _repeated(pairs: Pairs) -> list[RepeatedSource]:
    contained, cast = pairs.contained, np.diag(pairs.both)
    found = []
    for i, name in enumerate(pairs.sources):
        others = [
            j
            for j in range(len(pairs.sources))
            if j != i and (cast[j], -j) > (cast[i], -i) and contained[i, j] >= REPEATS
        ]
        if others and cast[i] >= FEW:
            j = max(others, key=lambda j: float(contained[i, j]))
            share = float(contained[i, j])
            found.append(RepeatedSource(name, pairs.sources[j], int(cast[i]), share))
    return found


def _uncovered(votes: Votes, final: NDArray[np.integer]) -> list[UncoveredClass]:
    found = []
    for r, name in enumerate(votes.classes):
        sources = np.flatnonzero((votes.hard == r).any(axis=0))
        given = final == r
        reached = float((votes.hard[given] == r).any(axis=1).mean()) if given.any() else None
        if len(sources) < 2 or (reached is not None and reached < THIN):
            names = tuple(votes.sources[j] for j in sources)
            found.append(UncoveredClass(name, names, int(given.sum()), reached))
    return found

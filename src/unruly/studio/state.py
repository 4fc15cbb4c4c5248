"""An immutable snapshot of what the studio shows: documents, votes, labels and a model's answers.

An edit, a label or a new model makes another snapshot, which replaces the old one at once, so every page is
drawn from one consistent state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.labelling.answers import Labelled
from unruly.project.editing import ProjectText
from unruly.project.project import Project
from unruly.rules.matching import Matcher, MatchFrame, matches_on
from unruly.statistics import sample_rows
from unruly.studio.incremental_matching import SourceMatches, TypedVotes
from unruly.texts.columns import UNKNOWN
from unruly.texts.corpus import Corpus
from unruly.votes.majority import conflicts, winners
from unruly.votes.provenance import Match
from unruly.votes.summary import Summary, summarise
from unruly.votes.votes import DIGITS, Votes

Kept = TypeVar("Kept")
_MOST_KEPT = 64


@dataclass(frozen=True, eq=False)
class ModelAnswers:
    """A model's answers on every document."""

    model: str  # its file's name
    proba: NDArray[np.float32]  # (n, m), in the project's order of classes

    @cached_property
    def predicted(self) -> NDArray[np.int64]:
        """(n,): the likeliest class."""
        return np.asarray(self.proba.argmax(axis=1))

    @cached_property
    def confidence(self) -> NDArray[np.float32]:
        """(n,): its probability."""
        return np.asarray(self.proba.max(axis=1))

    @cached_property
    def doubt(self) -> NDArray[np.float32]:
        """(n,): how near the two likeliest classes are to each other, 1 where they are even."""
        top = np.partition(self.proba, -2, axis=1)[:, -2:]
        return np.asarray(1 - (top[:, 1] - top[:, 0]))


@dataclass(frozen=True, eq=False)
class State:
    """A snapshot of an open project."""

    project: Project
    file: ProjectText  # the project file, as it was read
    corpus: Corpus
    typed: TypedVotes  # the same documents for the matcher, with cached matches
    votes: Votes
    labelled: Labelled
    answers: ModelAnswers | None = None  # of the model that is shown
    earlier: ModelAnswers | None = None  # of the model before it

    @cached_property
    def _kept(self) -> dict[object, Any]:
        return {}

    def once(self, key: object, make: Callable[[], Kept]) -> Kept:
        """What `make` returns, cached under the key with this snapshot (the newest 64)."""
        if key not in self._kept:
            found = make()
            while len(self._kept) >= _MOST_KEPT:
                self._kept.pop(next(iter(self._kept), None), None)
            self._kept[key] = found
            return found
        kept: Kept = self._kept[key]
        return kept

    @property
    def text(self) -> str:
        """The project file's text."""
        return self.file.text

    @property
    def n(self) -> int:
        """How many documents."""
        return len(self.corpus)

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes."""
        return self.project.classes

    @property
    def folder(self) -> Path:
        """The project's folder."""
        return self.project.folder

    @property
    def frame(self) -> MatchFrame:
        """The documents in the matcher's form."""
        return self.typed.frame

    @cached_property
    def counts(self) -> NDArray[np.float64]:
        """(n, m): votes for each class, a partial one in equal parts."""
        return self.votes.counts()

    @cached_property
    def winner(self) -> NDArray[np.int64]:
        """(n,): the class with most votes, -1 where there is none or several tie."""
        return winners(self.counts)

    @cached_property
    def conflict(self) -> NDArray[np.bool_]:
        """(n,): documents whose votes allow no class in common."""
        return conflicts(self.votes)

    @property
    def labels(self) -> NDArray[np.int64]:
        """(n,): labels by hand, -1 where there is none."""
        return self.labelled.numbers

    @property
    def has_labels(self) -> bool:
        """Whether a person has labelled a document here: then these labels are `truth`."""
        return bool((self.labels != UNKNOWN).any())

    @cached_property
    def truth(self) -> NDArray[np.int64] | None:
        """(n,): what rules are measured against: labels by hand, else the label column of the data."""
        if self.has_labels:
            return self.labels
        gold = self.corpus.gold
        return None if gold is None or not (gold >= 0).any() else gold.astype(np.int64)

    @property
    def truth_name(self) -> str:
        """The origin of `truth`, in words."""
        return "your labels" if self.has_labels else "the label column"

    @cached_property
    def summary(self) -> Summary:
        """The source table."""
        return summarise(self.votes, self.truth)

    @cached_property
    def doubt(self) -> NDArray[np.floating[Any]]:
        """(n,): how near the two likeliest classes are, 1 where they are even: by the model, else by the votes."""
        if self.answers is not None:
            return self.answers.doubt
        top = np.partition(self.counts, -2, axis=1)[:, -2:]
        return np.asarray(1 - (top[:, 1] - top[:, 0]) / np.maximum(top.sum(axis=1), 1))

    @cached_property
    def influence(self) -> NDArray[np.floating[Any]]:
        """(n,): what a label here says about others: doubt × documents with the same votes, 0 without votes."""
        chance = np.random.default_rng(0)
        key = np.zeros(self.n, np.uint64)  # equal where all votes are
        for column in self.votes.matrix.T:
            key += chance.integers(2**63, size=129, dtype=np.uint64)[column]
        _, place, alike = np.unique(key, return_inverse=True, return_counts=True)
        return np.where(self.votes.covered, self.doubt * alike[place], 0.0)

    @cached_property
    def shuffled(self) -> NDArray[np.int64]:
        """(n,): the rows in random order, always the same one."""
        return np.random.default_rng(0).permutation(self.n)

    def votes_of(self, source: str) -> SourceMatches:
        """The votes of one source."""
        j = self.votes.sources.index(source)
        return SourceMatches(self.votes.matrix[:, j], self.votes.sets.get(j))

    def matches(self, rows: NDArray[np.int64] | list[int]) -> list[tuple[Match, ...]]:
        """The rules that matched some documents."""
        sources = tuple(self.project.sources.sources)
        if not sources:
            return [() for _ in rows]
        assert tuple(source.name for source in sources) == self.votes.sources
        matcher = Matcher(sources, self.classes)
        return matches_on(matcher, self.corpus.take(rows), self.votes.matrix[rows])


@dataclass(frozen=True, eq=False)
class Sample:
    """Some documents of a state at random, as a state of their own."""

    state: State
    rows: NDArray[np.int64]  # (s,): their rows in the whole


def sample_of(state: State, most: int) -> Sample:
    """A sample of at most so many documents; made once for each snapshot."""
    return state.once(("sample", most), lambda: _sample(state, most))


def _sample(state: State, most: int) -> Sample:
    rows = sample_rows(state.n, most)
    answers = state.answers
    part = State(
        project=state.project,
        file=state.file,
        corpus=state.corpus.take(rows),
        typed=state.typed.sample(rows),
        votes=state.votes.take(rows),
        labelled=state.labelled.take(rows),
        answers=None if answers is None else ModelAnswers(answers.model, answers.proba[rows]),
    )
    return Sample(part, rows)


def no_votes(corpus: Corpus, classes: tuple[str, ...]) -> Votes:
    """The votes of no source at all."""
    return Votes(np.zeros((len(corpus), 0), np.int8), (), classes, corpus.ids.alias("id"))


def counts_with(
    state: State,
    rows: NDArray[np.intp],
    out: SourceMatches | None,
    put: SourceMatches | None = None,
) -> NDArray[np.float64]:
    """(r, m): votes for each class on some documents, one source's left out and another's put in.

    The votes of both are those on these documents.
    """
    counts = state.counts[rows]
    for votes, sign in ((out, -1), (put, 1)):
        if votes is None:
            continue
        if votes.sets is None:
            cast = np.flatnonzero(votes.voted)
            counts[cast, votes.first[cast]] += sign
        else:
            counts += sign * votes.parts(counts.shape[1])
    partial = any(votes is not None and votes.sets is not None for votes in (out, put))
    return counts.round(DIGITS) if partial or state.votes.sets else counts


def column_values(corpus: Corpus, name: str) -> pl.Series:
    """Another column of the data, as text."""
    return corpus.columns[name].cast(pl.String, strict=False)

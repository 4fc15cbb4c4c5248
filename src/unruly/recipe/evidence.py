"""The votes as evidence: a sparse matrix O of what each source said of each document.

    O_i,(j,c) = 1 where source j voted c on document i; a soft vote spreads its 1 over the classes

Where the words that sources read are known, O is also told apart by them (see `shades`).

Only sources that voted and classes that were named (by a vote or by a clean label) take part: a silent
source, or a class that nobody speaks for, leaves everything else exactly as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unruly.features.encoder import HeldWords
from unruly.recipe.log_odds import Real64
from unruly.recipe.shades import Shades
from unruly.training.clean_labels import Gold
from unruly.votes.votes import Votes

ENOUGH = 500  # documents with votes, from which on they can tell a class balance or judge the loop
_CHUNK = 8_192  # documents laid out densely at a time


@dataclass(frozen=True, eq=False)
class Evidence:
    """n documents, k sources that voted, m classes that were named."""

    said: Any  # (n, k * m), sparse, float32: O
    sources: NDArray[np.intp]  # (k,): which of the user's sources they are
    classes: NDArray[np.intp]  # (m,): which of the user's classes
    clean: Gold  # (n,): the true class where it is known, in the numbering of `classes`, else -1
    shades: Shades  # of the k sources
    shaded: Any  # (n, s * m), sparse, float32: O by shade

    @classmethod
    def of(cls, votes: Votes, clean: Gold, held: HeldWords | None = None) -> Evidence:
        """The evidence of these votes; `clean` holds the user's class numbers, -1 where unknown.

        `held`: the words that sources read, where the texts hold them.

        >>> votes = Votes.from_array([[0, -1, -1], [2, -1, 0]])
        >>> evidence = Evidence.of(votes, np.array([-1, -1]))
        >>> evidence.sources.tolist(), evidence.classes.tolist(), evidence.said.toarray().tolist()
        ([0, 2], [0, 2], [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0]])
        """
        sources = np.flatnonzero(votes.voted.any(axis=0))
        named = np.zeros(votes.m, dtype=np.bool_)
        named[clean[clean >= 0]] = True
        for j in sources:
            named |= _mass(votes, int(j)).sum(axis=0) > 0
        classes = np.flatnonzero(named)
        number = np.full(votes.m + 1, -1)
        number[classes] = np.arange(len(classes))
        blocks = [sparse.csr_array(_mass(votes, int(j))[:, classes]) for j in sources]
        said = (
            sparse.hstack(blocks, format="csr", dtype=np.float32)
            if blocks
            else sparse.csr_array((votes.n, 0), dtype=np.float32)
        )
        shades, shaded = Shades.plain(len(sources)), said
        if held is not None:
            shades = Shades.of(votes.voted[:, sources], held.holds)
            shaded = _shaded(blocks, shades, held.holds) if len(shades) > len(sources) else said
        return cls(said, sources, classes, number[clean], shades, shaded)

    def take(self, rows: NDArray[np.intp]) -> Evidence:
        """The same of some documents."""
        said = self.said[rows]
        shaded = said if self.shaded is self.said else self.shaded[rows]
        return replace(self, said=said, shaded=shaded, clean=self.clean[rows])

    @property
    def n(self) -> int:
        """How many documents."""
        return int(self.said.shape[0])

    @property
    def k(self) -> int:
        """How many sources voted."""
        return len(self.sources)

    @property
    def m(self) -> int:
        """How many classes were named."""
        return len(self.classes)

    @property
    def covered(self) -> NDArray[np.bool_]:
        """(n,): documents with a vote."""
        return np.asarray(np.diff(self.said.indptr) > 0)

    @property
    def known(self) -> NDArray[np.bool_]:
        """(n,): documents with a clean label."""
        return np.asarray(self.clean >= 0)

    @cached_property
    def _columns(self) -> Any:
        return self.said.tocsc()

    def votes_of(self, j: int) -> tuple[NDArray[np.intp], Real64]:
        """(v,), (v, m): the documents that source j votes on, and what it says of them.

        >>> evidence = Evidence.of(Votes.from_array([[0, 1], [-1, 0]]), np.full(2, -1))
        >>> rows, said = evidence.votes_of(1)
        >>> rows.tolist(), said.tolist()
        ([0, 1], [[0.0, 1.0], [1.0, 0.0]])
        """
        own = self._columns[:, j * self.m : (j + 1) * self.m].tocsr()
        rows = np.flatnonzero(np.diff(own.indptr))
        return rows, own[rows].toarray().astype(np.float64)

    @cached_property
    def _shaded_columns(self) -> Any:
        return self.shaded.tocsc()

    def opinion_of(self, j: int, opinion: Real64) -> Real64:
        """(v, m): what source j adds on the documents that it votes on, from the opinions of all shades (s, c, y)."""
        own = self.shades.of_source(j)
        rows, said = self.votes_of(j)
        if own.stop - own.start == 1:
            return np.asarray(said @ opinion[own.start])
        columns = self._shaded_columns[:, own.start * self.m : own.stop * self.m].tocsr()
        return np.asarray(columns[rows] @ opinion[own].reshape(-1, self.m))

    def counts(self) -> Real64:
        """(n, m): how many votes each class has."""
        by_class = np.tile(np.eye(self.m, dtype=np.float32), (self.k, 1))  # (k * m, m)
        return np.asarray(self.said @ by_class, np.float64)

    def rates(self) -> Real64:
        """(k, m): the share of documents on which each source says each class."""
        return np.asarray(self.said.sum(axis=0), np.float64).reshape(self.k, self.m) / self.n

    def dense(self) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """O in full, (documents, k, m), some documents at a time."""
        step = max(1, min(_CHUNK, 2**24 // max(self.k * self.m, 1)))
        for start in range(0, self.n, step):
            part = slice(start, min(start + step, self.n))
            yield part, self.said[part].toarray().reshape(part.stop - start, self.k, self.m)


def _shaded(blocks: list[Any], shades: Shades, holds: Any) -> Any:
    """Sparse (n, s * m): what each source said, (n, m) each, shared among its shades."""
    by_source = []
    for j, said in enumerate(blocks):
        parts = shades.shares(j, holds).tocoo()  # (n, shades of j)
        row, shade = parts.coords
        value = parts.data[:, None] * said.toarray()[row]  # (shares, m)
        place, c = np.nonzero(value)
        n, m = said.shape
        cells = (row[place], shade[place] * m + c)
        by_source.append(sparse.csr_array((value[place, c], cells), shape=(n, parts.shape[1] * m)))
    return sparse.hstack(by_source, format="csr", dtype=np.float32)


def shares(evidence: Evidence, prior: Real64) -> Real64:
    """(n, m): each document's vote shares; ties and documents without votes go to the prior.

    >>> one = Evidence.of(Votes.from_array([[0, 1], [-1, -1], [1, 1]]), np.full(3, -1))
    >>> shares(one, np.array([0.3, 0.7])).argmax(axis=1).tolist()
    [1, 1, 1]
    """
    counts = evidence.counts()  # (n, m)
    total = counts.sum(axis=1, keepdims=True)
    return np.where(total > 0, (counts + 1e-3 * prior) / (total + 1e-3), prior)


def vote_prior(evidence: Evidence) -> Real64:
    """(m,): the mean vote shares of covered documents; uniform when there are none."""
    even = np.full(evidence.m, 1 / evidence.m)
    covered = evidence.covered
    return shares(evidence, even)[covered].mean(axis=0) if covered.any() else even


def _mass(votes: Votes, j: int) -> NDArray[np.float32]:
    """(n, m): what one source says of each document, zeros where it abstains."""
    voted = votes.voted[:, j]
    soft = votes.soft.get(votes.sources[j])
    if soft is not None:
        return np.asarray(np.where(voted[:, None], soft, 0), np.float32)
    return np.asarray(votes.matrix[:, j, None] == np.arange(votes.m), np.float32)

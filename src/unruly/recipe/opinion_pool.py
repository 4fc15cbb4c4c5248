"""The paper's denoiser with opinions multiplied as probabilities (Eqs. 1 and 3).

    a_ij    = softmax over the sources that voted of  W2^T tanh(W1 (y_ij + B_i))           (Eq. 1)
    ev_iy   = N_i sum_j a_ij r_j log T[j, y, y_ij],      N_i: how many sources voted on i
    z^_i    = softmax(ev_i + c)

Eq. 3 adds the reliabilities of those who named a class, so that with two classes it is never surer than
0.731. Here a vote counts as what it says of every class: the log-probability of its being cast. With an
even split, a_ij = 1/N_i, this is exactly the product of the sources' opinions; training moves it from
there, document by document. Where the words that sources read are known, T is that of the words that the text
holds (see `shades`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.features.encoder import HeldWords
from unruly.recipe.log_odds import Real64
from unruly.recipe.shades import Shades
from unruly.training.attention import Attention
from unruly.training.cells import Cells
from unruly.training.reliability import conditional
from unruly.votes.votes import Votes

Real = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class KnownVotes:
    """The votes that a pool can judge, in its own numbering of sources and classes."""

    matrix: NDArray[np.int8]  # (n, k)
    soft: Mapping[int, Real]  # source -> (n, m)
    holds: Any  # (n, w), sparse: which of the rules' words the texts hold; None: not known

    def take(self, rows: NDArray[np.intp]) -> KnownVotes:
        """The votes on some documents."""
        return KnownVotes(
            self.matrix[rows],
            {j: said[rows] for j, said in self.soft.items()},
            self.holds[rows] if self.holds is not None else None,
        )


@dataclass(frozen=True, eq=False)
class OpinionPool:
    """What votes say of documents. k sources that voted in training, m classes that were named."""

    opinion: Real  # (s, c, y): r_j log T[(j, w), y, c], centred over y
    shades: Shades  # of the k sources
    sources: NDArray[np.int64]  # (k,): which of the user's sources they are
    classes: NDArray[np.int64]  # (m,): which of the user's classes
    attention: Attention | None  # None: an even split

    def known(self, votes: Votes, held: HeldWords | None = None) -> KnownVotes:
        """The votes of sources, and for classes, that are known from training."""
        number = np.full(votes.m + 1, -1, dtype=np.int8)
        number[self.classes] = np.arange(len(self.classes))
        names = {votes.sources[j]: place for place, j in enumerate(self.sources.tolist())}
        soft = {
            names[name]: np.asarray(said[:, self.classes], np.float32)
            for name, said in votes.soft.items()
            if name in names
        }
        holds = held.holds if held is not None else None
        return KnownVotes(number[votes.matrix[:, self.sources]], soft, holds)

    def cells(self, known: KnownVotes) -> Cells:
        """One cell for each vote."""
        return Cells.of(known.matrix, len(self.classes), "voters")

    def said(self, cells: Cells, known: KnownVotes) -> Real:
        """(v, y): the opinion in each cell; soft votes are weighed by their probabilities."""
        last = np.searchsorted(self.shades.owner, np.arange(len(self.sources)), "right") - 1
        said = self.opinion[last[cells.source], cells.outcome]  # of the shades with no word
        for j in range(len(self.sources)):
            own, soft = self.shades.of_source(j), known.soft.get(j)
            worded = known.holds is not None and own.stop - own.start > 1
            if worded or soft is not None:
                mine = np.flatnonzero(cells.source == j)
                rows = cells.row[mine]
                told = np.eye(len(self.classes), dtype=np.float32)[cells.outcome[mine]]  # (v, c)
                told = soft[rows] if soft is not None else told
                said[mine] = self._by_word(j, told, known.holds[rows] if worded else None)
        return said

    def _by_word(self, j: int, told: Real, holds: Any) -> Real:
        """(v, y): the opinion of source j where it says this, (v, c), of texts that hold these words."""
        own = self.opinion[self.shades.of_source(j)]  # (shades, c, y)
        if holds is None:
            return np.asarray(told @ own[-1])
        parts = self.shades.shares(j, holds)  # (v, shades)
        by_class = [told[:, [c]] * (parts @ own[:, c]) for c in range(own.shape[1])]
        return np.asarray(np.sum(by_class, axis=0))

    def evidence(
        self, features: Real, votes: Votes, held: HeldWords | None = None
    ) -> tuple[Real, Real]:
        """(n, m): ev; (n, k of the user): a_ij. Zeros where nobody voted."""
        cells, a, weighed = self._weighed(features, votes, held)
        by_class = [np.bincount(cells.row, weighed[:, y], cells.n) for y in range(cells.m)]
        ev = np.stack(by_class, axis=1).astype(np.float32)
        shares = np.zeros((votes.n, votes.k), np.float32)
        shares[:, self.sources] = cells.matrix(a)
        return ev, shares

    def odds(self, features: Real, votes: Votes, held: HeldWords | None, prior: Real64) -> Real64:
        """(n, k of the user): by what factor each vote moves the odds of the class that it names; 1 where there is none.

        The other classes count for as much as the prior, (m,), says.
        """
        cells, _, weighed = self._weighed(features, votes, held)
        factors = np.ones((votes.n, votes.k))
        if len(self.classes) > 1:
            moved = self.factor(weighed, cells.outcome, prior)
            factors[cells.row, self.sources[cells.source]] = moved
        return factors

    @staticmethod
    def factor(opinion: Real, label: NDArray[np.integer], prior: Real64) -> Real64:
        """(v,): by what factor opinions (v, m) move the odds of the classes (v,), the others being as likely as the prior (m,) says.

        >>> even = np.array([[0.0, np.log(4)]], np.float32)
        >>> OpinionPool.factor(even, np.array([1]), np.array([0.9, 0.1])).round(2).tolist()
        [4.0]
        """
        place = np.arange(len(label)), label
        others = np.tile(prior, (len(label), 1))  # (v, m)
        others[place] = 0
        likely = np.exp(opinion.astype(np.float64))
        return np.asarray(likely[place] * others.sum(axis=1) / (likely * others).sum(axis=1))

    def _weighed(
        self, features: Real, votes: Votes, held: HeldWords | None
    ) -> tuple[Cells, Real, Real]:
        """One cell for each of v votes; (v,): a_ij; (v, m): N_i a_ij r_j log T."""
        known = self.known(votes, held)
        cells = self.cells(known)
        scores = (
            np.zeros(len(cells.row), np.float32)
            if self.attention is None
            else self.attention.scores(features, cells)
        )
        a = conditional(scores, cells)  # (v,)
        return cells, a, self.said(cells, known) * (a * cells.sizes[cells.row])[:, None]

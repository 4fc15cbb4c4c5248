"""The paper's denoiser with opinions multiplied as probabilities (Eqs. 1 and 3).

    a_ij    = softmax over the sources that voted of  W2^T tanh(W1 (y_ij + B_i))           (Eq. 1)
    ev_iy   = N_i sum_j a_ij r_j log T[j, y, y_ij],      N_i: how many sources voted on i
    z^_i    = softmax(ev_i + c)

Eq. 3 adds the reliabilities of those who named a class, so that with two classes it is never surer than
0.731. Here a vote counts as what it says of every class: the log-probability of its being cast. With an
even split, a_ij = 1/N_i, this is exactly the product of the sources' opinions; training moves it from
there, document by document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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

    def take(self, rows: NDArray[np.intp]) -> KnownVotes:
        """The votes on some documents."""
        return KnownVotes(self.matrix[rows], {j: said[rows] for j, said in self.soft.items()})


@dataclass(frozen=True, eq=False)
class OpinionPool:
    """What votes say of documents. k sources that voted in training, m classes that were named."""

    opinion: Real  # (k, c, y): r_j log T[j, y, c], centred over y
    sources: NDArray[np.int64]  # (k,): which of the user's sources they are
    classes: NDArray[np.int64]  # (m,): which of the user's classes
    attention: Attention | None  # None: an even split

    def known(self, votes: Votes) -> KnownVotes:
        """The votes of sources, and for classes, that are known from training."""
        number = np.full(votes.m + 1, -1, dtype=np.int8)
        number[self.classes] = np.arange(len(self.classes))
        names = {votes.sources[j]: place for place, j in enumerate(self.sources.tolist())}
        soft = {
            names[name]: np.asarray(said[:, self.classes], np.float32)
            for name, said in votes.soft.items()
            if name in names
        }
        return KnownVotes(number[votes.matrix[:, self.sources]], soft)

    def cells(self, known: KnownVotes) -> Cells:
        """One cell for each vote."""
        return Cells.of(known.matrix, len(self.classes), "voters")

    def said(self, cells: Cells, known: KnownVotes) -> Real:
        """(v, y): the opinion in each cell; soft votes are weighed by their probabilities."""
        said = self.opinion[cells.source, cells.outcome]
        for j, soft in known.soft.items():
            mine = np.flatnonzero(cells.source == j)
            said[mine] = soft[cells.row[mine]] @ self.opinion[j]
        return said

    def evidence(self, features: Real, votes: Votes) -> tuple[Real, Real]:
        """(n, m): ev; (n, k of the user): a_ij. Zeros where nobody voted."""
        known = self.known(votes)
        cells = self.cells(known)
        scores = (
            np.zeros(len(cells.row), np.float32)
            if self.attention is None
            else self.attention.scores(features, cells)
        )
        a = conditional(scores, cells)  # (v,)
        weighed = self.said(cells, known) * (a * cells.sizes[cells.row])[:, None]  # (v, m)
        by_class = [np.bincount(cells.row, weighed[:, y], cells.n) for y in range(cells.m)]
        ev = np.stack(by_class, axis=1).astype(np.float32)
        shares = np.zeros((votes.n, votes.k), np.float32)
        shares[:, self.sources] = cells.matrix(a)
        return ev, shares

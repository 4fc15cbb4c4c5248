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
class OpinionPool:
    """What votes say of documents. k sources that voted in training, m classes that were named."""

    opinion: Real  # (k, c, y): r_j log T[j, y, c], centred over y
    sources: NDArray[np.int64]  # (k,): which of the user's sources they are
    classes: NDArray[np.int64]  # (m,): which of the user's classes
    attention: Attention | None  # None: an even split

    def cells(self, votes: Votes) -> Cells:
        """The votes that can be judged: of sources and for classes known from training."""
        number = np.full(votes.m + 1, -1, dtype=np.int8)
        number[self.classes] = np.arange(len(self.classes))
        return Cells.of(number[votes.matrix[:, self.sources]], len(self.classes), "voters")

    def said(self, cells: Cells, votes: Votes) -> Real:
        """(v, y): the opinion in each cell; soft votes are weighed by their probabilities."""
        said = self.opinion[cells.source, cells.outcome]
        for j, soft in self._soft(votes).items():
            mine = np.flatnonzero(cells.source == j)
            said[mine] = soft[cells.row[mine]] @ self.opinion[j]
        return said

    def evidence(self, features: Real, votes: Votes) -> tuple[Real, Real]:
        """(n, m): ev; (n, k of the user): a_ij. Zeros where nobody voted."""
        cells = self.cells(votes)
        scores = (
            np.zeros(len(cells.row), np.float32)
            if self.attention is None
            else self.attention.scores(features, cells)
        )
        a = conditional(scores, cells)  # (v,)
        weighed = self.said(cells, votes) * (a * cells.sizes[cells.row])[:, None]  # (v, m)
        by_class = [np.bincount(cells.row, weighed[:, y], cells.n) for y in range(cells.m)]
        ev = np.stack(by_class, axis=1).astype(np.float32)
        shares = np.zeros((votes.n, votes.k), np.float32)
        shares[:, self.sources] = cells.matrix(a)
        return ev, shares

    def _soft(self, votes: Votes) -> Mapping[int, Real]:
        """Soft votes by source, over the classes that were named."""
        names = {votes.sources[j]: place for place, j in enumerate(self.sources.tolist())}
        return {
            names[name]: values[:, self.classes]
            for name, values in votes.soft.items()
            if name in names
        }

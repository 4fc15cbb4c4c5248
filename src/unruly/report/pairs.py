"""Who agrees with whom: every two sources, on the documents on which both vote."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.votes.votes import Votes


@dataclass(frozen=True, eq=False)
class Pairs:
    """Counts for every pair of sources; both matrices are symmetric."""

    sources: tuple[str, ...]
    both: NDArray[np.int64]  # (k, k): documents on which both vote; the diagonal holds all votes
    same: NDArray[np.int64]  # (k, k): of these, documents on which they say the same

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


def pairs(votes: Votes) -> Pairs:
    """Count every pair.

    >>> counted = pairs(Votes.from_array([[0, 0], [0, 1], [1, -1]]))
    >>> counted.both.tolist(), counted.same.tolist()
    ([[3, 2], [2, 2]], [[3, 1], [1, 2]])
    """
    voted = votes.voted.astype(np.float64)  # (n, k)
    same = np.zeros((votes.k, votes.k))
    for r in range(votes.m):
        said = (votes.matrix == r).astype(np.float64)  # (n, k)
        same += said.T @ said
    return Pairs(
        votes.sources, np.rint(voted.T @ voted).astype(np.int64), np.rint(same).astype(np.int64)
    )

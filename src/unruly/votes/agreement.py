"""How often pairs of sources vote on the same document, and how often alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.votes.votes import ABSTAIN, Votes


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

"""Accuracy by the number of sources that vote on a document."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.model.evaluation import majority_shares
from unruly.model.metrics import Share, wilson
from unruly.training.heads import Heads
from unruly.votes.votes import Votes

MOST = 6  # this many votes or more are one group


@dataclass(frozen=True)
class Matched:
    """The documents with so many votes."""

    name: str  # '0', '1', …, '6+'
    documents: int
    model: Share
    majority: Share


def by_matched(
    votes: Votes, heads: Heads, gold: NDArray[np.int64], commonest: int
) -> tuple[Matched, ...]:
    """One line for each number of votes that occurs."""
    cast = np.minimum(votes.voted.sum(axis=1), MOST)  # (n,)
    credit = majority_shares(votes, commonest)  # (n, m)
    lines = []
    for count in range(MOST + 1):
        rows = (cast == count) & (gold >= 0)
        if rows.any():
            n, truth = int(rows.sum()), gold[rows]
            right = int((heads.predicted[rows] == truth).sum())
            shared = float(credit[rows][np.arange(n), truth].sum())
            name = f"{MOST}+" if count == MOST else str(count)
            lines.append(Matched(name, n, wilson(right, n), wilson(shared, n)))
    return tuple(lines)

"""How a source's say varies from document to document.

A vote's weight a_ij is relative to the other votes on the document, so it is set beside an equal split:
a_ij times the number of votes on document i. 1 means as much say as the others there, 2 twice as much.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unruly.training.heads import Heads
from unruly.votes.votes import Votes

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Spread:
    """One source: its overall weight, and that on documents where it is not alone."""

    name: str
    overall: float  # global reliability times the number of sources: 1 is an equal share
    documents: int  # with another vote beside its own
    quantiles: tuple[float, ...]  # 5, 25, 50, 75 and 95 %; empty when there are no such documents


def reliability_spread(
    reliability: tuple[float, ...], votes: Votes, heads: Heads
) -> tuple[Spread, ...]:
    """All sources, in their order."""
    cast = votes.voted.sum(axis=1)  # (n,)
    beside = heads.conditional * cast[:, None]  # (n, k)
    spreads = []
    for j, name in enumerate(votes.sources):
        rows = votes.voted[:, j] & (cast > 1)
        found = np.quantile(beside[rows, j], QUANTILES) if rows.any() else np.array([])
        overall = float(reliability[j]) * votes.k
        spreads.append(Spread(name, overall, int(rows.sum()), tuple(found.tolist())))
    return tuple(spreads)

"""How confident the model is, and whether its confidence means what it says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.model.metrics import Share, wilson
from unruly.votes.votes import Votes

BINS = 10


@dataclass(frozen=True)
class Slice:
    """The documents whose confidence lies between two bounds."""

    low: float
    high: float
    covered: int
    uncovered: int
    confidence: float  # mean, of documents with gold; NaN without
    accuracy: Share | None  # None without gold in this slice

    @property
    def documents(self) -> int:
        """All of them."""
        return self.covered + self.uncovered


def confidence_slices(
    proba: NDArray[np.float32], votes: Votes, gold: NDArray[np.int64] | None = None
) -> tuple[Slice, ...]:
    """Equal slices of confidence, from 1/m (a guess among m classes) to 1.

    >>> votes = Votes.from_array([[0], [-1]])
    >>> sure = confidence_slices(np.array([[0.99, 0.01], [0.4, 0.6]]), votes, np.array([0, 0]))
    >>> sure[-1].covered, sure[-1].accuracy.value, sure[2].uncovered, sure[2].accuracy.value
    (1, 1.0, 1, 0.0)
    """
    confidence = proba.max(axis=1).astype(np.float64)  # (n,)
    edges = np.linspace(1 / proba.shape[1], 1.0, BINS + 1)
    which = np.clip(np.searchsorted(edges, confidence + 1e-7, side="right") - 1, 0, BINS - 1)
    known = np.zeros(votes.n, dtype=np.bool_) if gold is None else gold >= 0
    right = np.zeros(votes.n, dtype=np.bool_) if gold is None else proba.argmax(axis=1) == gold
    slices = []
    for b in range(BINS):
        rows = which == b
        scored = rows & known
        n = int(scored.sum())
        slices.append(
            Slice(
                low=float(edges[b]),
                high=float(edges[b + 1]),
                covered=int((rows & votes.covered).sum()),
                uncovered=int((rows & ~votes.covered).sum()),
                confidence=float(confidence[scored].mean()) if n else float("nan"),
                accuracy=wilson(int(right[scored].sum()), n) if n else None,
            )
        )
    return tuple(slices)

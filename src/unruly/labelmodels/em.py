"""Expectation-maximisation over ballots: one loop for every model that is fitted by it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from unruly.labelmodels.ballots import Ballots

Soft = NDArray[np.float64]  # (u, m): soft labels, a row for each ballot


def settle(
    ballots: Ballots, q: Soft, step: Callable[[Soft], Soft], *, max_iter: int, tolerance: float
) -> tuple[Soft, int]:
    """Soft labels after as many M and E steps as it takes until they rest; and how many it took."""
    for n in range(1, max_iter + 1):
        before, q = q, step(q)
        if moved(ballots, before, q) < tolerance:
            return q, n
    return q, max_iter


def moved(ballots: Ballots, before: Soft, after: Soft) -> float:
    """How far the soft labels went, on average over documents."""
    return float(np.einsum("u,u->", ballots.counts, np.abs(after - before).max(axis=1))) / ballots.n

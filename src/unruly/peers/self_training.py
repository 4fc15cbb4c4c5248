"""Self-training on sharpened predictions (Xie et al., 2016; Meng et al., 2018, section 5.2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]


def sharpened(predictions: NDArray[np.floating[Any]]) -> Real:
    r"""(n, m): targets that trust confident predictions more, and large classes less.

        q_ij = (p_ij^2 / f_j) / sum_k (p_ik^2 / f_k),      f_j = sum_i p_ij

    >>> sharpened(np.array([[0.9, 0.1], [0.5, 0.5]])).round(3).tolist()
    [[0.972, 0.028], [0.3, 0.7]]
    """
    p = np.asarray(predictions, dtype=np.float64)
    weight = p**2 / np.maximum(p.sum(axis=0), 1e-12)  # (n, m)
    return np.asarray(weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-300))


def share_changed(before: NDArray[np.int64], after: NDArray[np.int64]) -> float:
    """The share of documents whose label is another one now: training stops when it is small.

    >>> share_changed(np.array([0, 1, 1, 1]), np.array([0, 1, 1, 0]))
    0.25
    """
    return float((before != after).mean()) if len(before) else 0.0

"""Scores to probabilities, in double precision: rows of n documents, columns of m classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Real64 = NDArray[np.float64]


def log_softmax(scores: NDArray[np.floating[Any]]) -> Real64:
    """(n, m): log of the row-wise softmax.

    >>> np.exp(log_softmax(np.zeros((1, 4)))).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """
    lowered = scores - scores.max(axis=1, keepdims=True, initial=-np.inf)
    return np.asarray(lowered - np.log(np.exp(lowered).sum(axis=1, keepdims=True)), np.float64)


def softmax(scores: NDArray[np.floating[Any]]) -> Real64:
    """(n, m): rows of probabilities.

    >>> softmax(np.array([[0.0, np.log(3)]])).round(2).tolist()
    [[0.25, 0.75]]
    """
    raised = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), np.float64)

"""Softmax over the last axis, the one that everything here uses."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Float = TypeVar("Float", np.float32, np.float64)


def log_softmax(scores: NDArray[Float]) -> NDArray[Float]:
    """(..., m): the logarithms of the probabilities; no overflow, whatever the scores.

    >>> np.exp(log_softmax(np.array([1000.0, 1000.0]))).tolist()
    [0.5, 0.5]
    """
    moved: NDArray[Float] = scores - scores.max(axis=-1, keepdims=True, initial=-np.inf)
    moved -= np.log(np.exp(moved).sum(axis=-1, keepdims=True))
    return moved


def softmax(scores: NDArray[Float]) -> NDArray[Float]:
    """(..., m): probabilities that sum to 1 along the last axis.

    >>> softmax(np.array([[1.0, 0.0], [0.0, 0.0]])).round(3).tolist()
    [[0.731, 0.269], [0.5, 0.5]]
    """
    raised: NDArray[Float] = scores - scores.max(axis=-1, keepdims=True, initial=-np.inf)
    np.exp(raised, out=raised)
    raised /= raised.sum(axis=-1, keepdims=True)
    return raised

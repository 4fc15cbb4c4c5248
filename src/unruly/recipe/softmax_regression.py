"""Softmax regression on one encoder's features: p_y(x) = softmax(W^T scale (x - centre) + bias)_y."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.recipe.log_odds import Real64, log_softmax

Real = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class SoftmaxRegression:
    """A trained regression, for new documents. `scale` makes the training documents' mean |x|^2 one."""

    centre: Real  # (d,)
    scale: float
    weights: Real  # (d, m)
    bias: Real  # (m,)
    say: float = 1.0  # how much it counts beside the regressions on other encoders

    def scaled(self, values: Real) -> Real:
        """(n, d): features as the regression sees them."""
        return np.asarray((values - self.centre) * np.float32(self.scale), np.float32)

    def log_proba(self, values: Real) -> Real64:
        """(n, m): log-probabilities of the classes."""
        return log_softmax((self.scaled(values) @ self.weights + self.bias).astype(np.float64))


def pooled(said: Sequence[Real64], says: Sequence[float]) -> Real64:
    """(n, m): opinions averaged as log-probabilities, each by its say, and normalised."""
    shares = np.asarray(says) / np.sum(says)
    return log_softmax(np.tensordot(shares, np.stack(said), 1))


def side_by_side(texts: Sequence[SoftmaxRegression], blocks: Sequence[Real]) -> Real:
    """(n, d): all encoders' features as the networks see them, each feature of about unit size."""
    scaled = [
        text.scaled(values) * np.float32(values.shape[1] ** 0.5)
        for text, values in zip(texts, blocks, strict=True)
    ]
    return np.concatenate(scaled, axis=1) if len(scaled) > 1 else scaled[0]

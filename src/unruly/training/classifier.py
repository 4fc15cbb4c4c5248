"""Equation 4: the neural classifier, a two-layer network on the features of any document.

    z~_i = f(B_i; theta) = softmax(relu(B_i W1 + b1) W2 + b2)

The paper does not name the hidden layer's activation: it is a rectifier here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

Real = NDArray[np.float32]
_NEGLIGIBLE = 1e-5  # of the whole gradient: what float32 loses in summing a thousand rows


@dataclass(frozen=True, eq=False)
class Classifier:
    """The trained network, for new documents."""

    w1: Real  # (d, h)
    b1: Real  # (h,)
    w2: Real  # (h, m)
    b2: Real  # (m,)

    def logits(self, features: Real) -> Real:
        """(n, m): scores whose softmax is z~."""
        hidden = np.maximum(features @ self.w1 + self.b1, 0)  # (n, h)
        return np.asarray(hidden @ self.w2 + self.b2, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class ClassifierWeights:
    """The network in training, or the gradient of its weights: views of one flat vector."""

    w1: Tensor  # (d, h)
    b1: Tensor  # (h,)
    w2: Tensor  # (h, m)
    b2: Tensor  # (m,)

    def logits(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of the classes, (n, m), and the hidden layer, (n, h)."""
        hidden = (features @ self.w1).add_(self.b1).relu_()
        return (hidden @ self.w2).add_(self.b2), hidden

    def backward(
        self,
        into: ClassifierWeights,
        features: Tensor,  # (n, d)
        hidden: Tensor,  # (n, h)
        slope: Tensor,  # (n, m): dl/dlogits
    ) -> None:
        """Write the gradient of the weights: the chain rule through the two layers."""
        features, hidden, slope = _rows_that_matter(features, hidden, slope)
        into.w2.addmm_(hidden.t(), slope, beta=0)
        into.b2.copy_(slope.sum(0))
        inner = (slope @ self.w2.t()).mul_(hidden.sign_())  # (n, h): dl/d(B W1 + b1)
        into.w1.addmm_(features.t(), inner, beta=0)
        into.b1.copy_(inner.sum(0))


def _rows_that_matter(
    features: Tensor, hidden: Tensor, slope: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Leave out the documents whose gradients together are below rounding: late in training, most."""
    mass, order = slope.abs().sum(1).sort()
    out = int((mass.cumsum(0) <= _NEGLIGIBLE * mass.sum()).sum())
    if out < len(slope) // 4:
        return features, hidden, slope
    rows = order[out:].sort().values
    return features.index_select(0, rows), hidden.index_select(0, rows), slope.index_select(0, rows)

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
        hidden = self.b1.addmm(features, self.w1).relu_()
        across = self.w2.t().contiguous().t()  # laid out so that the narrow product is quick
        return self.b2.addmm(hidden, across), hidden

    def backward(
        self,
        into: ClassifierWeights,
        features: Tensor,  # (n, d)
        hidden: Tensor,  # (n, h)
        slope: Tensor,  # (n, m): dl/dlogits
    ) -> None:
        """Write the gradient of the weights: the chain rule through the two layers."""
        into.w2.copy_((slope.t() @ hidden).t())
        into.b2.copy_(slope.sum(0))
        inner = (slope @ self.w2.t()).mul_(hidden.sign_())  # (n, h): dl/d(B W1 + b1)
        into.w1.addmm_(features.t(), inner, beta=0)
        into.b1.copy_(inner.sum(0))

    def some(self, units: Tensor) -> ClassifierWeights:
        """A copy of the network with some of its hidden units."""
        w1, b1 = self.w1.index_select(1, units), self.b1.index_select(0, units)
        return ClassifierWeights(w1, b1, self.w2.index_select(0, units), self.b2.clone())

    def put(self, units: Tensor, part: ClassifierWeights) -> None:
        """Write the gradient of some hidden units; that of the others is zero."""
        for whole in (self.w1, self.b1, self.w2):
            whole.zero_()
        self.w1.index_copy_(1, units, part.w1)
        self.b1.index_copy_(0, units, part.b1)
        self.w2.index_copy_(0, units, part.w2)
        self.b2.copy_(part.b2)

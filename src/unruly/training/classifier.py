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
_LOOK = 10  # epochs between two looks at all hidden units
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


class LiveUnits:
    """The hidden units that any document wakes. A unit below zero on all of them has no gradient.

    At a large learning rate most rectifiers die within a few steps (on the paper's spouse data, 243
    of 256) and cost as much as living ones. Every tenth epoch all units are looked at; those that
    were silent on every document then and the time before are left out until the next look.
    """

    def __init__(self) -> None:
        self.silent: Tensor | None = None  # (h,): at the last look
        self.units: Tensor | None = None  # numbers of the live ones; None for all

    def at(self, epoch: int) -> Tensor | None:
        """The units to compute in this epoch; None for all."""
        return None if epoch % _LOOK == 0 else self.units

    def look(self, epoch: int, hidden: Tensor) -> None:
        """Take note of the hidden layer, (n, h), if this is the epoch to look."""
        if epoch % _LOOK:
            return
        silent = hidden.amax(0) <= 0
        dead = silent if self.silent is None else silent & self.silent
        first, self.silent = self.silent is None, silent
        enough = not first and int(dead.sum()) >= len(dead) // 4
        self.units = (~dead).nonzero().ravel() if enough else None


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

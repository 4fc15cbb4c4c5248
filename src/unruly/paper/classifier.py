"""Equation 4: the neural classifier, a two-layer network on the features of any document.

    z~_i = f(B_i; theta) = softmax(relu(B_i W1 + b1) W2 + b2)

The paper does not name the hidden layer's activation: it is a rectifier here.

A full-batch epoch need not compute hidden units and documents that have no gradient left. Every tenth
epoch everything is computed and looked at; what had no gradient then and the time before is left out
until the next look (`LiveUnits`, `LiveRows`). This saves time alone: the weights come out the same up
to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.statistics import Float32

Whole = NDArray[np.intp]
_LOOK = 10  # epochs between two looks
_NEGLIGIBLE = 1e-7  # of the whole gradient: what float32 loses in summing a few rows


@dataclass(frozen=True, eq=False)
class Classifier:
    """The network's weights, or their gradient."""

    w1: Float32  # (d, h)
    b1: Float32  # (h,)
    w2: Float32  # (h, m)
    b2: Float32  # (m,)

    def logits(self, features: Float32) -> tuple[Float32, Float32]:
        """Scores whose softmax is z~, (n, m), and the hidden layer, (n, h)."""
        hidden: Float32 = features @ self.w1  # (n, h)
        hidden += self.b1
        np.maximum(hidden, 0, out=hidden)
        scores: Float32 = hidden @ self.w2  # (n, m)
        scores += self.b2
        return scores, hidden

    def backward(
        self,
        into: Classifier,
        features: Float32,  # (n, d)
        hidden: Float32,  # (n, h)
        slope: Float32,  # (n, m): dl/dlogits
    ) -> None:
        """Write the gradient of the weights: the chain rule through the two layers."""
        into.w2[...] = (slope.T @ hidden).T
        into.b2[...] = slope.sum(axis=0)
        inner = slope @ self.w2.T  # (n, h)
        inner *= hidden > 0  # dl/d(B W1 + b1)
        np.dot(features.T, inner, out=into.w1)
        into.b1[...] = inner.sum(axis=0)

    def some(self, units: Whole) -> Classifier:
        """A copy of the network with some of its hidden units."""
        w1 = np.take(self.w1, units, axis=1)
        return Classifier(w1, self.b1[units], self.w2[units], self.b2.copy())

    def put(self, units: Whole, part: Classifier) -> None:
        """Write the gradient of some hidden units; that of the others is zero."""
        for whole in (self.w1, self.b1, self.w2):
            whole[...] = 0
        self.w1[:, units] = part.w1
        self.b1[units] = part.b1
        self.w2[units] = part.w2
        self.b2[...] = part.b2


class LiveUnits:
    """The hidden units that any document activates. A unit below zero on all of them has no gradient.

    At a large learning rate most rectifiers die within a few steps (on the paper's spouse data, 243
    of 256) and cost as much as living ones.
    """

    def __init__(self) -> None:
        self.silent: NDArray[np.bool_] | None = None  # (h,): at the last look
        self.units: Whole | None = None  # numbers of the live ones; None for all

    def at(self, epoch: int) -> Whole | None:
        """The units to compute in this epoch; None for all."""
        return None if epoch % _LOOK == 0 else self.units

    def look(self, epoch: int, hidden: Float32) -> None:
        """Take note of the hidden layer, (n, h), if this is the epoch to look."""
        if epoch % _LOOK:
            return
        silent = hidden.max(axis=0, initial=0) <= 0
        dead = silent if self.silent is None else silent & self.silent
        first, self.silent = self.silent is None, silent
        enough = not first and int(dead.sum()) >= len(dead) // 4
        self.units = np.flatnonzero(~dead) if enough else None


@dataclass(eq=False)
class Part:
    """The documents to compute, and the last logits of all of them, which are brought up to date in place."""

    rows: Whole  # (r,): their numbers
    features: Float32  # (r, d)
    logits: Float32  # (n, m): those of the others are from the last look

    def renewed(self, logits: Float32) -> Float32:
        """(n, m): the logits of all documents, with those of the part, (r, m), brought up to date."""
        self.logits[self.rows] = logits
        return self.logits


class LiveRows:
    """The documents that still have a gradient worth computing.

    Once the classifier has learned a document its gradient is next to nothing: late in training that
    is most documents. Those whose gradients together are below rounding keep their last logits.
    """

    def __init__(self) -> None:
        self.quiet: NDArray[np.bool_] | None = None  # (n,): at the last look
        self.part: Part | None = None
        self.due = False

    def at(self, epoch: int, changed: int) -> Part | None:
        """The documents to compute in this epoch; None for all, as when labels have just changed."""
        self.due = epoch % _LOOK == 0 or (changed > 0 and self.part is not None)
        if self.due:
            self.part = None
        return self.part

    def look(self, features: Float32, logits: Float32, slope: Float32) -> None:
        """Take note of the gradients dl/dlogits, (n, m), if this is the epoch to look."""
        if not self.due:
            return
        size = np.abs(slope).sum(axis=1)
        order = np.argsort(size, kind="stable")
        quiet = np.zeros(len(size), dtype=np.bool_)
        quiet[order] = np.cumsum(size[order]) <= _NEGLIGIBLE * size.sum()
        still = None if self.quiet is None else quiet & self.quiet
        self.quiet = quiet
        if still is not None and int(still.sum()) >= len(still) // 3:
            rows = np.flatnonzero(~still)
            self.part = Part(rows, features[rows], logits)

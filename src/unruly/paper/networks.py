"""Both networks' weights in one flat vector, so that one step of Adam updates them together."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from unruly.paper.attention import Attention
from unruly.paper.classifier import Classifier
from unruly.statistics import Float32

_B1, _B2, _EPS = 0.9, 0.999, 1e-8
_CHUNK = 32_768  # weights updated together: their four vectors fit the cache


@dataclass(frozen=True)
class Shape:
    """How large the networks are."""

    d: int  # features
    h: int  # hidden units of both networks
    m: int  # classes
    c: int  # pairs (source, outcome) that occur

    def sizes(self) -> list[tuple[int, ...]]:
        """The shapes of the weights in the order in which they lie in the flat vector."""
        d, h, m, c = self.d, self.h, self.m, self.c
        return [(d, h), (h,), (d, h), (h,), (h, m), (m,), (c, h)]


@dataclass(frozen=True, eq=False)
class Networks:
    """The weights (W, theta) of Algorithm 1, or their gradient."""

    flat: Float32
    attention: Attention
    classifier: Classifier

    @classmethod
    def view(cls, flat: Float32, shape: Shape) -> Networks:
        """Name the parts of a flat vector; nothing is copied."""
        sizes = shape.sizes()
        ends = np.cumsum([prod(size) for size in sizes])
        parts = np.split(flat, ends[:-1])
        w1a, w2a, w1, b1, w2, b2, votes = (
            part.reshape(size) for part, size in zip(parts, sizes, strict=True)
        )
        return cls(flat, Attention(w1a, w2a, votes), Classifier(w1, b1, w2, b2))

    @classmethod
    def zeros(cls, shape: Shape) -> Networks:
        """All weights at zero."""
        return cls.view(np.zeros(sum(prod(s) for s in shape.sizes()), dtype=np.float32), shape)

    @classmethod
    def start(cls, shape: Shape, seed: int) -> Networks:
        """Random weights, uniform in ±1/sqrt(inputs); biases and vote vectors at zero.

        The random numbers do not depend on the sources.
        """
        networks = cls.zeros(shape)
        random = np.random.RandomState(seed % 2**32)  # the same stream in every version
        for weights, inputs in (
            (networks.attention.w1, shape.d),
            (networks.attention.w2, shape.h),
            (networks.classifier.w1, shape.d),
            (networks.classifier.w2, shape.h),
        ):
            bound = float(np.float32(max(inputs, 1) ** -0.5))
            bits = random.randint(0, 2**32, size=weights.shape, dtype=np.uint32)
            weights[...] = (bits & 0xFFFFFF) * (2.0**-23 * bound) - bound  # 24 bits are a float32
        return networks


class Adam:
    """Adam (Kingma and Ba, 2015) on one flat vector of weights, in place.

    m <- b1 m + (1 - b1) g,    v <- b2 v + (1 - b2) g^2
    w <- w - lr * m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps)

    `mean` and `square` hold m / (1 - b1) and v / (1 - b2), which saves two passes over the weights.
    """

    def __init__(
        self, weights: Float32, gradient: Float32, learning_rate: float, weight_decay: float
    ) -> None:
        self.weights, self.gradient = weights, gradient
        self.learning_rate, self.weight_decay = learning_rate, weight_decay
        self.mean = np.zeros_like(weights)
        self.square = np.zeros_like(weights)
        self._room = np.empty(min(_CHUNK, len(weights)), dtype=np.float32)
        self.t = 0

    def step(self) -> None:
        """One update."""
        self.t += 1
        # sqrt(v / (1 - b2^t)) + eps is sqrt(square) + even, up to the factor sqrt((1 - b2) / (1 - b2^t)).
        factor = ((1 - _B2) / (1 - _B2**self.t)) ** 0.5
        even = np.float32(_EPS / factor)
        rate = np.float32(-self.learning_rate * (1 - _B1) / (1 - _B1**self.t) / factor)
        for start in range(0, len(self.weights), _CHUNK):
            part = slice(start, start + _CHUNK)
            g, w, m, v = self.gradient[part], self.weights[part], self.mean[part], self.square[part]
            room = self._room[: len(g)]
            if self.weight_decay:
                np.multiply(w, np.float32(self.weight_decay), out=room)
                g += room
            m *= np.float32(_B1)
            m += g
            np.multiply(g, g, out=room)
            v *= np.float32(_B2)
            v += room
            np.sqrt(v, out=room)
            room += even
            np.divide(m, room, out=room)
            room *= rate
            w += room

"""Adam (Kingma and Ba, 2015) on one flat vector of weights.

    m <- b1 m + (1 - b1) g,    v <- b2 v + (1 - b2) g^2
    w <- w - lr * m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps)

Written out because torch's own brings its compiler along: more than a second and a hundred megabytes
before the first step, which is longer than most trainings here take.
"""

from __future__ import annotations

import torch
from torch import Tensor

_B1, _B2, _EPS = 0.9, 0.999, 1e-8


class Adam:
    """Updates `weights` in place from `gradient`."""

    def __init__(
        self, weights: Tensor, gradient: Tensor, learning_rate: float, weight_decay: float
    ) -> None:
        self.weights, self.gradient = weights, gradient
        self.learning_rate, self.weight_decay = learning_rate, weight_decay
        self.mean = torch.zeros_like(weights)  # m
        self.square = torch.zeros_like(weights)  # v
        self.room = torch.empty_like(weights)
        self.t = 0

    def step(self) -> None:
        """One update."""
        self.t += 1
        g = self.gradient
        if self.weight_decay:
            g.add_(self.weights, alpha=self.weight_decay)
        self.mean.lerp_(g, 1 - _B1)
        self.square.mul_(_B2).addcmul_(g, g, value=1 - _B2)
        even = (1 - _B2**self.t) ** 0.5  # sqrt(v / (1 - b2^t)) + eps, up to the factor `even`
        torch.sqrt(self.square, out=self.room).add_(_EPS * even)
        self.weights.addcdiv_(
            self.mean, self.room, value=-self.learning_rate * even / (1 - _B1**self.t)
        )

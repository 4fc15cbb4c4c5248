"""Both networks' weights in one flat vector, so that one step of Adam updates them together."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from unruly.training.attention import AttentionWeights
from unruly.training.classifier import ClassifierWeights


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

    flat: Tensor
    attention: AttentionWeights
    classifier: ClassifierWeights

    @classmethod
    def view(cls, flat: Tensor, shape: Shape) -> Networks:
        """Name the parts of a flat vector; nothing is copied."""
        sizes = shape.sizes()
        parts = torch.split(flat, [torch.Size(size).numel() for size in sizes])
        w1a, w2a, w1, b1, w2, b2, votes = (
            part.view(size) for part, size in zip(parts, sizes, strict=True)
        )
        return cls(flat, AttentionWeights(w1a, w2a, votes), ClassifierWeights(w1, b1, w2, b2))

    @classmethod
    def start(cls, shape: Shape, seed: int, device: torch.device) -> Networks:
        """Random weights, uniform in ±1/sqrt(inputs); biases and vote vectors at zero.

        The random numbers do not depend on the sources.
        """
        generator = torch.Generator().manual_seed(seed)
        flat = torch.zeros(sum(torch.Size(size).numel() for size in shape.sizes()))
        networks = cls.view(flat, shape)
        for weights, inputs in (
            (networks.attention.w1, shape.d),
            (networks.attention.w2, shape.h),
            (networks.classifier.w1, shape.d),
            (networks.classifier.w2, shape.h),
        ):
            bound = max(inputs, 1) ** -0.5
            weights.uniform_(-bound, bound, generator=generator)
        return cls.view(flat.to(device), shape)

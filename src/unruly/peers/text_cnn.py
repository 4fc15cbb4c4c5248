"""The convolutional network of Kim (2014) over word vectors that stay as they are."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

WIDTHS = (2, 3, 4, 5)


class TextCNN(nn.Module):
    """Filters of several widths, the maximum of each over the text, a hidden layer, class scores."""

    def __init__(
        self,
        vectors: Tensor,
        classes: int,
        *,
        maps: int = 20,
        hidden: int = 20,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        size = vectors.shape[1]
        self.register_buffer("vectors", vectors)  # (V, p), not trained
        self.filters = nn.ParameterList(_glorot((maps, size, w), generator) for w in WIDTHS)
        self.offsets = nn.ParameterList(torch.zeros(maps) for _ in WIDTHS)
        self.w1 = _glorot((hidden, maps * len(WIDTHS)), generator)
        self.b1 = nn.Parameter(torch.zeros(hidden))
        self.w2 = _glorot((classes, hidden), generator)
        self.b2 = nn.Parameter(torch.zeros(classes))

    def forward(self, ids: Tensor) -> Tensor:
        """(n, length) token numbers -> (n, m) scores."""
        vectors = self.get_buffer("vectors")
        x = vectors[ids].transpose(1, 2)  # (n, p, length)
        x = F.pad(x, (0, max(0, max(WIDTHS) - x.shape[2])))
        found = [
            F.conv1d(x, w, b).amax(dim=2).relu()  # (n, maps)
            for w, b in zip(self.filters, self.offsets, strict=True)
        ]
        h = F.linear(torch.cat(found, dim=1), self.w1, self.b1).relu()  # (n, hidden)
        return F.linear(h, self.w2, self.b2)  # (n, m)


def _glorot(shape: tuple[int, ...], generator: torch.Generator) -> nn.Parameter:
    """Uniform, its width by the number of inputs and outputs (Glorot and Bengio, 2010)."""
    around = int(torch.tensor(shape[2:]).prod()) if len(shape) > 2 else 1
    bound = (6 / ((shape[0] + shape[1]) * around)) ** 0.5
    return nn.Parameter((torch.rand(shape, generator=generator) * 2 - 1) * bound)

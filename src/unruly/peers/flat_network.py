"""Small networks whose weights lie in one flat vector, so that one step of Adam updates all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unruly.training.adam import Adam

Shape = tuple[int, ...]


class FlatNetwork:
    """Weights of given shapes: matrices start uniform in ±1/sqrt(inputs), vectors at zero.

    >>> network = FlatNetwork([(2, 3), (3,)], seed=0, learning_rate=0.1)
    >>> def squares(parts: list[Tensor]) -> Tensor:
    ...     return (parts[0] ** 2).sum()
    >>> before = squares(network.parts())
    >>> network.step(squares)
    >>> bool(squares(network.parts()) < before)
    True
    """

    def __init__(
        self,
        shapes: Sequence[Shape],
        seed: int,
        learning_rate: float,
        weight_decay: float = 0.0,
    ) -> None:
        self.shapes = list(shapes)
        self.sizes = [int(np.prod(shape)) for shape in shapes]
        self.flat = torch.zeros(sum(self.sizes))
        generator = torch.Generator().manual_seed(seed)
        for part in self.parts():
            if part.ndim > 1:
                bound = max(part.shape[-2], 1) ** -0.5
                part.uniform_(-bound, bound, generator=generator)
        self.gradient = torch.zeros_like(self.flat)
        self.adam = Adam(self.flat, self.gradient, learning_rate, weight_decay)

    @property
    def parameters(self) -> int:
        """How many weights."""
        return len(self.flat)

    def parts(self) -> list[Tensor]:
        """The weights by their shapes; views of the flat vector."""
        return self._shaped(self.flat)

    def step(self, loss: Callable[[list[Tensor]], Tensor]) -> None:
        """One step of Adam down the slope of a loss of the parts."""
        with torch.enable_grad():
            leaf = self.flat.detach().requires_grad_()
            (slope,) = torch.autograd.grad(loss(self._shaped(leaf)), leaf)
        self.gradient.copy_(slope)
        self.adam.step()

    def _shaped(self, flat: Tensor) -> list[Tensor]:
        parts = torch.split(flat, self.sizes)
        return [part.view(shape) for part, shape in zip(parts, self.shapes, strict=True)]


def batches(
    rows: NDArray[np.intp], size: int, rng: np.random.Generator
) -> Iterator[NDArray[np.intp]]:
    """The rows in a random order, `size` at a time.

    >>> sorted(len(b) for b in batches(np.arange(5), 2, np.random.default_rng(0)))
    [1, 2, 2]
    """
    shuffled = rng.permutation(rows)
    for start in range(0, len(shuffled), size):
        yield shuffled[start : start + size]

"""What the neural peers share: flat networks, Adam, and the epoch that is kept.

The weights of a small network lie in one flat vector, so that one step of Adam (Kingma and Ba, 2015)
updates all of them:

    m <- b1 m + (1 - b1) g,    v <- b2 v + (1 - b2) g^2
    w <- w - lr * m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unruly.errors import InputError
from unruly.learner import Gold, check_labels
from unruly.ledger import GoldUse, Use
from unruly_lab.peers.systems import Documents, Proba

Shape = tuple[int, ...]
_B1, _B2, _EPS = 0.9, 0.999, 1e-8


@contextmanager
def computing() -> Iterator[None]:
    """One thread and no gradients unless asked for; whatever torch was set to is put back.

    >>> before = torch.get_num_threads()
    >>> with computing():
    ...     torch.get_num_threads(), torch.is_grad_enabled()
    (1, False)
    >>> torch.get_num_threads() == before
    True
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_num_threads(threads)


class FlatNetwork:
    """Weights of given shapes: matrices start uniform in ±1/sqrt(inputs), vectors at zero.

    >>> generator = torch.Generator().manual_seed(0)
    >>> network = FlatNetwork([(2, 3), (3,)], generator, learning_rate=0.1)
    >>> def squares(parts: list[Tensor]) -> Tensor:
    ...     return (parts[0] ** 2).sum()
    >>> before = squares(network.parts())
    >>> network.step(squares) == float(before)
    True
    >>> bool(squares(network.parts()) < before)
    True
    """

    def __init__(
        self,
        shapes: Sequence[Shape],
        generator: torch.Generator,
        learning_rate: float,
        weight_decay: float = 0.0,
    ) -> None:
        self.shapes = list(shapes)
        self.sizes = [int(np.prod(shape)) for shape in shapes]
        self.flat = torch.zeros(sum(self.sizes))
        for part in self.parts():
            if part.ndim > 1:
                bound = max(part.shape[-2], 1) ** -0.5
                part.uniform_(-bound, bound, generator=generator)
        self.learning_rate, self.weight_decay = learning_rate, weight_decay
        self.mean = torch.zeros_like(self.flat)  # m
        self.square = torch.zeros_like(self.flat)  # v
        self.t = 0

    @property
    def parameters(self) -> int:
        """How many weights."""
        return len(self.flat)

    def parts(self, flat: Tensor | None = None) -> list[Tensor]:
        """The weights by their shapes, views of the flat vector; or another vector's parts."""
        pieces = torch.split(self.flat if flat is None else flat, self.sizes)
        return [piece.view(shape) for piece, shape in zip(pieces, self.shapes, strict=True)]

    def step(self, loss: Callable[[list[Tensor]], Tensor]) -> float:
        """One step of Adam down the gradient of a loss of the parts; the loss before it."""
        with torch.enable_grad():
            leaf = self.flat.detach().requires_grad_()
            value = loss(self.parts(leaf))
            (gradient,) = torch.autograd.grad(value, leaf)
        self.t += 1
        g = gradient + self.weight_decay * self.flat
        self.mean.lerp_(g, 1 - _B1)
        self.square.mul_(_B2).addcmul_(g, g, value=1 - _B2)
        even = (1 - _B2**self.t) ** 0.5  # sqrt(v / (1 - b2^t)) + eps, up to the factor `even`
        self.flat.addcdiv_(
            self.mean,
            self.square.sqrt().add_(_EPS * even),
            value=-self.learning_rate * even / (1 - _B1**self.t),
        )
        return float(value.detach())


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


class BestEpoch:
    """Keeps the weights of the epoch that is right most often on validation documents with true labels.

    Without such documents it keeps nothing, and the last epoch stands. Of equal epochs the first is kept.
    """

    def __init__(self, valid: tuple[Documents, Gold] | None) -> None:
        self.valid: tuple[Documents, Gold] | None = None
        self.epoch, self.score = 0, -1.0
        self.weights: dict[str, Tensor] = {}
        if valid is not None:
            documents, labels = valid
            gold = check_labels(labels, documents.n, documents.votes.m, "validation labels")
            known = np.flatnonzero(gold >= 0)
            if not len(known):
                raise InputError(
                    "none of the validation documents has a true label: label some, or validate without"
                )
            self.valid = (documents.take(known), gold[known])

    @property
    def gold_used(self) -> tuple[GoldUse, ...]:
        """What it costs in true labels."""
        if self.valid is None:
            return ()
        return (GoldUse(Use.SELECTION, self.valid[0].n, "validation documents"),)

    def offer(
        self, epoch: int, predict: Callable[[Documents], Proba], weights: Mapping[str, Tensor]
    ) -> str:
        """Keep these weights if none were better; how good they are, for a progress bar."""
        if self.valid is None:
            return ""
        documents, gold = self.valid
        score = float((predict(documents).argmax(axis=1) == gold).mean())
        if score > self.score:
            self.epoch, self.score = epoch, score
            self.weights = {name: weight.clone() for name, weight in weights.items()}
        return f"valid {score:.3f}"

    def restore(self, weights: Mapping[str, Tensor]) -> None:
        """Write the best weights back in place, where there was anything to choose by."""
        for name, kept in self.weights.items():
            weights[name].copy_(kept)

"""What an encoder is, and the features that it gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.progress import SILENT, Progress
from unruly.texts.corpus import Corpus

State = Mapping[str, Any]  # what an encoder is saved as: plain JSON values, and arrays


class Encoder(Protocol):
    """Turns texts into frozen features. Fitted once (a no-op for pre-trained ones), then fixed.

    A user's own encoder needs `fit` and `encode` alone: `features.custom` adds the rest.
    """

    @property
    def name(self) -> str:
        """Short and human: 'lsa', 'minilm layer 4+6'."""

    @property
    def kind(self) -> str:
        """The name under which it is saved: 'lsa', or 'module:Class' for a user's own."""

    @property
    def identity(self) -> str | None:
        """A digest of everything that the features depend on but the text, for the cache; None: never cached."""

    @property
    def plan(self) -> str | None:
        """What decides a fit beside the texts, for the cache; None: nothing is learnt, or nobody knows."""

    @property
    def width(self) -> int:
        """How many numbers a text becomes."""

    @property
    def pieces(self) -> tuple[tuple[str, int], ...]:
        """Name and width of each block that the features fall into, such as one a hidden layer."""

    @property
    def aligned(self) -> bool:
        """Whether its rows belong to certain documents in their order, whatever their texts are."""

    def views(self, corpus: Corpus) -> tuple[str, ...]:
        """What it reads of these documents (`features.views`)."""

    def fit(self, texts: Sequence[str], progress: Progress = SILENT) -> Self:
        """Learn from the user's own texts; returns the fitted encoder."""

    def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> NDArray[np.float32]:
        """(n texts, width). The same text gives the same bits, whatever stands beside it."""

    def state(self) -> State:
        """All that it needs to be made again."""


@dataclass(frozen=True, eq=False)
class Block:
    """The features of one encoder (or of one view of a relation's text)."""

    name: str
    values: NDArray[np.float32]  # (n, d)
    encoder: str = ""  # blocks of one encoder (its layers, or what it reads) share one weight


@dataclass(frozen=True, eq=False)
class Features:
    """The features of n documents, one block for each encoder."""

    blocks: tuple[Block, ...]
    keys: NDArray[np.uint64] | None = None  # (n,): digests of the texts; None: there are none

    def __post_init__(self) -> None:
        if not self.blocks:
            raise InputError("features need at least one block")
        rows = {len(block.values) for block in self.blocks}
        if len(rows) > 1:
            sizes = ", ".join(f"{block.name}: {len(block.values)}" for block in self.blocks)
            raise InputError(f"feature blocks differ in their number of rows ({sizes})")

    @classmethod
    def from_array(cls, array: NDArray[np.float32], name: str = "features") -> Features:
        """One block from an (n, d) array; NaN and infinity are refused."""
        values = np.asarray(array, dtype=np.float32)
        if values.ndim != 2:
            raise InputError(
                f"{name} must be a matrix of documents × numbers, not {values.ndim}-dimensional"
            )
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
            raise InputError(f"{name}, row {row}: a feature is NaN or infinite")
        return cls((Block(name, values),))

    @property
    def n(self) -> int:
        """How many documents."""
        return len(self.blocks[0].values)

    @property
    def width(self) -> int:
        """How many numbers for each document, all blocks together."""
        return sum(block.values.shape[1] for block in self.blocks)

    def matrix(self) -> NDArray[np.float32]:
        """(n, width): the blocks side by side."""
        if len(self.blocks) == 1:
            return self.blocks[0].values
        return np.concatenate([block.values for block in self.blocks], axis=1)

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Features:
        """Some of the documents only."""
        return Features(
            tuple(Block(block.name, block.values[rows], block.encoder) for block in self.blocks),
            None if self.keys is None else self.keys[rows],
        )

    @property
    def weights(self) -> tuple[float, ...]:
        """How much each block counts where opinions are averaged: every encoder the same; sums to 1.

        >>> x = np.zeros((1, 2), np.float32)
        >>> Features((Block("a4", x, "a"), Block("a6", x, "a"), Block("b", x))).weights
        (0.25, 0.25, 0.5)
        """
        owners = self.owners
        return tuple(1 / (len(set(owners)) * owners.count(owner)) for owner in owners)

    @property
    def owners(self) -> tuple[str, ...]:
        """The encoder that each block is of."""
        return tuple(block.encoder or block.name for block in self.blocks)

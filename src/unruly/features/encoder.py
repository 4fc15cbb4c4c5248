"""What an encoder is, and the features that it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.progress import SILENT, Progress


class Encoder(Protocol):
    """Turns texts into frozen features. Fitted once (a no-op for pre-trained ones), then fixed."""

    @property
    def name(self) -> str:
        """Short and human: 'lsa', 'minilm layer 4+6'."""

    @property
    def identity(self) -> str:
        """A digest of everything that the features depend on but the text: the cache's key."""

    @property
    def width(self) -> int:
        """How many numbers a text becomes."""

    def fit(self, texts: Sequence[str], progress: Progress = SILENT) -> Self:
        """Learn from the user's own texts; returns the fitted encoder."""

    def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> NDArray[np.float32]:
        """(n texts, width). The same text gives the same bits, whatever stands beside it."""

    def save(self, folder: Path) -> None:
        """Write what `load` needs into an empty folder: JSON and safetensors only."""


@dataclass(frozen=True, eq=False)
class Block:
    """The features of one encoder (or of one view of a relation's text)."""

    name: str
    values: NDArray[np.float32]  # (n, d)
    encoder: str = ""  # blocks of one encoder (its layers, or what it reads) share one say


@dataclass(frozen=True, eq=False)
class HeldWords:
    """Which of the words that rules read each of n texts holds."""

    words: tuple[str, ...]
    holds: Any  # (n, w), sparse: 1 where a text holds a word


@dataclass(frozen=True, eq=False)
class Features:
    """The features of n documents, one block for each encoder."""

    blocks: tuple[Block, ...]
    held: HeldWords | None = None  # None: no such words are known

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
        held = self.held
        return Features(
            tuple(Block(block.name, block.values[rows], block.encoder) for block in self.blocks),
            HeldWords(held.words, held.holds[rows]) if held is not None else None,
        )

    @property
    def says(self) -> tuple[float, ...]:
        """How much each block counts where opinions are averaged: every encoder the same; sums to 1.

        >>> x = np.zeros((1, 2), np.float32)
        >>> Features((Block("a4", x, "a"), Block("a6", x, "a"), Block("b", x))).says
        (0.25, 0.25, 0.5)
        """
        owners = self.owners
        return tuple(1 / (len(set(owners)) * owners.count(owner)) for owner in owners)

    @property
    def owners(self) -> tuple[str, ...]:
        """The encoder that each block is of."""
        return tuple(block.encoder or block.name for block in self.blocks)

"""Counting votes: by document, by source and by class, in blocks of bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.votes.votes import ABSTAIN, Votes

BLOCK_CELLS = 1 << 21  # cells of the matrix looked at together
FEW_CLASSES = 12  # up to here a pass over the block for each class is the faster way


@dataclass(frozen=True, eq=False)
class Tally:
    """The counts of one block of documents, b of them."""

    rows: slice  # which documents
    block: NDArray[np.int8]  # (b, k): their votes
    counts: NDArray[np.int64]  # (b, m): how many sources voted for each class
    by_source: NDArray[
        np.int64
    ]  # (k, m): how many of the block's votes each source cast for each class

    @property
    def winner(self) -> NDArray[np.intp]:
        """(b,): the class with most votes, the first of them in a tie."""
        return np.asarray(self.counts.argmax(axis=1))

    @property
    def leaders(self) -> NDArray[np.intp]:
        """(b,): how many classes share the most votes; meaningless where nobody voted."""
        return np.asarray((self.counts == self.counts.max(axis=1, keepdims=True)).sum(axis=1))


def tallies(votes: Votes, block_cells: int = BLOCK_CELLS) -> Iterator[Tally]:
    """Block after block of documents."""
    step = max(1, block_cells // max(1, votes.k, votes.m))
    count = _by_passes if votes.m <= FEW_CLASSES else _by_cells
    for start in range(0, votes.n, step):
        block = votes.matrix[start : start + step]
        counts, by_source = count(block, votes.m)
        yield Tally(slice(start, start + len(block)), block, counts, by_source)


def sums(cells: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(b,) and (k,): the true cells of each row and of each column.

    As products with ones, which is several times faster than `sum`; a block is far too small for
    float32 to miscount.
    """
    ones = cells.astype(np.float32)
    by_row = ones @ np.ones(cells.shape[1], dtype=np.float32)
    by_column = np.ones(cells.shape[0], dtype=np.float32) @ ones
    return by_row.astype(np.int64), by_column.astype(np.int64)


def _by_passes(block: NDArray[np.int8], m: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    counts = np.empty((block.shape[0], m), dtype=np.int64)
    by_source = np.empty((block.shape[1], m), dtype=np.int64)
    for r in range(m):
        counts[:, r], by_source[:, r] = sums(block == r)
    return counts, by_source


def _by_cells(block: NDArray[np.int8], m: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    size, k = block.shape
    cell = np.flatnonzero(block.ravel() != ABSTAIN)
    row, source = np.divmod(cell, max(1, k))
    label = block.ravel()[cell].astype(np.int64)
    counts = np.bincount(row * m + label, minlength=size * m).reshape(size, m)
    by_source = np.bincount(source * m + label, minlength=k * m).reshape(k, m)
    return counts, by_source

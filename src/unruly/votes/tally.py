"""Counting votes: by document, by source and by class, in blocks of bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.votes.votes import ABSTAIN, Votes

BLOCK_CELLS = 1 << 21  # cells of the matrix looked at together
_DIGITS = 9  # so that thirds of votes that add up to one vote tie with it
FEW_CLASSES = 12  # up to here a pass over the block for each class is the faster way


@dataclass(frozen=True, eq=False)
class Tally:
    """The counts of one block of documents, b of them."""

    rows: slice  # which documents
    block: NDArray[np.int8]  # (b, k): their votes
    counts: NDArray[np.float64]  # (b, m): votes for each class, a partial one in equal parts
    named: NDArray[np.int64]  # (b, m): votes that name each class, alone or among others
    by_source: NDArray[np.int64]  # (k, m): the same of each source, over the block
    cast: NDArray[np.int64]  # (b,): how many sources voted

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
        rows = slice(start, start + len(block))
        tally = Tally(rows, block, counts.astype(np.float64), counts, by_source, counts.sum(axis=1))
        yield _with_sets(tally, votes) if votes.sets else tally


def _with_sets(tally: Tally, votes: Votes) -> Tally:
    """The same, where partial votes count for all their classes instead of the first."""
    counts, named, by_source = tally.counts.copy(), tally.named.copy(), tally.by_source.copy()
    for j, all_sets in votes.sets.items():
        sets = all_sets[tally.rows]
        rows = np.flatnonzero(sets.any(axis=1))
        some = sets[rows]  # (p, m)
        first = tally.block[rows, j].astype(np.intp)
        counts[rows] += some / np.maximum(some.sum(axis=1, keepdims=True), 1)
        counts[rows, first] -= 1
        named[rows] += some
        named[rows, first] -= 1
        by_source[j] += some.sum(axis=0) - np.bincount(first, minlength=votes.m)
    return Tally(tally.rows, tally.block, counts.round(_DIGITS), named, by_source, tally.cast)


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

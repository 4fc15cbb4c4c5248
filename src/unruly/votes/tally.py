"""Counting votes: by document, by source and by class, in blocks of bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.votes.votes import ABSTAIN, Votes

BLOCK_CELLS = 1 << 22  # cells of the matrix looked at together


@dataclass(frozen=True, eq=False)
class Tally:
    """The counts of one block of documents, b of them."""

    rows: slice  # which documents
    source: NDArray[np.intp]  # (votes,): who cast each vote
    row: NDArray[np.intp]  # (votes,): on which document of the block
    label: NDArray[np.intp]  # (votes,): for which class
    counts: NDArray[np.intp]  # (b, m): how many sources voted for each class

    @property
    def winner(self) -> NDArray[np.intp]:
        """(b,): the class with most votes, the first of them in a tie."""
        return np.asarray(self.counts.argmax(axis=1))

    @property
    def leaders(self) -> NDArray[np.intp]:
        """(b,): how many classes share the most votes; meaningless where nobody voted."""
        return np.asarray((self.counts == self.counts.max(axis=1, keepdims=True)).sum(axis=1))


def tallies(votes: Votes, block_cells: int = BLOCK_CELLS) -> Iterator[Tally]:
    """Block after block of documents; the work is proportional to the votes cast."""
    n, k, m = votes.n, votes.k, votes.m
    step = max(1, block_cells // max(1, k, m))
    for start in range(0, n, step):
        block = votes.matrix[start : start + step].ravel()
        cell = np.flatnonzero(block != ABSTAIN)
        row, source = np.divmod(cell, k) if k else (cell, cell)
        label = block[cell].astype(np.intp)
        size = min(step, n - start)
        counts = np.bincount(row * m + label, minlength=size * m).reshape(size, m)
        yield Tally(slice(start, start + size), source, row, label, counts)

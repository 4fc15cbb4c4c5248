"""Majority vote: the votes for each class, which classes lead, and where votes conflict; counted in this file alone.

A partial vote ("one of these classes") counts in equal parts for its classes, and conflicts with another only where the
two have no class in common. A soft vote counts for its likeliest class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.texts.columns import UNKNOWN
from unruly.votes.votes import ABSTAIN, DIGITS, Votes

BLOCK_CELLS = 1 << 21  # cells of the matrix looked at together
FEW_CLASSES = 12  # up to these, a pass over the block for each class is faster


@dataclass(frozen=True, eq=False)
class Tally:
    """The counts of one block of documents, b of them."""

    rows: slice  # which documents
    block: NDArray[np.int8]  # (b, k): their votes
    counts: NDArray[np.float64]  # (b, m): votes for each class, a partial one in equal parts
    named: NDArray[np.int64]  # (b, m): votes that name each class, alone or among others
    by_source: NDArray[np.int64]  # (k, m): votes of each source that name each class
    cast: NDArray[np.int64]  # (b,): how many sources voted

    @property
    def conflict(self) -> NDArray[np.bool_]:
        """(b,): whether there is no class that all votes allow."""
        return np.asarray(self.named.max(axis=1) < self.cast)

    @property
    def shares(self) -> NDArray[np.float64]:
        """(b, m): 1 for the class with most votes, in equal parts where several tie, 0 where nobody voted."""
        leads = leading(self.counts)
        return np.asarray(leads / np.maximum(leads.sum(axis=1, keepdims=True), 1))


def tallies(votes: Votes, block_cells: int = BLOCK_CELLS) -> Iterator[Tally]:
    """Block after block of documents."""
    step = max(1, block_cells // max(votes.k, votes.m))
    count = _by_passes if votes.m <= FEW_CLASSES else _by_cells
    for start in range(0, votes.n, step):
        block = votes.matrix[start : start + step]
        counts, by_source = count(block, votes.m)
        rows = slice(start, start + len(block))
        tally = Tally(rows, block, counts.astype(np.float64), counts, by_source, counts.sum(axis=1))
        yield _with_sets(tally, votes) if votes.sets else tally


def _with_sets(tally: Tally, votes: Votes) -> Tally:
    """The tally with partial votes counted for all their classes instead of the first."""
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
    return Tally(tally.rows, tally.block, counts.round(DIGITS), named, by_source, tally.cast)


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


def vote_counts(votes: Votes) -> NDArray[np.float64]:
    """(n, m): how many sources voted for each class; a partial vote counts in equal parts."""
    counts = np.zeros((votes.n, votes.m))
    for tally in tallies(votes):
        counts[tally.rows] = tally.counts
    return counts


def conflicts(votes: Votes) -> NDArray[np.bool_]:
    """(n,): documents whose votes allow no class in common.

    >>> conflicts(Votes.from_array([[0, 1], [1, 1], [-1, -1]])).tolist()
    [True, False, False]
    """
    found = np.zeros(votes.n, np.bool_)
    for tally in tallies(votes):
        found[tally.rows] = tally.conflict
    return found


def leading(counts: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(n, m): the classes with most votes, several in a tie; none where nobody voted."""
    most = counts.max(axis=1, keepdims=True)
    return np.asarray((counts == most) & (most > 0))


def winners(counts: NDArray[np.float64]) -> NDArray[np.int64]:
    """(n,): the class with most votes, -1 where there is none or several tie.

    >>> winners(np.array([[2, 1], [1, 1], [0, 0]])).tolist()
    [0, -1, -1]
    """
    best, found = counts[:, 0].copy(), np.zeros(len(counts), np.int64)
    tied = best == 0
    for number in range(1, counts.shape[1]):  # numpy is slow along an axis as short as this
        more = counts[:, number] > best
        tied = np.where(more, False, tied | (counts[:, number] == best))
        found[more] = number
        best = np.maximum(best, counts[:, number])
    found[tied] = UNKNOWN
    return found


def majority_shares(votes: Votes, commonest: int = 0) -> NDArray[np.float64]:
    """(n, m): 1 for the class with most votes, shared out where several tie.

    Scoring the shares gives the expected figure of breaking ties by chance. Documents without votes
    get the class `commonest`.

    >>> majority_shares(Votes.from_array([[0, 1], [1, 1], [-1, -1]]), commonest=1)
    array([[0.5, 0.5],
           [0. , 1. ],
           [0. , 1. ]])
    """
    shares = np.empty((votes.n, votes.m))
    for tally in tallies(votes):
        shares[tally.rows] = tally.shares
    shares[~votes.covered] = np.eye(votes.m)[commonest]
    return shares


def majority_classes(votes: Votes) -> tuple[str, ...]:
    """The classes with most votes on the first document; none without votes."""
    return tuple(votes.classes[r] for r in np.flatnonzero(leading(votes.counts())[0]))

"""How often two votes meet on a document: all that matrix completion needs to know of the votes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unruly.labelmodels.ballots import Ballots

CELLS = (
    1000  # cells of the dense count that are done while the sparse product does one pair of votes
)


def overlaps(ballots: Ballots) -> NDArray[np.float64]:
    """(k*m, k*m): O, the share of documents on which source j says c and source j' says c'.

    >>> from unruly.votes.votes import Votes
    >>> overlaps(Ballots.of(Votes.from_array([[0, 1], [0, -1]]))).tolist()
    [[1.0, 0.0, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.5]]
    """
    ones = bool((ballots.counts == 1).all() and (ballots.onehot.data == 1).all())
    meetings = float((np.diff(ballots.onehot.indptr).astype(np.float64) ** 2).sum())
    cells = float(len(ballots.counts)) * ballots.onehot.shape[1] ** 2
    if ones and meetings * CELLS > cells:
        return _by_bits(ballots) / ballots.n
    return _by_pairs(ballots) / ballots.n


def _by_pairs(ballots: Ballots) -> NDArray[np.float64]:
    """X' diag(counts) X as a sparse product: one step for each pair of votes that meet."""
    weighted = ballots.onehot.multiply(ballots.counts[:, None]).tocsr()
    return np.asarray((ballots.onehot.T @ weighted).toarray(), dtype=np.float64)


def _by_bits(ballots: Ballots) -> NDArray[np.float64]:
    """X' X for single, hard votes: a bit for each document, 64 documents a step."""
    bits = _bits(ballots)  # (k*m, words)
    wide = len(bits)
    total = np.zeros((wide, wide))
    for a in range(wide):
        both = np.bitwise_count(bits[a] & bits[a:])  # (k*m - a, words), uint8
        total[a, a:] = total[a:, a] = both.sum(axis=1, dtype=np.uint32)
    return total


def _bits(ballots: Ballots) -> NDArray[np.uint64]:
    """(k*m, words): which documents have each vote, as bits."""
    by_vote = ballots.onehot.tocsc()
    u, wide = by_vote.shape
    packed = np.zeros((wide, -(-u // 64) * 8), dtype=np.uint8)
    for a in range(wide):
        has = np.zeros(u, dtype=np.bool_)
        has[by_vote.indices[by_vote.indptr[a] : by_vote.indptr[a + 1]]] = True
        line = np.packbits(has)
        packed[a, : len(line)] = line
    return packed.view(np.uint64)

"""Equation 1: the attention network, and the conditional and global reliability of sources.

    q^_ij = W2^T tanh(W1 (y_ij + B_i)),     q_ij = exp(q^_ij) / sum_j exp(q^_ij)
    a_ij = q_ij [y_ij >= 0],                a_j = 1/n sum_i a_ij

B_i is the document's feature vector, d numbers. y_ij is a vote: adding its class number to a vector
would treat classes as quantities, so y_ij is a learned vector for each pair (source, outcome), where an
outcome is a class or silence. (If it depended on the outcome alone, two sources that vote alike on a
document could never differ in reliability.) Since W1 (y_ij + B_i) = W1 B_i + W1 y_ij, the projected
vector W1 y_ij, h numbers, is what is learned: documents are projected once each, not once for each vote.
The vote vectors start at zero: before training all sources weigh the same, and the denoiser is majority
vote, which is also how the pseudo-labels start.

`attention="all"` is the softmax as printed, over all sources and masked afterwards: part of the mass
goes to sources that did not vote. `attention="voters"` runs it over the sources that voted, so that the
a_ij of a document sum to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unruly.statistics import Float32
from unruly.votes.sparse import SparseVotes

Whole = NDArray[np.intp]
_NUMBERS = 2**18  # of the hidden layer computed together: more would not fit the cache


def outcomes(
    matrix: NDArray[np.int8], m: int, attention: str, silent: NDArray[np.bool_]
) -> SparseVotes:
    """The cells (i, j) that the softmax runs over, as votes with m + 1 outcomes; the last is silence.

    With attention "voters" these are the votes cast. With "all" also the silences of documents that
    have a vote, for the sources of which `silent`, (k,), is true.

    >>> matrix = np.array([[0, -1], [-1, -1], [1, 1]], dtype=np.int8)
    >>> outcomes(matrix, 2, "voters", np.ones(2, bool)).outcome.tolist()
    [0, 1, 1]
    >>> outcomes(matrix, 2, "all", np.ones(2, bool)).outcome.tolist()
    [0, 2, 1, 1]
    """
    if attention == "all":
        voted = matrix >= 0
        quiet = ~voted & voted.any(axis=1, keepdims=True) & silent
        matrix = np.where(quiet, m, matrix).astype(np.int16)
    return SparseVotes.from_matrix(matrix, m + 1)


def cast(cells: SparseVotes) -> NDArray[np.bool_]:
    """(v,): whether each cell is a vote: the indicator [y_ij >= 0]."""
    return np.asarray(cells.outcome < cells.m - 1)


@dataclass(frozen=True, eq=False)
class Attention:
    """The network's weights, or their gradient."""

    w1: Float32  # (d, h): W1
    w2: Float32  # (h,): W2
    votes: Float32  # (c, h): W1 y for each pair (source, outcome) that occurs in training

    def scores(self, features: Float32, row: Whole, pair: Whole) -> tuple[Float32, Float32]:
        """q^ of each cell, (v,), and the hidden layer, (v, h).

        `features` are those of the cells' documents, (r, d); `pair` numbers the rows of `votes`.
        """
        projected = features @ self.w1  # (r, h)
        hidden = np.empty((len(row), len(self.w2)), dtype=np.float32)
        q = np.empty(len(row), dtype=np.float32)
        step = _NUMBERS // len(self.w2)  # votes; a layer has 65,536 units at most
        for start in range(0, len(row), step):
            part = slice(start, start + step)
            layer = hidden[part]  # (up to step, h)
            np.take(projected, row[part], axis=0, out=layer, mode="clip")
            layer += np.take(self.votes, pair[part], axis=0, mode="clip")
            np.tanh(layer, out=layer)
            np.dot(layer, self.w2, out=q[part])
        return q, hidden

    def backward(
        self,
        into: Attention,
        features: Float32,  # (r, d)
        by_row: Segments,
        by_pair: Segments,
        hidden: Float32,  # (v, h)
        slope: Float32,  # (v,): dl/dq^
    ) -> None:
        """Write the gradient of the weights: the chain rule through the two layers.

        dl/dW2 = sum_v slope_v hidden_v, and with g_v = slope_v W2 (1 - hidden_v^2), dl/d(W1 B_i) and
        dl/d(W1 y) are the sums of g_v over the cells of document i and over those of the pair.
        """
        np.dot(slope, hidden, out=into.w2)
        rest = np.multiply(hidden, hidden)
        np.subtract(1, rest, out=rest)  # (v, h): 1 - tanh^2
        np.multiply(by_pair.sums(slope, rest), self.w2, out=into.votes)
        projected = by_row.sums(slope, rest)  # (r, h)
        projected *= self.w2
        np.dot(features.T, projected, out=into.w1)


@dataclass(frozen=True, eq=False)
class Segments:
    """Groups of cells, for sums over each group."""

    group: Whole  # (v,): the group of each cell
    groups: int

    @cached_property
    def _matrix(self) -> tuple[csr_array, Whole]:
        order = np.argsort(self.group, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.group, minlength=self.groups))])
        shape = (self.groups, len(order))
        weights = np.ones(len(order), dtype=np.float32)
        return csr_array((weights, order.astype(np.int32), starts.astype(np.int32)), shape), order

    def sums(self, weights: Float32, values: Float32) -> Float32:
        """(groups, h): sum of weights_v values_v over the cells of each group."""
        matrix, order = self._matrix
        np.take(weights, order, out=matrix.data, mode="clip")
        return np.asarray(matrix @ values)


def softmax_by_row(scores: Float32, row: Whole) -> Float32:
    """(v,): q_ij of each cell; the cells of a row stand together, and sum to 1.

    >>> softmax_by_row(np.zeros(3, np.float32), np.array([0, 0, 1])).tolist()
    [0.5, 0.5, 1.0]
    """
    if not len(scores):
        return scores
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    sizes = np.diff(starts, append=len(scores))
    raised: Float32 = scores - np.repeat(np.maximum.reduceat(scores, starts), sizes)
    np.exp(raised, out=raised)
    raised /= np.repeat(np.add.reduceat(raised, starts), sizes)
    return raised


def sum_by_source(cells: SparseVotes, values: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """(k,): the sum of the values of each source's cells."""
    return np.bincount(cells.source, weights=values, minlength=cells.k).astype(np.float64)


def even_split(cells: SparseVotes) -> NDArray[np.float64]:
    """(k,): the attention that each source would get if every document split its own evenly."""
    votes = cast(cells)
    voters = np.bincount(cells.row, weights=votes, minlength=cells.n)
    return sum_by_source(cells, votes / np.maximum(voters[cells.row], 1))


def global_reliability(
    received: NDArray[np.float64], even: NDArray[np.float64], kind: str
) -> NDArray[np.float64]:
    """(k,): A, summing to 1, from the attention received over D_L; 0 for a source that never voted.

    As printed ("per-document") a_j mixes how often a source votes with how much it is trusted.
    "per-vote" divides the attention that it received by what an even split would have given it.

    >>> received, even = np.array([30.0, 2.0]), np.array([31.0, 1.0])
    >>> global_reliability(received, even, "per-document").round(2).tolist()
    [0.94, 0.06]
    >>> global_reliability(received, even, "per-vote").round(2).tolist()
    [0.33, 0.67]
    """
    if kind == "per-vote":
        received = np.divide(received, even, out=np.zeros_like(received), where=even > 0)
    total = received[received > 0].sum()  # the same sum with or without sources that never vote
    return received / total if total > 0 else received

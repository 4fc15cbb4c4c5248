"""Equation 2: pseudo-clean labels, the vote of the sources weighted by their global reliability.

    y^_i = argmax_r  sum_j a_j [y_ij = C_r]

A tie has no argmax. Which class is listed first must not decide (on some data it moves accuracy by
eleven points), so a tied document is shared evenly among the tied classes: what a fair coin would do
on average.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unruly.votes.sparse import SparseVotes

_TIE = 1e-9  # sums of reliabilities that differ by less are the same number


def pseudo_labels(reliability: NDArray[np.float64], votes: SparseVotes) -> NDArray[np.float32]:
    """(n, m): 1 at the label of each document, or shares of a tie; zeros where no source voted.

    >>> matrix = np.array([[0, 1, 1], [0, -1, 1], [-1, -1, -1]], dtype=np.int8)
    >>> votes = SparseVotes.from_matrix(matrix, 2)
    >>> pseudo_labels(np.array([0.6, 0.2, 0.2]), votes).tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    >>> pseudo_labels(np.array([0.4, 0.2, 0.4]), votes)[1].tolist()
    [0.5, 0.5]
    """
    n, m = votes.n, votes.m
    place = votes.row * m + votes.outcome
    weight = np.bincount(place, reliability[votes.source], minlength=n * m).reshape(n, m)
    best = weight.max(axis=1, keepdims=True)
    top = (weight >= best - _TIE) & votes.covered[:, None]
    return np.asarray(top / np.maximum(top.sum(axis=1, keepdims=True), 1), dtype=np.float32)


def majority_labels(votes: SparseVotes) -> NDArray[np.float32]:
    """(n, m): the first pseudo-labels, with all sources alike."""
    return pseudo_labels(np.ones(votes.k), votes)

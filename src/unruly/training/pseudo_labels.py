"""Equation 2: pseudo-clean labels, the vote of the sources weighted by their global reliability.

    y^_i = argmax_r  sum_j a_j [y_ij = C_r]

A tie has no argmax. Which class is listed first must not decide (on some data it moves accuracy by
eleven points), so a tied document is shared evenly among the tied classes: what a fair coin would do
on average.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unruly.training.cells import Cells

_TIE = 1e-9  # sums of reliabilities that differ by less are the same number


def pseudo_labels(reliability: NDArray[np.float64], cells: Cells) -> NDArray[np.float32]:
    """(n, m): 1 at the label of each document, or shares of a tie; zeros where no source voted.

    >>> cells = Cells.of(
    ...     np.array([[0, 1, 1], [0, -1, 1], [-1, -1, -1]], dtype=np.int8), 2, "voters"
    ... )
    >>> pseudo_labels(np.array([0.6, 0.2, 0.2]), cells).tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    >>> pseudo_labels(np.array([0.4, 0.2, 0.4]), cells)[1].tolist()
    [0.5, 0.5]
    """
    weight = cells.sum_by_class(reliability[cells.source] * cells.cast)  # (n, m)
    voted = np.bincount(cells.row, weights=cells.cast, minlength=cells.n) > 0
    best = weight.max(axis=1, keepdims=True)
    top = (weight >= best - _TIE) & voted[:, None]
    return np.asarray(top / np.maximum(top.sum(axis=1, keepdims=True), 1), dtype=np.float32)


def majority_vote(cells: Cells) -> NDArray[np.float32]:
    """(n, m): the first pseudo-labels, with all sources alike."""
    return pseudo_labels(np.ones(cells.k), cells)

"""Conditional and global reliability of sources (the rest of Eq. 1, and the two lines below it).

    q_ij = exp(q^_ij) / sum_j exp(q^_ij),     a_ij = q_ij [y_ij >= 0],     a_j = 1/n sum_i a_ij

The paper asks that the a_j sum to 1 and that a_ij be calculated "over matched annotators": that holds
when the softmax runs over the sources that voted (`attention="voters"`). Taken over all sources and
masked afterwards (`attention="all"`), mass leaks to sources that said nothing.

a_j as the paper has it mixes how often a source votes with how much it is believed. The other choice,
`reliability="per-vote"`, divides the attention that a source received by what an even split among
those who voted would have given it, and so speaks of each vote cast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unruly.training.cells import Cells

if TYPE_CHECKING:
    from torch import Tensor


def conditional(scores: NDArray[np.float32], cells: Cells) -> NDArray[np.float32]:
    """(v,): a_ij of each cell.

    >>> cells = Cells.of(np.array([[0, 1, -1]], dtype=np.int8), 2, "voters")
    >>> conditional(np.zeros(2, np.float32), cells).tolist()
    [0.5, 0.5]
    """
    if not len(scores):
        return np.zeros(0, dtype=np.float32)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(cells.row)) + 1])
    sizes = np.diff(np.append(starts, len(scores)))
    top = np.repeat(np.maximum.reduceat(scores, starts), sizes)
    raised = np.exp(scores - top)
    return np.asarray(raised / np.repeat(np.add.reduceat(raised, starts), sizes) * cells.cast)


def softmax_by_row(scores: Tensor, row: Tensor, rows: int) -> Tensor:
    """(v,): q_ij of each cell, in training; the cells of a row sum to 1."""
    top = scores.new_full((rows,), -float("inf")).scatter_reduce_(0, row, scores, "amax")
    raised = (scores - top.index_select(0, row)).exp_()
    total = scores.new_zeros(rows).index_add_(0, row, raised)
    return raised.div_(total.index_select(0, row))


def even_split(cells: Cells) -> NDArray[np.float64]:
    """(k,): the attention that each source would get if every document split its own evenly."""
    voters = np.bincount(cells.row, weights=cells.cast, minlength=cells.n)
    return cells.sum_by_source(cells.cast / np.maximum(voters[cells.row], 1))


def global_reliability(
    received: NDArray[np.float64], even: NDArray[np.float64], kind: str
) -> NDArray[np.float64]:
    """(k,): A, summing to 1, from the attention received over D_L; 0 for a source that never voted.

    >>> global_reliability(np.array([30.0, 2.0]), np.array([31.0, 1.0]), "per-document").round(
    ...     2
    ... ).tolist()
    [0.94, 0.06]
    >>> global_reliability(np.array([30.0, 2.0]), np.array([31.0, 1.0]), "per-vote").round(
    ...     2
    ... ).tolist()
    [0.33, 0.67]
    """
    if kind == "per-vote":
        received = np.divide(received, even, out=np.zeros_like(received), where=even > 0)
    total = received.sum()
    return received / total if total > 0 else received

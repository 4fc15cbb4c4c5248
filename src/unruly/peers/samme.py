"""The weights of multi-class boosting, for labellers instead of classifiers.

Zhu, Zou, Rosset and Hastie, Multi-class AdaBoost (SAMME), Statistics and its Interface 2009:

    alpha = ln((1 - e) / e) + ln(m - 1),      w_i <- w_i exp(alpha [i is wrong]) / sum

where e is the weighted share of mistakes among m classes. Chance makes (m - 1)/m mistakes and has alpha 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unruly.votes.votes import Votes

Real = NDArray[np.float64]


def boosting_weight(error: float | Real, m: int) -> Real:
    """alpha of an error rate, at least 0: a labeller no better than chance has no say.

    >>> boosting_weight(np.array([0.1, 0.5, 0.9]), m=2).round(3)
    array([2.197, 0.   , 0.   ])
    >>> float(boosting_weight(0.5, m=3).round(3))  # ln(1) + ln(2): better than chance among three
    0.693
    """
    e = np.asarray(error, np.float64)
    return np.asarray(np.maximum(np.log((1 - e) / e) + np.log(m - 1), 0), np.float64)


def reweighted(weights: Real, wrong: NDArray[np.bool_], alpha: float) -> Real:
    """(n,): the documents' weights after a round, those that came out wrong raised; they sum to 1.

    >>> reweighted(np.full(4, 0.25), np.array([True, False, False, False]), np.log(3)).round(3)
    array([0.5  , 0.167, 0.167, 0.167])
    """
    raised = weights * np.exp(alpha * wrong)
    return np.asarray(raised / raised.sum())


def source_errors(votes: Votes, answers: NDArray[np.int64], weights: Real) -> Real:
    """(k,): the weighted share of each source's votes that contradict the answers, (n,).

    Documents without an answer (-1) do not count. Two imagined votes are added to every source, wrong half
    as often as chance: none is thought perfect, and one that cannot be judged is thought useful, as
    boosting thinks of all weak learners.

    >>> votes = Votes.from_array([[0, 1], [0, 0], [0, 1], [0, -1]])
    >>> source_errors(votes, np.zeros(4, np.int64), np.full(4, 0.25)).round(3)
    array([0.083, 0.5  ])
    """
    one = weights.sum() / max(np.count_nonzero(weights), 1)  # the weight of an average document
    counts = votes.voted & (answers >= 0)[:, None]  # (n, k)
    wrong = counts & (votes.matrix != answers[:, None])
    imagined = (votes.m - 1) / votes.m / 2  # the error rate of the imagined votes
    return np.asarray((weights @ wrong + 2 * one * imagined) / (weights @ counts + 2 * one))

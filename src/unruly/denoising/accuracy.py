"""The accuracy of votes, estimated without true labels and without the votes themselves, with a 95 % interval.

    a_j = mean over the votes of source j of q^-j_i[vote],    q^-j = softmax(tau lp + ev - own evidence + b)

A source is compared with text and the other sources, never with its own vote. A partial vote is right
when any of its classes is. Some of a source's votes, as those on one word of its list, are judged in the same way. The
variance has four parts:

    sampling   of a Beta(a v' + 1, (1 - a) v' + 1), where v votes count as v' = v / (1 + rho (v - 1)): documents with the
               same words are right or wrong together (Kish's design effect), so that no number of them makes an
               estimate without labels exact
    encoders   from one encoder to another
    model      (estimate by the full posterior - a_j)^2: what its own vote would change
    balance    from the class balance to others that are about as likely (`Balance.alternatives`): the mean square of what
               the likeliest shifts +d and -d of b that move the estimate by a standard deviation do to it, found by trying
               them. With C the covariance of b and g the slope of a_j on b, d = C g / sqrt(g C g). Where the posteriors
               are all but certain the slope alone would say that the balance does not matter
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.denoising.balance import STATED_LABELS
from unruly.denoising.em import Posteriors
from unruly.statistics import (
    Z95,
    Float64,
    Share,
    effective_size,
    ratio,
    sample_rows,
    sampling_variance,
    softmax,
)
from unruly.votes.sparse import SparseVotes

FEW = 20  # the fewest votes of a source that is reported as weak
Credit = tuple[  # (e,) each: the vote, a class for which it is right, and how far
    NDArray[np.integer[Any]], NDArray[np.integer[Any]], NDArray[np.floating[Any]]
]
TRIED = 4_000  # documents on which other balances are tried
# rho, of the errors of two posteriors where one source votes, beside the other parts of the variance: 92 to 95 % of true
# accuracies lie inside; 0 to 0.08 were tried (lab/LOG.md, 2026-11-17).
_CORRELATION = 0.03


def source_accuracies(fitted: Posteriors, votes: SparseVotes, spread: Float64) -> tuple[Share, ...]:
    """The accuracy of each source, with its interval; a share of no documents for one that never voted."""
    return tuple(_of_source(fitted, votes, j, spread) for j in range(votes.k))


def other_shifts(fitted: Posteriors) -> Float64:
    """(2m, m): how b would move under other class shares: each class a standard deviation more, or less, common.

    The standard deviation is that of the balance (`Balance.alternatives`), around the mean posteriors; the move is one
    Newton step of `match_marginals` with the slack of a rough statement. It is small where text separates the classes.
    """
    q = fitted.q[sample_rows(len(fitted.q), TRIED)]
    mass = np.maximum(q.mean(axis=0), 1e-6)
    answered = replace(fitted.balance, shares=mass / mass.sum())
    apart = np.array(answered.alternatives()) - answered.shares  # (2m, m)
    curvature = np.diag(mass) - q.T @ q / len(q) + np.eye(len(mass)) / STATED_LABELS
    return np.asarray(np.linalg.solve(curvature, apart.T).T)


def balance_spread(shifts: Float64) -> Float64:
    """(m, m): the covariance of b that the balance leaves open, from `other_shifts`.

    The moves of the m classes are summed as if independent: an upper bound, for shares sum to 1.
    """
    return np.asarray(shifts.T @ shifts / 2)


def _of_source(fitted: Posteriors, votes: SparseVotes, j: int, spread: Float64) -> Share:
    tau, one = fitted.settings.tau, votes.of_source(j)
    rows = one.rows
    votes_by = fitted.ev[rows] + fitted.b  # (v, m)
    return vote_accuracy(
        scores=tau * fitted.lp[rows] + votes_by,
        own=one.looked_up(fitted.behaviour.log_likelihoods[j]),
        credit=(one.vote, one.outcome, one.credit),
        count=float(one.cast.sum()),
        spread=spread,
        by_encoder=[tau * lp[rows] + votes_by for lp in fitted.by_encoder],
    )


def vote_accuracy(
    scores: Float64,
    own: Float64,
    credit: Credit,
    count: float,
    spread: Float64,
    by_encoder: Sequence[Float64] = (),
) -> Share:
    """The accuracy of v votes of one source; of none, a share of no documents.

    `scores` (v, m) are those of text and all votes, tau lp + ev + b, of which `own` (v, m) is what these votes add.
    `credit` tells for which classes each vote is right, `count` how many votes they are. `spread` (m, m) is what the
    balance leaves open (`balance_spread`). `by_encoder` are the scores with one encoder each.

    >>> even, spam = np.zeros((30, 2)), (np.arange(30), np.ones(30, int), np.ones(30))
    >>> print(vote_accuracy(even, even, spam, 30, np.zeros((2, 2))))
    50.0% (27.5% to 72.5%)
    """
    v, m = scores.shape
    if not v or not count:
        return Share(float("nan"), 0.0, 1.0, 0)
    vote, outcome, right_by = credit

    def right(q: Float64) -> Float64:
        return np.asarray(q[vote, outcome] * right_by)  # (e,), of posteriors (v, m)

    def agreement(given: Float64) -> float:
        return float(right(softmax(given)).sum() / count)

    alone = scores - own  # (v, m)
    q = softmax(alone)
    correct = right(q)
    estimate = float(correct.sum() / count)
    moved = np.bincount(outcome, correct, m) - np.bincount(vote, correct, v) @ q  # (m,)
    slope = np.asarray(moved, np.float64) / count  # of the estimate on b
    towards = spread @ slope  # (m,)
    shift = ratio(towards, np.sqrt(np.maximum(slope @ towards, 0.0)), 0.0)
    balance = sum((agreement(alone + sign * shift) - estimate) ** 2 / 2 for sign in (1, -1))
    sampling = sampling_variance(estimate, effective_size(count, _CORRELATION))
    encoders = float(np.var([agreement(one - own) for one in by_encoder])) if by_encoder else 0.0
    model = (agreement(scores) - estimate) ** 2
    half = Z95 * (sampling + encoders + model + balance) ** 0.5
    return Share(estimate, max(estimate - half, 0.0), min(estimate + half, 1.0), count)

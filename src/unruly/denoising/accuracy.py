"""Each source's accuracy per vote cast, estimated without its own vote, with a 95 % interval.

    a_j = mean over the votes of source j of q^-j_i[vote],    q^-j = softmax(tau lp + ev - own evidence + b)

A source is compared with text and the other sources, never with its own vote. A partial vote is right
when any of its classes is. The variance has four parts:

    sampling   of a Beta(a v + 1, (1 - a) v + 1), v votes
    encoders   from one encoder to another
    model      (estimate by the full posterior - a_j)^2: what its own vote would change
    balance    from the class balance to others that are about as likely (`Balance.alternatives`)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unruly.denoising.balance import STATED_LABELS
from unruly.denoising.em import Posteriors
from unruly.denoising.marginals import match_marginals
from unruly.sampling import Z95, sample_rows
from unruly.softmax import softmax
from unruly.votes.sparse import SparseVotes

Real64 = NDArray[np.float64]
_MOST = 4_000  # documents on which other balances are tried


@dataclass(frozen=True, eq=False)
class Accuracies:
    """Of k sources; NaN for one that never voted."""

    estimate: Real64  # (k,)
    low: Real64  # (k,): the 95 % interval
    high: Real64  # (k,)

    def table(self) -> Real64:
        """(k, 3): estimate, low, high."""
        return np.stack([self.estimate, self.low, self.high], axis=1)


def source_accuracies(fitted: Posteriors, votes: SparseVotes) -> Accuracies:
    """The accuracy of each source, with its interval."""
    shifts = other_shifts(fitted)
    found = np.array([_one(fitted, votes, j, shifts) for j in range(votes.k)]).reshape(-1, 2)
    estimate, deviation = found.T
    half = Z95 * deviation
    return Accuracies(estimate, np.maximum(estimate - half, 0), np.minimum(estimate + half, 1))


def other_shifts(fitted: Posteriors) -> tuple[Real64, ...]:
    """2m times (m,): b if the class shares were others that are about as likely, stated roughly.

    Others than those of the answers, by as much as the labels that the balance is worth leave open. Where text
    separates the classes, a rough statement moves few answers.
    """
    rows = sample_rows(len(fitted.q), _MOST)
    answered = replace(fitted.balance, shares=np.maximum(fitted.q.mean(axis=0), 1e-6))
    return tuple(
        match_marginals(fitted.scores[rows], shares, fitted.b, STATED_LABELS)
        for shares in answered.alternatives()
    )


def _one(
    fitted: Posteriors, votes: SparseVotes, j: int, shifts: tuple[Real64, ...]
) -> tuple[float, float]:
    """The estimate and its standard deviation, of one source."""
    m, tau = votes.m, fitted.settings.tau
    own = votes.onehot[:, j * m : (j + 1) * m]  # (n, m)
    rows = np.flatnonzero(np.diff(own.indptr))
    if not len(rows):
        return float("nan"), float("nan")
    cast = own[rows].toarray()  # (v, m)
    count = float(cast.sum())
    earned = votes.credit[rows][:, j * m : (j + 1) * m].toarray()  # (v, m)
    added = cast @ fitted.behaviour.opinion[j]  # (v, m): its own evidence
    text, ev = tau * fitted.lp[rows], fitted.ev[rows]

    def agreement(scores: Real64) -> float:
        return float((softmax(scores) * earned).sum() / count)

    others = text + ev - added
    estimate = agreement(others + fitted.b)
    full = agreement(text + ev + fitted.b)
    encoders = [agreement(tau * lp[rows] + ev - added + fitted.b) for lp in fitted.by_encoder]
    balances = np.square([agreement(others + b) - estimate for b in shifts])
    mean = (estimate * count + 1) / (count + 2)
    sampling = mean * (1 - mean) / (count + 3)
    balance = (
        float(balances.sum()) / 2
    )  # higher and lower, each class as if alone: no less than the variance
    variance = sampling + float(np.var(encoders)) + (full - estimate) ** 2 + balance
    return estimate, variance**0.5

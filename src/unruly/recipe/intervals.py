"""Each source's accuracy per vote cast, estimated without gold, with a 95 % interval.

    a_j = mean over the votes of source j of q^-j_i[vote],    q^-j = softmax(tau lp + ev - own evidence + b)

A source is judged by text and the other sources, never by its own vote. The interval has three parts:

    half^2 = 1.96^2 (sampling + encoders + model)
    sampling: variance of a Beta(a v + 1, (1 - a) v + 1), v votes
    encoders: variance of the estimate from one encoder to another
    model:    (estimate by the full posterior - estimate by the tempered posterior without its own vote)^2
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.recipe.evidence import Evidence
from unruly.recipe.log_odds import Real64, softmax
from unruly.recipe.posteriors import Posteriors

_NORMAL = 1.959964  # of the 95 % interval


@dataclass(frozen=True, eq=False)
class Accuracies:
    """Estimated accuracies of k sources; NaN for one that never voted."""

    estimate: Real64  # (k,)
    low: Real64  # (k,)
    high: Real64  # (k,)

    def spread_over(self, places: NDArray[np.intp], k: int) -> Accuracies:
        """The same for all k sources of the user, of which these stand at `places`."""
        wide = []
        for values in (self.estimate, self.low, self.high):
            full = np.full(k, np.nan)
            full[places] = values
            wide.append(full)
        return Accuracies(*wide)


def source_accuracies(fitted: Posteriors, evidence: Evidence) -> Accuracies:
    """The accuracy of each source that voted, with its interval."""
    rows = [_one(fitted, evidence, j) for j in range(evidence.k)]
    estimate, half = np.array(rows).reshape(-1, 2).T
    return Accuracies(estimate, np.maximum(estimate - half, 0), np.minimum(estimate + half, 1))


def _one(fitted: Posteriors, evidence: Evidence, j: int) -> tuple[float, float]:
    """The estimate and half the interval's length, of one source."""
    tau = fitted.tau
    rows, said = evidence.votes_of(j)  # (v,), (v, m)
    votes = said.sum()
    own = evidence.opinion_of(j, fitted.opinion)  # (v, m)
    alone = fitted.ev[rows] + fitted.b - own  # (v, m): the others' evidence
    text = tau * fitted.lp[rows]

    def agreement(scores: Real64) -> float:
        return float((softmax(scores) * said).sum() / votes)

    estimate = agreement(text + alone)
    full = agreement(text + fitted.ev[rows] + fitted.b)
    tempered = agreement((text + alone) / tau)
    each = [
        agreement((tau * lp[rows] + fitted.ev[rows] + fitted.b) / tau) for lp in fitted.by_encoder
    ]
    mean = (estimate * votes + 1) / (votes + 2)
    sampling = mean * (1 - mean) / (votes + 3)
    variance = sampling + float(np.var(each)) + (full - tempered) ** 2
    return estimate, _NORMAL * variance**0.5

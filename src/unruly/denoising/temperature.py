"""How sure the predictions are: the temperature that divides their scores, learnt from true labels where there are some.

    t = argmax  sum_i w_i log softmax(s_i / t)[y_i]  -  log(t / tau)^2 / 2 sigma^2

s_i are the scores of the labelled documents under posteriors that have not seen the labels; w_i count together as many
labels as would tell as much if they were drawn evenly (Kish, 1965). Without labels t is tau, at which text has its
cross-fitted probabilities. That is too high for a thousand documents, whose regressions are timid, and too low for ten
thousand; so labels may tell (temperature scaling: Guo et al., 2017), from a prior that a handful of them moves a little.
No answer depends on t.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from unruly.statistics import Float64, softmax

_SIGMA = 1 / 3  # of log t: on public data sets and cuts the best t is 1.5 to 4, and tau is 3
_STEPS = 50
_FAR = 1.0  # the longest step of log t
_NEAR = 1e-6  # a step of this length is the last


def learnt_temperature(
    scores: Float64, labels: NDArray[np.intp], weights: Float64, tau: float
) -> float:
    """t, from scores (l, m) and labels (l,) of documents that count for `weights` (l,), in any unit.

    >>> timid = np.log(np.array([[0.6, 0.4], [0.4, 0.6]] * 20)) * 3
    >>> labels = np.array([0, 1] * 20)
    >>> learnt_temperature(timid, labels, np.ones(40), 3.0) < 3  # all are right: be surer
    True
    >>> learnt_temperature(timid[:0], labels[:0], np.ones(0), 3.0)
    3.0
    """
    if not weights.any():
        return tau
    w = weights * weights.sum() / float(weights @ weights)  # (l,)
    places = np.arange(len(labels))
    u = 0.0  # log(t / tau)
    for _ in range(_STEPS):
        z = scores * (math.exp(-u) / tau)  # (l, m)
        q = softmax(z)
        mean = (q * z).sum(axis=1)
        gradient = float(w @ (mean - z[places, labels])) - u / _SIGMA**2
        information = float(w @ ((q * z * z).sum(axis=1) - mean**2)) + 1 / _SIGMA**2
        step = min(max(gradient / information, -_FAR), _FAR)
        u += step
        if abs(step) < _NEAR:
            break
    return tau * math.exp(u)

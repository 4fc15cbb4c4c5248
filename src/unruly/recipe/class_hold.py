"""The hold on the class balance: a shift b of all scores that keeps the posterior's mass at the prior.

    find b, (m,), such that  mean_i softmax(s_i + b) = pi           (b is known up to a constant: mean 0)

Without it a loop of "train on the posteriors, renew the posteriors" drifts towards whichever class is
ahead. The fixed-point step  b <- b + log pi - log mean_i softmax(s_i + b)  is iterative scaling, and
climbs a concave likelihood.
"""

from __future__ import annotations

import numpy as np

from unruly.recipe.log_odds import Real64, softmax


def class_hold(scores: Real64, prior: Real64, start: Real64, steps: int = 20) -> Real64:
    """(m,): b, for scores (n, m), from a first guess.

    >>> scores = np.log(np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]))
    >>> b = class_hold(scores, np.array([0.5, 0.5]), np.zeros(2))
    >>> softmax(scores + b).mean(axis=0).round(2).tolist()
    [0.5, 0.5]
    """
    b = start
    for _ in range(steps):
        mass = np.maximum(softmax(scores + b).mean(axis=0), 1e-9)  # (m,)
        b = b + np.log(prior) - np.log(mass)
        b = b - b.mean()
    return b

"""The constraint on the class marginals, as firm as the class balance is known.

    b = argmax  pi . b  -  mean_i log sum_y exp(s_iy + b_y)  -  |b - b0|^2 / 2 kappa

s are the scores of n documents, b a shift of all of them, b0 the shift that costs nothing.
The gradient is  pi - mean_i softmax(s_i + b) - (b - b0) / kappa:  the posterior's class mass is pulled towards pi,
and the pull costs something. With a large kappa it meets pi, with a small one it stays where text and
votes put it. Where text separates the classes clearly, a shift changes few answers, so a balance that
is only roughly right does little harm; where text is vague, the balance decides. This is posterior
regularisation of the class marginals with a quadratic slack (Ganchev et al., 2010; Mann and McCallum,
2007). The function is concave, and Newton's method finds its only maximum.
"""

from __future__ import annotations

import numpy as np

from unruly.statistics import Float64, softmax

EXACT = 1e6  # kappa at which the constraint is met to the fifth digit
_STEPS = 40
_FAR = 2.0  # the longest step, in log-odds
_NEAR = 1e-7


def match_marginals(scores: Float64, pi: Float64, b0: Float64, kappa: float) -> Float64:
    """(m,): b, for scores (n, m) and class shares pi (m,).

    >>> scores = np.log(np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]))
    >>> half = np.array([0.5, 0.5])
    >>> b = match_marginals(scores, half, np.zeros(2), EXACT)
    >>> softmax(scores + b).mean(axis=0).round(3).tolist()
    [0.5, 0.5]
    >>> b = match_marginals(scores, half, np.zeros(2), kappa=1.0)
    >>> softmax(scores + b).mean(axis=0).round(2).tolist()
    [0.63, 0.37]
    """
    n, m = scores.shape
    if not n:
        return b0
    b = b0
    for _ in range(_STEPS):
        q = softmax(scores + b)  # (n, m)
        mass = q.mean(axis=0)
        gradient = pi - mass - (b - b0) / kappa
        curvature = np.diag(mass) - q.T @ q / n + np.eye(m) / kappa  # (m, m), positive definite
        step = np.linalg.solve(curvature, gradient)
        longest = float(np.abs(step).max())
        b = b + step * min(1.0, _FAR / max(longest, _NEAR))
        if longest < _NEAR:
            break
    return np.asarray(b)

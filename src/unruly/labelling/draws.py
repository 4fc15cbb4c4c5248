"""Draw documents so that labels of a few tell most about all: systematic sampling with unequal probabilities.

    u_i = 1 - sum_y q_iy^2                         how doubtful the prediction is: the variance that a label removes
    s_i = sqrt(u_i + 0.1)                          Neyman's allocation (1934); 0.1: predictions may be wrong where they are sure
    P(i) ~ 3/4 s_i / sum s + 1/4 s_i / (H sum of s over i's predicted class)        H: the classes that are predicted

P(i), cut at 1, sums to the labels that are asked for. Documents are laid end to end in the order of predicted class
and confidence, each as long as its P(i), and a comb with teeth at distance 1 and a random offset picks those that it hits
(Madow, 1949). So each is drawn with exactly its P(i), and the draw is spread over classes and confidences as
strata would spread it. Its inverse as a weight keeps every estimate unbiased. A quarter evenly over the predicted
classes, so that one which is hardly ever predicted is looked at, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Real64 = NDArray[np.float64]
_WRONG = 0.1  # variance of a label where the prediction is sure
_EVENLY = 0.25  # of the labels, over the predicted classes


@dataclass(frozen=True, eq=False)
class Drawn:
    """Documents to label, in the order in which to show them."""

    rows: NDArray[np.intp]  # (l,)
    probability: Real64  # (l,): with which each was drawn


def draw(
    proba: NDArray[np.floating[Any]],
    size: int,
    *,
    seed: int = 0,
    among: NDArray[np.bool_] | None = None,
) -> Drawn:
    """At most `size` documents by the predictions `proba` (n, m); `among` (n,): of these only.

    >>> proba = np.eye(2)[[0] * 90 + [1] * 10]
    >>> drawn = draw(proba, 10)
    >>> int((drawn.rows >= 90).sum()), sorted(set(drawn.probability.round(3).tolist()))
    (2, [0.089, 0.2])
    """
    rng = np.random.default_rng(seed)
    rows = np.arange(len(proba)) if among is None else np.flatnonzero(among)
    q = np.asarray(proba[rows], np.float64)
    size = min(size, len(rows))
    if not size:
        return Drawn(np.empty(0, np.intp), np.empty(0))
    chance = inclusion(_sizes(q), size)
    order = np.lexsort((rng.random(len(rows)), q.max(axis=1), q.argmax(axis=1)))
    ends = np.cumsum(chance[order])
    ends *= size / ends[-1]  # rounding
    teeth = np.floor(np.concatenate([[0.0], ends]) + rng.random())
    teeth[-1] = teeth[0] + size
    picked = rng.permutation(order[np.diff(teeth) > 0])
    return Drawn(rows[picked], chance[picked])


def _sizes(q: Real64) -> Real64:
    """(n,): what the probabilities are in proportion to."""
    size = np.sqrt(1 - (q**2).sum(axis=1) + _WRONG)
    predicted = q.argmax(axis=1)
    total = np.bincount(predicted, weights=size, minlength=q.shape[1])
    alone = size / total[predicted] / (total > 0).sum()
    return np.asarray((1 - _EVENLY) * size / size.sum() + _EVENLY * alone)


def inclusion(sizes: Real64, n: int) -> Real64:
    """(l,): probabilities in proportion to the sizes, at most 1, that sum to n.

    >>> inclusion(np.array([1.0, 1.0, 8.0]), 2).tolist()
    [0.5, 0.5, 1.0]
    """
    chance = np.zeros(len(sizes))
    sure = np.zeros(len(sizes), np.bool_)
    while True:
        rest = n - sure.sum()
        chance = np.where(sure, 1.0, rest * sizes / max(float(sizes[~sure].sum()), 1e-300))
        more = ~sure & (chance >= 1)
        if not more.any():
            return chance
        sure |= more

"""Does text know anything of the votes? Asked out of fold, and of sources that it has not learnt from.

    S = sum over documents of p_i[v_i] / n_{v_i}        v_i: the class that most votes of i name, p: text's opinion

with every class counting alike. If text knew nothing, S would be as large for votes dealt out to the
documents at random; the mean and the variance of S over all such deals are known exactly (Hoeffding, 1951):

    A_ic = p_i[c] / n_c,   D_ic = A_ic - mean_i A_ic - mean_l A_i,v_l + mean;   var S = sum_ic n_c D_ic^2 / (n - 1)

z = (S - mean S) / sd S.

Sources that contradict each other can cancel in their majority. So each is asked by itself, too, whichever
way round it votes: the sum of their z^2 is about chi-squared with k degrees of freedom if text knows
nothing, and is turned into a z of the same rarity.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, gammaln, ndtri

from unruly.recipe.log_odds import Real64


def text_signal(proba: Real64, named: NDArray[np.integer]) -> float:
    """z: how far text's opinions (n, m) go with the votes `named` (n,), beyond chance; -1: no clear vote.

    >>> rng = np.random.default_rng(0)
    >>> named = rng.integers(0, 2, 400)
    >>> knows = np.where(rng.random(400) < 0.7, named, 1 - named)
    >>> text_signal(np.eye(2)[knows], named) > 5, abs(text_signal(rng.random((400, 2)), named)) < 3
    (True, True)
    """
    clear = named >= 0
    said, votes = proba[clear], named[clear]
    size = np.bincount(votes, minlength=proba.shape[1]).astype(np.float64)  # (m,): n_c
    heard = size > 0
    n = len(votes)
    if n < 3 or heard.sum() < 2:
        return 0.0
    table = said[:, heard] / size[heard]  # (n, classes that were named): A
    share = size[heard] / n
    by_document = table @ share  # (n,): mean over l of A_i,v_l
    by_class = table.mean(axis=0)
    centred = table - by_document[:, None] - by_class + by_class @ share
    variance = float((centred**2).sum(axis=0) @ size[heard]) / (n - 1)
    place = np.cumsum(heard) - 1
    found = float(table[np.arange(n), place[votes]].sum())
    return float((found - by_class @ size[heard]) / max(variance, 1e-30) ** 0.5)


def signal_by_source(
    proba: Real64, votes: Sequence[NDArray[np.integer]], covered: NDArray[np.bool_]
) -> float:
    """z: how far text's opinions (n, m) go with each source's votes (n,), or against them, beyond chance.

    A source that says one class only is asked when it speaks: its silence on covered documents is the
    other answer.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 600)
    >>> knows = np.eye(2)[np.where(rng.random(600) < 0.7, truth, 1 - truth)]
    >>> signal_by_source(knows, [truth, 1 - truth], np.ones(600, bool)) > 5
    True
    """
    total = 0.0
    for said in votes:
        classes = np.unique(said[said >= 0])
        if len(classes) == 1:
            p = proba[:, classes[0]]
            spoke = np.where(covered, (said >= 0).astype(np.int64), -1)
            total += text_signal(np.stack([1 - p, p], axis=1), spoke) ** 2
        else:
            total += text_signal(proba, said) ** 2
    return _as_normal(total, max(len(votes), 1))


def _as_normal(total: float, freedom: int) -> float:
    """The z that is as rare as this sum of `freedom` squares.

    >>> round(_as_normal(1.0, 1), 2), round(_as_normal(10_000.0, 5), 1)
    (0.48, 99.9)
    """
    rarity = chdtrc(freedom, total)
    if rarity > 0:
        return -float(ndtri(rarity))
    half = freedom / 2  # too rare for a number: the leading term of its logarithm
    logarithm = (half - 1) * np.log(total / 2) - total / 2 - gammaln(half)
    return float((-2 * logarithm) ** 0.5)

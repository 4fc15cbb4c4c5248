"""A handful of clean labels: how much each counts for, and what they say of the class prior.

Counting clean labels estimates the prior badly: of 20 documents the shares are off by 11 points as often as
not. It is better to count where the recipe is wrong. Let q be the posteriors of a loop that has not
seen the labels, under a guessed prior pi. Then, over the n clean documents,

    d = mean_i (onehot(y_i) - q_i),    v = var_i(onehot(y_i) - q_i) / n         (m,), (m,)
    pi' = pi + s d,                    s = 1 - (m - 1) / G,   G = (m - 1)/m sum_y d_y^2 / v_y

d has little variance where the recipe is mostly right (Angelopoulos et al., 2023, prediction-powered
inference), and s takes out what of it is noise (James and Stein, 1961). Where G is no larger than chance
allows (chi-squared with m - 1 degrees of freedom, 1 %) the guess stays as it is. So a good guess is not
spoilt by twenty labels, and a bad one is corrected by them.

In the loop, the documents with clean labels stay fixed. Each counts for n/10m documents, at least 1 and at
most 3: a few must not outweigh all that votes say, many may.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from unruly.recipe.evidence import Evidence
from unruly.recipe.log_odds import Real64

MOST = 3.0  # documents that one with a clean label counts for
CHANCE = 0.01  # how often a good guess may be moved
_LEAST = 0.005  # of the documents, for any class


def clean_weight(labels: int, m: int) -> float:
    """How many documents one with a clean label counts for, when there are so many labels of m classes.

    >>> clean_weight(5, 2), clean_weight(50, 2), clean_weight(1000, 2)
    (1.0, 2.5, 3.0)
    """
    return float(np.clip(labels / (10 * max(m, 1)), 1.0, MOST))


def unseen(evidence: Evidence) -> Evidence:
    """The same votes, with all clean labels hidden."""
    return replace(evidence, clean=np.full(evidence.n, -1, dtype=np.int64))


def corrected_prior(guess: Real64, q: Real64, labels: NDArray[np.integer]) -> tuple[Real64, str]:
    """(m,), words: the guess, moved by as much as clean labels (n,) speak against posteriors q (n, m) that never saw them.

    >>> guess, labels = np.array([0.5, 0.5]), np.array([0] * 18 + [1] * 2)
    >>> corrected_prior(guess, np.full((20, 2), 0.5), labels)[0].round(2).tolist()
    [0.89, 0.11]
    >>> corrected_prior(guess, np.eye(2)[labels], labels)[0].round(2).tolist()
    [0.5, 0.5]
    """
    n, m = q.shape
    wrong = np.eye(m)[labels] - q  # (n, m)
    d = wrong.mean(axis=0)
    v = (wrong.var(axis=0) * n + 0.1) / max(n - 1, 1) / n  # a tenth of a document of doubt
    strength = float((d**2 / v).sum()) * (m - 1) / m
    if m < 2 or chdtrc(m - 1, strength) > CHANCE:
        return guess, f"as guessed, which {n} clean labels do not speak against"
    moved = np.maximum(guess + (1 - (m - 1) / strength) * d, np.minimum(_LEAST, guess))
    return moved / moved.sum(), f"corrected by {n} clean labels"


def counted_prior(labels: NDArray[np.integer], m: int) -> tuple[Real64, str]:
    """(m,), words: the shares among the clean labels, one added for each class; for when nobody votes.

    >>> counted_prior(np.array([0, 0, 1]), 2)[0].tolist()
    [0.6, 0.4]
    """
    counts = np.bincount(labels, minlength=m) + 1.0
    return counts / counts.sum(), f"from {len(labels)} clean labels"

"""The two heads' answers made one (section 3.5): where they conflict, the more confident one decides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unruly.training.heads import BOTH, CLASSIFIER, DENOISER
from unruly.training.rule_prediction import softmax

Real = NDArray[np.float32]
_TIE = 1e-6
_TINY = np.float32(1e-12)


def combine(denoiser: Real, classifier: Real, how: str) -> tuple[Real, NDArray[np.int8]]:
    """The final probabilities, (n, m), and who decided, (n,).

    "confident" is the paper's: where both name the same class, their mean; else the probabilities of
    the one that is surer. "product" multiplies the two opinions and normalises; "mean" averages them.
    A denoiser whose best classes are level (no votes, or a tie) has no opinion, and the classifier
    decides.

    >>> rule = np.array([[0.73, 0.27], [0.5, 0.5]], np.float32)
    >>> text = np.array([[0.4, 0.6], [0.2, 0.8]], np.float32)
    >>> combine(rule, text, "confident")[1].tolist()
    [1, 2]
    """
    first, second = denoiser.argmax(axis=1), classifier.argmax(axis=1)
    silent = _level(denoiser)
    if how == "product":
        combined = softmax(
            np.log(np.maximum(denoiser, _TINY)) + np.log(np.maximum(classifier, _TINY))
        )
    elif how == "mean":
        combined = np.where(silent[:, None], classifier, (denoiser + classifier) / 2)
    else:
        combined = _more_confident(denoiser, classifier, silent)
    follows = (combined.argmax(axis=1) == first) & ~silent
    decided = np.where(follows, np.where(first == second, BOTH, DENOISER), CLASSIFIER)
    return np.asarray(combined, dtype=np.float32), decided.astype(np.int8)


def _more_confident(denoiser: Real, classifier: Real, silent: NDArray[np.bool_]) -> Real:
    """(n, m): their mean where they agree, else the opinion of the surer one."""
    agree = (denoiser.argmax(axis=1) == classifier.argmax(axis=1)) & ~silent
    surer = (denoiser.max(axis=1, initial=0) >= classifier.max(axis=1, initial=0)) & ~silent
    winner = np.where(surer[:, None], denoiser, classifier)
    return np.where(agree[:, None], (denoiser + classifier) / 2, winner)


def _level(probabilities: Real) -> NDArray[np.bool_]:
    """(n,): whether the two best classes are equally likely."""
    if not len(probabilities):
        return np.zeros(0, dtype=np.bool_)
    best = np.partition(probabilities, -2, axis=1)[:, -2:]
    return np.asarray(best[:, 1] - best[:, 0] < _TIE)


def sharpness(scores: Real, gold: NDArray[np.int64]) -> float:
    """The factor on a head's scores that makes its confidence true on documents with known labels.

    One number (the inverse of a temperature) for each head puts both on one scale; found by golden
    search over its logarithm, for the likelihood is convex in it.

    >>> sharpness(
    ...     np.array([[9.0, 0.0]] * 9 + [[0.0, 9.0]], np.float32), np.zeros(10, np.int64)
    ... ) < 0.5
    True
    """
    scores64 = scores.astype(np.float64)
    own = scores64[np.arange(len(gold)), gold]

    def loss(log_factor: float) -> float:
        scaled = (scores64 - own[:, None]) * np.exp(log_factor)
        top = scaled.max(axis=1)
        return float((top + np.log(np.exp(scaled - top[:, None]).sum(axis=1))).mean())

    low, high, golden = np.log(1e-2), np.log(1e2), (5**0.5 - 1) / 2
    for _ in range(60):
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if loss(left) < loss(right) else (left, high)
    return float(np.exp((low + high) / 2))

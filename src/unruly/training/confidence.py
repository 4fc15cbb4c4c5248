"""The two heads' answers made one (section 3.5): where they conflict, the more confident one decides."""

from __future__ import annotations

from typing import Any

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


def sharpness(scores: Real, labels: NDArray[np.floating[Any]]) -> tuple[float, float]:
    """The factor on a head's scores that makes its confidence true, and the mean log-likelihood then.

    `labels`, (n, m), are distributions: one-hot rows of true labels, or shares of votes. One number
    (the inverse of a temperature) for each head puts both on one scale; it is found by golden-section
    search over its logarithm.

    >>> nine_in_ten = np.array([[9.0, 0.0]] * 9 + [[0.0, 9.0]], np.float32)
    >>> factor, _ = sharpness(nine_in_ten, np.array([[1, 0]] * 10))
    >>> print(softmax(nine_in_ten, factor)[0].round(2))
    [0.9 0.1]
    """
    scores64 = scores.astype(np.float64) - scores.max(axis=1, keepdims=True)
    reached = (scores64 * labels).sum(axis=1)

    def loss(log_factor: float) -> float:
        factor = np.exp(log_factor)
        return float((np.log(np.exp(scores64 * factor).sum(axis=1)) - reached * factor).mean())

    low, high, golden = np.log(1e-2), np.log(1e2), (5**0.5 - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = loss(left), loss(right)
    for _ in range(25):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = loss(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = loss(right)
    best = (low + high) / 2
    return float(np.exp(best)), -loss(best)

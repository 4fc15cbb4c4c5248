"""Accuracy and F1 of a system that was fitted several times, with 95 % intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.model.metrics import Share, confusion, f1_scores, wilson

Labels = NDArray[np.int64]
_BOOTSTRAPS = 400


@dataclass(frozen=True)
class GoldScores:
    """Each a mean over the fits."""

    accuracy: Share
    macro_f1: Share
    f1: tuple[Share, ...]  # of each class


def gold_scores(gold: Labels, answers: Labels, m: int, seed: int = 0) -> GoldScores:
    """Score the answers of s fits, (s, n), against gold, (n,).

    The interval of accuracy is Wilson's; that of F1 holds 95 % of 400 bootstrap samples of the documents.

    >>> scores = gold_scores(np.array([0, 0, 1, 1]), np.array([[0, 0, 1, 0]]), m=2)
    >>> print(scores.accuracy, round(scores.f1[0].value, 2))
    75.0% (30.1% to 95.4%) 0.8
    """
    n = len(gold)
    hits = float((answers == gold).mean(axis=0).sum())
    drawn = np.random.default_rng(seed).integers(0, n, (_BOOTSTRAPS, n))
    whole = _class_f1(gold, answers, m)  # (m,)
    samples = np.stack([_class_f1(gold[rows], answers[:, rows], m) for rows in drawn])
    return GoldScores(
        wilson(hits, n),
        _share(_mean(whole[None])[0], _mean(samples), n),
        tuple(_share(whole[r], samples[:, r], n) for r in range(m)),
    )


def _class_f1(gold: Labels, answers: Labels, m: int) -> NDArray[np.float64]:
    """(m,): F1 of each class, the mean over fits."""
    return _over_fits(lambda said: f1_scores(confusion(gold, said, m)), answers)


def _over_fits(
    score: Callable[[Labels], NDArray[np.float64]], answers: Labels
) -> NDArray[np.float64]:
    return _mean(np.stack([score(said) for said in answers]).T)


def _mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of each row over what is known in it; NaN where nothing is."""
    known = np.isfinite(values)
    total = np.where(known, values, 0).sum(axis=1)
    count = known.sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _share(value: float, samples: NDArray[np.float64], n: int) -> Share:
    known = samples[np.isfinite(samples)]
    if not len(known):
        return Share(float(value), 0.0, 1.0, n)
    low, high = np.percentile(known, [2.5, 97.5])
    return Share(float(value), float(low), float(high), n)

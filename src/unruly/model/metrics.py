"""The figures of merit, each a function of class numbers (and probabilities) alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.sampling import Z95, Share, wilson

Labels = NDArray[np.integer[Any]]


def accuracy(gold: Labels, predicted: Labels) -> Share:
    """The share of documents whose label is right.

    >>> accuracy(np.array([0, 1, 1, 1]), np.array([0, 1, 1, 0])).value
    0.75
    """
    return wilson(int((gold == predicted).sum()), len(gold))


def paired_gain(differences: NDArray[np.floating[Any]]) -> Share:
    """The mean of n differences between two answers to the same documents, with its 95 % interval.

    >>> paired_gain(np.array([1.0, 0.0, 0.0, 1.0])).value
    0.5
    >>> print(paired_gain(np.zeros(98)))  # no difference on 98 documents
    0.0% (-2.8% to 2.8%)
    """
    n = len(differences)
    if n == 0:
        return Share(float("nan"), -1.0, 1.0, 0)
    mean, spread = float(differences.mean()), float(differences.std())
    if spread == 0:  # that none varies is no proof that none would: one of each sign is added
        more = np.concatenate([differences, [1.0, -1.0]])
        middle, half = float(more.mean()), Z95 * float(more.std()) / np.sqrt(n + 2)
        return Share(
            mean, max(-1.0, min(mean, middle - half)), min(1.0, max(mean, middle + half)), n
        )
    half = Z95 * spread / np.sqrt(n)
    return Share(mean, max(-1.0, float(mean - half)), min(1.0, float(mean + half)), n)


def confusion(gold: Labels, predicted: Labels, m: int) -> NDArray[np.int64]:
    """(m, m): how many documents of each true class (row) were given each class (column).

    >>> confusion(np.array([0, 1, 1]), np.array([0, 1, 0]), m=2)
    array([[1, 0],
           [1, 1]])
    """
    flat = gold.astype(np.int64) * m + predicted.astype(np.int64)
    return np.bincount(flat, minlength=m * m).reshape(m, m)


def f1_scores(table: NDArray[np.integer[Any]] | NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """(m,): F1 of each class from a confusion matrix, `2 TP / (2 TP + FP + FN)`.

    NaN for a class that neither occurs nor is predicted: there is nothing to score.

    >>> f1_scores(np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0]])).round(3)
    array([0.667, 0.667,   nan])
    """
    hits = np.diag(table).astype(np.float64)
    total = table.sum(axis=0) + table.sum(axis=1)
    scores = np.full(len(hits), np.nan)
    np.divide(2 * hits, total, out=scores, where=total > 0)
    return scores


def macro_f1(table: NDArray[np.integer[Any]] | NDArray[np.floating[Any]]) -> float:
    """The mean of F1 over the classes that occur or are predicted, each counting the same.

    >>> macro_f1(np.array([[1, 0], [0, 3]]))
    1.0
    """
    scores = f1_scores(table)
    return float(np.nanmean(scores)) if np.isfinite(scores).any() else float("nan")


def calibration_error(gold: Labels, proba: NDArray[np.floating[Any]], bins: int = 15) -> float:
    """Expected calibration error: how far confidence is from accuracy, on average.

    ECE = Σ_b |b|/n · |accuracy(b) - mean confidence(b)|, over `bins` equal slices of confidence.

    Guo et al., On calibration of modern neural networks, ICML 2017.

    >>> sure_and_right = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> calibration_error(np.array([0, 1]), sure_and_right)
    0.0
    >>> calibration_error(np.array([1, 1]), sure_and_right)
    0.5
    """
    if not len(gold):
        return float("nan")
    confidence = proba.max(axis=1)  # (n,)
    right = proba.argmax(axis=1) == gold  # (n,)
    which = np.minimum((confidence * bins).astype(np.int64), bins - 1)  # (n,)
    gap = np.bincount(which, weights=right - confidence, minlength=bins)  # |b| · (acc - conf)
    return float(np.abs(gap).sum() / len(gold))

"""A classifier trained on hand labels alone: what a rule set is compared with.

    softmax regression on each block of features, L2 penalty c / n;   log p = mean over blocks of log p_e

c is chosen among 0.1, 1 and 10 by five-fold likelihood, so that the labels are used at their best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.denoising.em import pooled
from unruly.denoising.regression import CrossFitting, SoftmaxRegression, content_folds
from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.statistics import Float64

_PENALTIES = (0.1, 1.0, 10.0)
_STEPS = 60
_FOLDS = 5


@dataclass(frozen=True, eq=False)
class HandLabelled:
    """The trained classifier."""

    texts: tuple[SoftmaxRegression, ...]  # one for each block of features
    weights: tuple[float, ...]

    def log_proba(self, features: Features) -> Float64:
        """(n, m): log-probabilities of the classes."""
        pairs = zip(self.texts, features.blocks, strict=True)
        return pooled([text.log_proba(block.values) for text, block in pairs], self.weights)


def fit_hand_labels(
    features: Features, labels: NDArray[np.integer], m: int, seed: int = 0
) -> HandLabelled:
    """Train on documents that all have a label (n,), of m classes.

    >>> x = np.array([[0.0, 1.0], [0.1, 0.9], [1.0, 0.0], [0.9, 0.1]])
    >>> model = fit_hand_labels(Features.from_array(x), np.array([0, 0, 1, 1]), 2)
    >>> model.log_proba(Features.from_array(x)).argmax(axis=1).tolist()
    [0, 0, 1, 1]
    """
    n = len(labels)
    if not n:
        raise InputError("there is no label to learn from: give at least one")
    blocks = tuple(block.array for block in features.blocks)
    folds = min(_FOLDS, max(n, 2))
    fold, _ = content_folds(features, folds, seed)
    target, mass = np.eye(m)[labels], np.ones(n)
    best, chosen = -np.inf, tuple[SoftmaxRegression, ...]()
    for penalty in _PENALTIES:
        texts = [CrossFitting.of(x, fold, folds, penalty) for x in blocks]
        trained = [text.descend(None, target, mass, _STEPS) for text in texts]
        pairs = list(zip(texts, trained, strict=True))
        held_out = [text.held_out(w, target, mass) for text, w in pairs]
        likelihood = float(pooled(held_out, features.weights)[np.arange(n), labels].mean())
        if likelihood > best:
            best, chosen = likelihood, tuple(text.regression(w) for text, w in pairs)
    return HandLabelled(chosen, features.weights)

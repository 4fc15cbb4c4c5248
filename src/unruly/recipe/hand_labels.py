"""A classifier trained on hand labels alone: what a rule set has to be worth more than.

    softmax regression on each encoder, L2 penalty c/n;   log p = mean over encoders of log p_e

c is chosen among 0.1, 1 and 10 by five-fold likelihood, so that the labels get the best of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.recipe.folded_regression import FoldedRegression
from unruly.recipe.log_odds import Real64
from unruly.recipe.softmax_regression import SoftmaxRegression, pooled

_PENALTIES = (0.1, 1.0, 10.0)
_STEPS = 60
_FOLDS = 5


@dataclass(frozen=True, eq=False)
class HandLabelled:
    """The trained classifier."""

    texts: tuple[SoftmaxRegression, ...]  # one for each encoder

    def log_proba(self, features: Features) -> Real64:
        """(n, m): log-probabilities of the classes."""
        pairs = zip(self.texts, features.blocks, strict=True)
        said = [text.log_proba(block.values) for text, block in pairs]
        return pooled(said, [text.say for text in self.texts])


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
    folds = min(_FOLDS, max(n, 2))
    fold = np.random.default_rng(seed).permutation(n) % folds
    target, weight = np.eye(m)[labels], np.ones(n)
    best, chosen = -np.inf, tuple[SoftmaxRegression, ...]()
    for penalty in _PENALTIES:
        models = [
            FoldedRegression(block.values, m, fold, folds, penalty / n, say)
            for block, say in zip(features.blocks, features.says, strict=True)
        ]
        for model in models:
            model.fit(target, weight, _STEPS)
        held_out = pooled([model.out_of_fold() for model in models], features.says)
        likelihood = float(held_out[np.arange(n), labels].mean())
        if likelihood > best:
            best, chosen = likelihood, tuple(model.regression() for model in models)
    return HandLabelled(chosen)

"""The plain class-balanced classifier: what the recipe has to beat, and what it falls back to.

    q      = vote shares of covered documents
    weight = such that every class has the same mass
    p_e    = softmax regression on encoder e with those targets;   log p = mean over e of log p_e

It is the first round of the loop under an even prior, and knows nothing of what came later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unruly.recipe.evidence import Evidence
from unruly.recipe.folded_regression import FoldedRegression
from unruly.recipe.log_odds import Real64
from unruly.recipe.posteriors import posteriors
from unruly.recipe.softmax_regression import SoftmaxRegression


@dataclass(frozen=True, eq=False)
class Balanced:
    """The trained classifier."""

    lp: Real64  # (n, m): log-probabilities of the training documents, out of fold
    texts: tuple[SoftmaxRegression, ...]  # one for each encoder, for new documents

    @property
    def shares(self) -> Real64:
        """(m,): the share of documents that it gives to each class."""
        n, m = self.lp.shape
        return np.asarray(np.bincount(self.lp.argmax(axis=1), minlength=m) / max(n, 1))


def class_balanced(texts: Sequence[FoldedRegression], evidence: Evidence) -> Balanced:
    """Train it; the regressions are left as trained."""
    even = np.full(evidence.m, 1 / evidence.m)
    once = posteriors(texts, evidence, even, tau=1.0, rounds=1)
    return Balanced(once.lp, tuple(text.regression() for text in texts))

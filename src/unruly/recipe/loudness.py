"""The classifier speaks no louder than the regressions beside it.

The classifier is trained on posteriors that its own documents helped to make, so it is three to five times
surer than the regressions, and in a mean of log-probabilities it would decide alone. Its logits are
multiplied by

    s = rms_iy(lp_iy - mean_y lp_i) / rms_iy(z_iy - mean_y z_i),   at most 1

over training documents: lp what the regressions say, z the classifier's log-probabilities. Which class it
prefers stays as it is, document by document; how sure it is becomes comparable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unruly.features.encoder import Features
from unruly.recipe.log_odds import Real64, log_softmax
from unruly.recipe.softmax_regression import SoftmaxRegression, pooled, side_by_side
from unruly.training.classifier import Classifier

_SAMPLE = 4_096  # documents that loudness is measured on


def lowered(
    classifier: Classifier, texts: Sequence[SoftmaxRegression], features: Features
) -> Classifier:
    """The classifier with its last layer multiplied by s, measured on these documents."""
    if features.n > _SAMPLE:
        rows = np.random.default_rng(0).choice(features.n, _SAMPLE, replace=False)
        features = features.take(np.sort(rows))
    blocks = [block.values for block in features.blocks]
    pairs = zip(texts, blocks, strict=True)
    said = [text.log_proba(values) for text, values in pairs]
    theirs = loudness(pooled(said, [text.say for text in texts]))
    own = loudness(log_softmax(classifier.logits(side_by_side(texts, blocks)).astype(np.float64)))
    s = np.float32(min(1.0, theirs / own) if own > 0 else 1.0)
    return replace(classifier, w2=classifier.w2 * s, b2=classifier.b2 * s)


def loudness(lp: Real64) -> float:
    """The root-mean-square distance of log-probabilities (n, m) from their mean over the classes.

    >>> loudness(np.array([[-1.0, -3.0], [-3.0, -1.0]]))
    1.0
    """
    return float(np.sqrt(((lp - lp.mean(axis=1, keepdims=True)) ** 2).mean())) if lp.size else 0.0

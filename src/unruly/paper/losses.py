"""Equations 5 to 8: the three losses, their weighted sum, and their gradients.

    l1 = -sum over D_L of y^_i log z^_i                                   (5) the denoiser's
    l2 = -sum over D_L of y^_i log z~_i                                   (6) the classifier's
    l3 =  sum over D_U of |z~_i - p_i|^2                                  (7) self-training
    l  = c1 l1 + c2 l2 + c3 l3,   c1 + c2 + c3 = 1                        (8)

The sums stay sums over documents, as printed, so that a loss weighs as many documents as it has; the
total is divided by the number of documents in the step, which changes nothing but its size.
"""

from __future__ import annotations

import numpy as np

from unruly.settings import PaperSettings
from unruly.statistics import Float32, log_softmax

_TINY = 1e-30  # arithmetic on numbers near the end of float32 is a hundred times slower


def likelihood_loss(scores: Float32, target: Float32) -> tuple[float, Float32, Float32]:
    """l1 or l2: -sum target log softmax(scores), its gradient by the scores, and the softmax.

    `target`, (n, m), is the label as a distribution times the document's weight; a row of zeros takes
    no part. The gradient is softmax(scores) sum_r target_r - target.
    """
    log_probability = log_softmax(scores)  # (n, m)
    probability = np.exp(log_probability)  # (n, m)
    slope = probability * target.sum(axis=1, keepdims=True)
    slope -= target
    return -float(np.vdot(target, log_probability)), slope, probability


def self_training_loss(
    probability: Float32, ensemble: Float32, weight: Float32
) -> tuple[float, Float32]:
    """l3: sum weight |z~ - p|^2, and its gradient by the logits of z~; p is held still.

    `weight`, (n,), is 1 for a document of D_U and 0 for one of D_L. With g = 2 weight (z~ - p), the
    gradient by the logits is z~ (g - sum_r z~_r g_r).
    """
    apart = probability - ensemble  # (n, m)
    value = float(np.dot(np.einsum("nm,nm->n", apart, apart), weight))
    apart *= 2 * weight[:, None]  # dl/dz~
    slope = apart - np.einsum("nm,nm->n", probability, apart)[:, None]
    slope *= probability
    return value, slope


def without_tiny(slope: Float32) -> Float32:
    """The gradient, with numbers that no sum would feel set to zero."""
    slope[np.abs(slope) < _TINY] = 0
    return slope


def total_loss(settings: PaperSettings, l1: float, l2: float, l3: float) -> float:
    """Equation 8."""
    return settings.c1 * l1 + settings.c2 * l2 + settings.c3 * l3

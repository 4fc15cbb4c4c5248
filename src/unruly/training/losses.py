"""Equations 5 to 8: the three losses, their weighted sum, and their slopes.

    l1 = -sum over D_L of y^_i log z^_i                                   (5) the denoiser's
    l2 = -sum over D_L of y^_i log z~_i                                   (6) the classifier's
    l3 =  sum over D_U of |z~_i - p_i|^2                                  (7) self-training
    l  = c1 l1 + c2 l2 + c3 l3,   c1 + c2 + c3 = 1                        (8)

The sums stay sums over documents, as written, so that a loss weighs as many documents as it has; the
total is divided by the number of documents in the step, which changes nothing but its size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def likelihood_loss(scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """l1 or l2: -sum target log softmax(scores), its slope by the scores, and the softmax.

    `target`, (n, m), is the label as a distribution times the document's weight; a row of zeros takes
    no part.
    """
    log_probability = scores.log_softmax(1)  # (n, m)
    probability = log_probability.exp()  # (n, m)
    slope = probability * target.sum(1, keepdim=True) - target
    return -(target * log_probability).sum(), slope, probability


def self_training_loss(
    probability: Tensor, ensemble: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor]:
    """l3: sum weight |z~ - p|^2, and its slope by the logits of z~; p is held still.

    `weight`, (n,), is 1 for a document of D_U and 0 for one of D_L.
    """
    apart = probability - ensemble  # (n, m)
    value = (apart.square().sum(1) * weight).sum()
    outer = apart.mul_(weight[:, None]).mul_(2)  # dl/dz~
    slope = probability * (outer - (probability * outer).sum(1, keepdim=True))
    return value, slope

"""One step of the label denoiser: Equations 1, 3 and 5, forwards and backwards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from unruly.training.attention import AttentionWeights
from unruly.training.batch import Attended
from unruly.training.losses import likelihood_loss
from unruly.training.reliability import softmax_by_row


@dataclass(frozen=True, eq=False)
class Attending:
    """What the attention network says of a step's documents."""

    hidden: Tensor  # (v, h)
    share: Tensor  # (v,): q_ij
    received: NDArray[np.float64]  # (k,): sum of a_ij over the documents


def attend(weights: AttentionWeights, documents: Attended) -> Attending:
    """Equation 1: each cell's share of its document's attention, and each source's sum."""
    scores, hidden = weights.scores(documents.features, documents.row, documents.number)
    share = softmax_by_row(scores, documents.row, len(documents.rows))
    conditional = (share * documents.cast).cpu().numpy()  # (v,): a_ij
    return Attending(hidden, share, documents.cells.sum_by_source(conditional))


def denoiser_step(
    weights: AttentionWeights,
    into: AttentionWeights,
    documents: Attended,
    said: Attending,
    target: Tensor,  # (contested, m): labels times weights
    factor: float,  # c1 / n
) -> float:
    """Equations 3 and 5 on the contested documents; writes the gradient and tells l1."""
    v, r = documents.contested_cells, documents.contested
    if r == 0:
        for gradient in (into.w1, into.w2, into.votes):
            gradient.zero_()
        return 0.0
    m = target.shape[1]
    row, outcome, cast, share = (
        documents.row[:v],
        documents.outcome[:v],
        documents.cast[:v],
        said.share[:v],
    )
    place = row * (m + 1) + outcome  # (v,): the cell's place in an (r, m + 1) matrix
    votes = share.new_zeros(r * (m + 1)).index_add_(0, place, share * cast).view(r, m + 1)
    loss, by_class, _ = likelihood_loss(votes[:, :m], target)  # y_ir -> l1, dl1/dy_ir
    by_outcome = share.new_zeros(r, m + 1)
    by_outcome[:, :m] = by_class
    by_share = by_outcome.view(-1).index_select(0, place).mul_(cast)  # (v,): dl1/dq_ij
    mean = share.new_zeros(r).index_add_(0, row, share * by_share)  # (r,)
    slope = share * (by_share - mean.index_select(0, row)) * factor  # (v,): dl1/dq^_ij
    weights.backward(
        into, documents.features[:r], row, documents.number[:v], said.hidden[:v], slope
    )
    return float(loss)

"""Equation 1: the attention network that scores each source's vote on each document.

    q^_ij = W2^T tanh(W1 (y_ij + B_i))

How it is read here. B_i is the document's feature vector, d numbers. y_ij is a vote: a class said by a
source, or silence; adding its class number to a vector would treat classes as quantities. So y_ij is a
learned vector for each pair (source, outcome). Written so that it depends on the outcome alone, two
sources that say the same of a document could never differ in reliability, and the whole mechanism
would be idle; hence the pair. And since W1 (y_ij + B_i) = W1 B_i + W1 y_ij, it is the projected vector
W1 y_ij, h numbers, that is learned, at no loss: documents are projected once each, not once for each
vote (n·d·h + v·h steps for v votes, instead of n·k·d·h).

The vote vectors start at zero. So before training all sources that voted weigh the same, and the
denoiser is majority vote, which is also how the pseudo-labels start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unruly.training.cells import Cells, VoteTable

if TYPE_CHECKING:
    from torch import Tensor

Real = NDArray[np.float32]
_CELLS = 8_192  # votes scored together


@dataclass(frozen=True, eq=False)
class Attention:
    """The trained network, for new documents."""

    w1: Real  # (d, h): W1
    votes: Real  # (c, h): W1 y for each pair (source, outcome) of the table
    w2: Real  # (h,): W2
    table: VoteTable

    def scores(self, features: Real, cells: Cells) -> Real:
        """(v,): q^ of each cell; `features` are those of the cells' documents, (n, d)."""
        vectors = np.concatenate(
            [self.votes, np.zeros((1, len(self.w2)), np.float32)]
        )  # (c + 1, h)
        projected = features @ self.w1  # (n, h)
        number = self.table.numbers(cells)  # (v,)
        said = np.empty(len(cells.row), dtype=np.float32)
        for start in range(0, len(said), _CELLS):  # many votes at once would not fit the cache
            part = slice(start, start + _CELLS)
            hidden = projected[cells.row[part]]  # (up to _CELLS, h)
            hidden += vectors[number[part]]
            said[part] = np.tanh(hidden, out=hidden) @ self.w2
        return said


@dataclass(frozen=True, eq=False)
class AttentionWeights:
    """The network in training, or the gradient of its weights: views of one flat vector."""

    w1: Tensor  # (d, h)
    w2: Tensor  # (h,)
    votes: Tensor  # (c, h)

    def scores(self, features: Tensor, row: Tensor, number: Tensor) -> tuple[Tensor, Tensor]:
        """q^ of each cell, (v,), and the hidden layer, (v, h)."""
        projected = features @ self.w1  # (r, h)
        hidden = projected.index_select(0, row)  # (v, h)
        hidden += self.votes.index_select(0, number)
        hidden.mul_(2).sigmoid_().mul_(2).sub_(
            1
        )  # tanh(x) = 2 sigmoid(2x) - 1, in a third of the time
        return hidden @ self.w2, hidden

    def backward(
        self,
        into: AttentionWeights,
        features: Tensor,  # (r, d)
        row: Tensor,  # (v,)
        number: Tensor,  # (v,)
        hidden: Tensor,  # (v, h)
        slope: Tensor,  # (v,): dl/dq^
    ) -> None:
        """Write the gradient of the weights: the chain rule through the two layers."""
        outer = slope[:, None] * self.w2  # (v, h): dl/dtanh
        inner = outer.addcmul(outer, hidden.square(), value=-1)  # (v, h): dl/d(W1 (y + B))
        into.w2.copy_(slope @ hidden)
        into.votes.zero_().index_add_(0, number, inner)
        projected = inner.new_zeros(len(features), inner.shape[1])  # (r, h): dl/d(W1 B)
        projected.index_add_(0, row, inner)
        into.w1.addmm_(features.t(), projected, beta=0)

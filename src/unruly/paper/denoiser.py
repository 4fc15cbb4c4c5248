"""Equation 3: the denoiser's own prediction, from each document's conditional reliabilities.

    y_ir = sum_j a_ij [y_ij = C_r],     z^_ir = exp(y_ir) / sum_r exp(y_ir)

With two classes the scores lie in [0, 1], so that the denoiser is never surer than e / (e + 1) = 0.731.

Two facts, both exact, make its training cheap. A document with a single cell gives it all its
attention, whatever the weights. And where all cells of a document agree, attention cannot change the
prediction: it still counts for global reliability, but has no gradient. Only documents whose cells
differ ("contested") are differentiated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from unruly.paper.attention import Attention, Segments, cast, softmax_by_row, sum_by_source
from unruly.paper.losses import likelihood_loss, without_tiny
from unruly.statistics import Float32
from unruly.votes.sparse import SparseVotes

Whole = NDArray[np.intp]


def rule_scores(conditional: Float32, cells: SparseVotes) -> Float32:
    """(n, m): y_ir; zeros where no source voted, which the softmax turns into a uniform row."""
    return _class_sums(cells.row * cells.m + cells.outcome, conditional, cells.n, cells.m - 1)


def _class_sums(place: Whole, share: Float32, n: int, m: int) -> Float32:
    """(n, m): Equation 3, the shares (v,) of the cells summed at their place (v,) in an (n, m + 1) matrix.

    The last column is silence, which adds to no class.
    """
    sums = np.bincount(place, share, minlength=n * (m + 1)).reshape(n, m + 1)
    return sums[:, :m].astype(np.float32)


def contested(cells: SparseVotes) -> NDArray[np.bool_]:
    """(n,): documents whose cells differ in outcome."""
    sizes = np.diff(cells.onehot.indptr)
    first = np.zeros(cells.n, dtype=np.intp)
    first[sizes > 0] = cells.outcome[cells.onehot.indptr[:-1][sizes > 0]]
    differs = cells.outcome != first[cells.row]
    return np.asarray(np.bincount(cells.row, weights=differs, minlength=cells.n) > 0)


@dataclass(frozen=True, eq=False)
class Attended:
    """The documents whose attention must be computed: contested ones first, then agreeing ones."""

    rows: Whole  # (r,): their numbers in the training set
    features: Float32  # (r, d)
    cells: SparseVotes  # v cells of m + 1 outcomes
    pair: Whole  # (v,): the number of each cell's vote vector
    pairs: int  # how many vote vectors there are
    contested: int  # how many documents are contested

    @cached_property
    def cast(self) -> Float32:
        """(v,): 1 for a vote, 0 for a silence."""
        return cast(self.cells).astype(np.float32)

    @cached_property
    def contested_cells(self) -> int:
        """How many cells the contested documents have: they are the first."""
        return int(self.cells.onehot.indptr[self.contested])

    @cached_property
    def by_row(self) -> Segments:
        """The contested cells of each document."""
        return Segments(self.cells.row[: self.contested_cells], self.contested)

    @cached_property
    def by_pair(self) -> Segments:
        """The contested cells of each vote vector."""
        return Segments(self.pair[: self.contested_cells], self.pairs)

    @cached_property
    def contested_votes(self) -> SparseVotes:
        """The votes cast on the contested documents, without silences: what Eq. 2 weighs."""
        votes = self.cells.take(np.arange(self.contested)).onehot
        keep = np.arange(votes.shape[1]) % self.cells.m < self.cells.m - 1
        return SparseVotes(votes[:, keep], self.cells.k, self.cells.m - 1)


@dataclass(frozen=True, eq=False)
class Attending:
    """The attention on a step's documents."""

    hidden: Float32  # (v, h)
    share: Float32  # (v,): q_ij
    received: NDArray[np.float64]  # (k,): sum of a_ij over the documents


def attend(weights: Attention, documents: Attended) -> Attending:
    """Equation 1: each cell's share of its document's attention, and each source's sum."""
    scores, hidden = weights.scores(documents.features, documents.cells.row, documents.pair)
    share = softmax_by_row(scores, documents.cells.row)
    return Attending(hidden, share, sum_by_source(documents.cells, share * documents.cast))


def denoiser_step(
    weights: Attention,
    into: Attention,
    documents: Attended,
    attending: Attending,
    target: Float32,  # (contested, m): labels times weights
    factor: float,  # c1 / n
) -> float:
    """Equations 3 and 5 on the contested documents; writes the gradient of factor * l1, returns l1."""
    v, r = documents.contested_cells, documents.contested
    if r == 0:
        for gradient in (into.w1, into.w2, into.votes):
            gradient[...] = 0
        return 0.0
    m = target.shape[1]
    row, share = documents.cells.row[:v], attending.share[:v]
    place = row * (m + 1) + documents.cells.outcome[:v]  # (v,): in an (r, m + 1) matrix
    scores = _class_sums(place, share, r, m)  # (r, m): y_ir
    loss, by_class, _ = likelihood_loss(scores, target)  # dl1/dy_ir
    by_outcome = np.zeros((r, m + 1), dtype=np.float32)  # silence adds to no class
    by_outcome[:, :m] = by_class
    by_share = by_outcome.reshape(-1)[place]  # (v,): dl1/dq_ij
    mean = np.bincount(row, share * by_share, minlength=r).astype(np.float32)  # (r,)
    slope = share * (by_share - mean[row]) * np.float32(factor)  # (v,): dl1/dq^_ij
    weights.backward(
        into,
        documents.features[:r],
        documents.by_row,
        documents.by_pair,
        attending.hidden[:v],
        without_tiny(slope),
    )
    return loss

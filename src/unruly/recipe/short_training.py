"""The paper's two networks on the recipe's posteriors: a few epochs, for their targets are settled.

    l1 = -sum over documents with two votes or more of  q_i log softmax(ev_i + c)          (Eq. 5)
    l2 = -sum over all documents of  q_i log z~_i                                          (Eq. 6)

The attention network starts at an even split and the classifier at even probabilities, so that neither
prefers a source or a class before it has learnt. Adam with decoupled weight decay (Loshchilov and Hutter,
2019), mini-batches, one cycle of step sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unruly.features.encoder import Features
from unruly.progress import SILENT, Progress, stage
from unruly.recipe.log_odds import Real64
from unruly.recipe.one_cycle import one_cycle
from unruly.recipe.opinion_pool import OpinionPool
from unruly.recipe.softmax_regression import SoftmaxRegression, side_by_side
from unruly.settings import Settings
from unruly.training.adam import Adam
from unruly.training.attention import Attention, AttentionWeights
from unruly.training.cells import Cells, VoteTable
from unruly.training.classifier import Classifier
from unruly.training.heads import Epoch
from unruly.training.losses import likelihood_loss
from unruly.training.networks import Networks, Shape
from unruly.training.reliability import softmax_by_row
from unruly.votes.votes import Votes

Real = NDArray[np.float32]
_PEAK, _DECAY = 3e-3, 1e-2
_LEAST_BATCH, _MOST_BATCH, _STEPS = (
    4,
    256,
    200,
)  # few documents come in small batches, for 200 steps
_READY = 2**26  # numbers: up to 256 MB the networks' features are made once


@dataclass(frozen=True, eq=False)
class Trained:
    """Both networks after training."""

    pool: OpinionPool
    classifier: Classifier
    history: tuple[Epoch, ...]


def train_networks(
    features: Features,
    votes: Votes,
    targets: Real64,  # (n, m): the posteriors q
    vote_bias: Real64,  # (m,): c
    pool: OpinionPool,  # with an even split
    texts: Sequence[SoftmaxRegression],
    settings: Settings,
    device: torch.device,
    progress: Progress = SILENT,
) -> Trained:
    """Train the attention over the pool's sources, and the classifier, on the posteriors."""
    run = _Run(features, votes, targets, vote_bias, pool, texts, settings, device)
    epochs = settings.network_epochs
    history = []
    with stage(progress, "networks", epochs, "epoch"):
        for t in range(1, epochs + 1):
            history.append(run.epoch(t, epochs))
            progress.advance(1, f"l1 {history[-1].l1:.3f}  l2 {history[-1].l2:.3f}")
    if history:
        history[-1] = replace(history[-1], kept=True)
    return Trained(run.pooled(), run.classifier(), tuple(history))


class _Run:
    """The state of one training."""

    def __init__(
        self,
        features: Features,
        votes: Votes,
        targets: Real64,
        vote_bias: Real64,
        pool: OpinionPool,
        texts: Sequence[SoftmaxRegression],
        settings: Settings,
        device: torch.device,
    ) -> None:
        self.features, self.votes = features, pool.known(votes, features.held)
        self.targets = targets.astype(np.float32)
        self.pool, self.texts, self.seed, self.device = pool, texts, settings.seed, device
        small = features.n * features.width <= _READY
        blocks = [block.values for block in features.blocks]
        self.ready = side_by_side(texts, blocks) if small else None
        self.bias = torch.from_numpy(vote_bias.astype(np.float32)).to(device)
        k, m = len(pool.sources), len(pool.classes)
        self.table = VoteTable(_codes(k, m), m)
        shape = Shape(features.width, settings.hidden, m, len(self.table))
        self.networks = Networks.start(shape, settings.seed, device)
        self.networks.classifier.w2.zero_()
        self.gradient = Networks.view(torch.zeros_like(self.networks.flat), shape)
        wanted = features.n * settings.network_epochs // _STEPS
        self.batch = min(max(wanted, _LEAST_BATCH), _MOST_BATCH)
        self.adam = Adam(self.networks.flat, self.gradient.flat, _PEAK, 0.0)

    def epoch(self, t: int, epochs: int) -> Epoch:
        """One pass over the documents in random order."""
        n = self.features.n
        order = np.random.default_rng([self.seed, t]).permutation(n)
        batches = range(0, n, self.batch)
        l1 = l2 = 0.0
        contested = 0
        for place, start in enumerate(batches):
            rows = np.sort(order[start : start + self.batch])
            first, second, some = self._step(rows)
            l1, l2, contested = l1 + first, l2 + second, contested + some
            rate = one_cycle((t - 1) * len(batches) + place, epochs * len(batches), _PEAK)
            self.adam.learning_rate = rate
            self.networks.flat.mul_(1 - rate * _DECAY)
            self.adam.step()
        return Epoch(t, l1 / max(contested, 1), l2 / n, 0.0, (l1 + l2) / n, 0)

    def _step(self, rows: NDArray[np.intp]) -> tuple[float, float, int]:
        """Both gradients on some documents; tells l1, l2 and how many documents l1 is of."""
        x = torch.from_numpy(self._values(rows)).to(self.device)  # (batch, d)
        q = torch.from_numpy(self.targets[rows]).to(self.device)
        l1, some = self._denoise(x, q, rows)
        theta = self.networks.classifier
        logits, hidden = theta.logits(x)
        l2, slope, _ = likelihood_loss(logits, q)
        theta.backward(self.gradient.classifier, x, hidden, slope / len(rows))
        return l1, float(l2), some

    def _values(self, rows: NDArray[np.intp]) -> Real:
        """(rows, d): features of some documents, kept ready where they are not too many."""
        if self.ready is not None:
            return self.ready[rows]
        return side_by_side(self.texts, [block.values[rows] for block in self.features.blocks])

    def _denoise(self, x: Tensor, q: Tensor, rows: NDArray[np.intp]) -> tuple[float, int]:
        votes = self.votes.take(rows)
        cells = self.pool.cells(votes)
        several = cells.sizes > 1  # one vote has all the attention, whatever the network says
        some = int(several.sum())
        into = self.gradient.attention
        if not some:
            for part in (into.w1, into.w2, into.votes):
                part.zero_()
            return 0.0, 0
        chosen = np.flatnonzero(several)
        mine, said = cells.take(chosen), self.pool.said(cells, votes)[several[cells.row]]
        pick = torch.from_numpy(chosen).to(self.device)
        loss = attention_step(
            self.networks.attention,
            into,
            x[pick],
            mine,
            torch.from_numpy(self.table.numbers(mine)).to(self.device),
            torch.from_numpy(said).to(self.device),
            self.bias,
            q[pick],
        )
        return loss, some

    def pooled(self) -> OpinionPool:
        """The pool with the attention as it is now."""
        a = self.networks.attention
        attention = Attention(_numpy(a.w1), _numpy(a.votes), _numpy(a.w2), self.table)
        return replace(self.pool, attention=attention)

    def classifier(self) -> Classifier:
        """The classifier as it is now."""
        c = self.networks.classifier
        return Classifier(_numpy(c.w1), _numpy(c.b1), _numpy(c.w2), _numpy(c.b2))


def attention_step(
    weights: AttentionWeights,
    into: AttentionWeights,
    x: Tensor,  # (r, d)
    cells: Cells,  # v votes on r documents
    number: Tensor,  # (v,): of the votes' vectors
    said: Tensor,  # (v, m): their opinions
    bias: Tensor,  # (m,)
    target: Tensor,  # (r, m)
) -> float:
    """Forwards and backwards through Eq. 1 and the pool; writes the mean gradient and tells l1."""
    row = torch.from_numpy(cells.row).to(x.device)
    scores, hidden = weights.scores(x, row, number)
    share = softmax_by_row(scores, row, cells.n)  # (v,): a_ij
    size = torch.from_numpy(cells.sizes[cells.row].astype(np.float32)).to(x.device)  # (v,): N_i
    ev = said.new_zeros(cells.n, cells.m).index_add_(0, row, said * (share * size)[:, None])
    loss, slope, _ = likelihood_loss(ev + bias, target)  # dl/dev, (r, m)
    by_share = (said * slope.index_select(0, row)).sum(1) * size  # (v,): dl/da_ij
    mean = share.new_zeros(cells.n).index_add_(0, row, share * by_share)  # (r,)
    back = share * (by_share - mean.index_select(0, row)) / cells.n  # (v,): dl/dq^_ij
    weights.backward(into, x, row, number, hidden, back)
    return float(loss)


def _codes(k: int, m: int) -> NDArray[np.int64]:
    """Every pair (source, class), as the vote table numbers them: the last outcome, silence, is left out."""
    return (np.arange(k)[:, None] * (m + 1) + np.arange(m)).ravel()


def _numpy(tensor: Tensor) -> Real:
    return np.array(tensor.cpu().numpy(), dtype=np.float32)

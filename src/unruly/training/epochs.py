"""The loop of Algorithm 1: one epoch after another, each in one step or in mini-batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from unruly.settings import Settings
from unruly.training.adam import Adam
from unruly.training.attention import Attention
from unruly.training.batch import Batch, make_batch
from unruly.training.cells import VoteTable
from unruly.training.classifier import Classifier
from unruly.training.cotrained import CoTrained
from unruly.training.denoiser import attend, denoiser_step
from unruly.training.heads import Epoch
from unruly.training.left_out import LiveRows, LiveUnits
from unruly.training.losses import likelihood_loss, self_training_loss
from unruly.training.networks import Networks, Shape
from unruly.training.pseudo_labels import pseudo_labels
from unruly.training.reliability import global_reliability
from unruly.training.temporal_ensemble import TemporalEnsemble
from unruly.training.training_set import TrainingSet
from unruly.votes.votes import Votes


@dataclass(frozen=True)
class _Sums:
    """What a step, or all steps of an epoch together, came to."""

    l1: float = 0.0
    l2: float = 0.0
    l3: float = 0.0
    matched: int = 0
    supervised: int = 0
    n: int = 0
    changed: int = 0
    received: NDArray[np.float64] | None = None  # (k,)
    even: NDArray[np.float64] | None = None  # (k,)

    def __add__(self, other: _Sums) -> _Sums:
        if self.received is None:
            return other
        mine, theirs = vars(self).values(), vars(other).values()
        return _Sums(*(a + b for a, b in zip(mine, theirs, strict=True)))


class Epochs:
    """The state of one training run."""

    def __init__(
        self, data: TrainingSet, votes: Votes, settings: Settings, device: torch.device
    ) -> None:
        self.data, self.votes, self.settings, self.device = data, votes, settings, device
        self.denoises = settings.ablation not in ("neural-only", "neural-self")
        self.classifies = settings.ablation != "rule-only"
        self.self_trains = settings.ablation in ("whole", "neural-self") and settings.c3 > 0
        # "Supervised by the initial simple majority voted labels" (section 4.2.5), or by given targets.
        self.renews = settings.ablation in ("whole", "rule-only") and not data.fixed.all()
        self.shape = Shape(data.features.width, settings.hidden, data.m, len(data.table))
        self.networks = Networks.start(self.shape, settings.seed, device)
        self.gradient = Networks.view(torch.zeros_like(self.networks.flat), self.shape)
        self.adam = Adam(
            self.networks.flat, self.gradient.flat, settings.learning_rate, settings.weight_decay
        )
        self.units, self.rows = LiveUnits(), LiveRows()
        self.used = self._used()
        size = settings.batch_size or len(self.used)
        self.whole = (
            make_batch(data, self.used, device, whole=True) if size >= len(self.used) else None
        )
        rows = data.n if self.whole is None else len(self.whole.features)
        memory = torch.zeros((rows if self.self_trains else 0, data.m), device=device)
        self.ensemble = TemporalEnsemble(memory, settings.alpha)

    def _used(self) -> NDArray[np.int64]:
        """The documents that take part in any loss."""
        if not self.classifies:
            return np.flatnonzero(self.data.matched)
        return np.arange(self.data.n) if self.self_trains else np.flatnonzero(self.data.supervised)

    def batches(self, t: int) -> Iterator[Batch]:
        """All documents in one step, or shuffled mini-batches."""
        if self.whole is not None:
            yield self.whole
            return
        order = np.random.default_rng([self.settings.seed, t]).permutation(self.used)
        size = self.settings.batch_size or len(order)
        for start in range(0, len(order), size):
            yield make_batch(
                self.data, np.sort(order[start : start + size]), self.device, whole=False
            )

    def epoch(self, t: int) -> Epoch:
        """One pass over the documents."""
        sums = _Sums()
        for batch in self.batches(t):
            sums = sums + self.step(batch, t)
        if self.whole is None and self.renews:
            sums = replace(sums, changed=self._renew_all(sums))
        total = self.settings.c1 * sums.l1 + self.settings.c2 * sums.l2 + self.settings.c3 * sums.l3
        return Epoch(
            number=t,
            l1=sums.l1 / max(sums.matched, 1),
            l2=sums.l2 / max(sums.supervised, 1),
            l3=sums.l3 / max(sums.n - sums.supervised, 1),
            total=total / max(sums.n, 1),
            changed=sums.changed,
        )

    def step(self, batch: Batch, t: int) -> _Sums:
        """One pass of the loop of Algorithm 1."""
        rows = batch.attended.rows[: batch.attended.contested]
        received = batch.received
        l1 = l2 = l3 = 0.0
        changed = 0
        if self.denoises:
            weights, said = self.networks.attention, attend(self.networks.attention, batch.attended)
            l1 = batch.l1_settled + denoiser_step(
                weights,
                self.gradient.attention,
                batch.attended,
                said,
                self._target(rows),
                self.settings.c1 / batch.n,
            )
            received = received + said.received  # sum over documents of a_ij
            if self.whole is not None and self.renews:
                changed = self._renew(batch, rows, received)
        if self.classifies:
            l2, l3 = self._classifier_step(batch, self._target(rows), t, changed)
        self.adam.step()
        return _Sums(
            l1, l2, l3, batch.matched, batch.supervised, batch.n, changed, received, batch.even
        )

    def _classifier_step(
        self, batch: Batch, contested: torch.Tensor, t: int, changed: int
    ) -> tuple[float, float]:
        """Equations 4, 6 and 7; writes the gradient and tells l2 and l3."""
        s, theta, into = self.settings, self.networks.classifier, self.gradient.classifier
        live = self.units.at(t) if self.whole is not None else None
        part = self.rows.at(t, changed) if self.whole is not None else None
        if live is not None:
            theta = theta.some(live)
            into = theta.some(torch.arange(len(live), device=self.device))
        features = batch.features if part is None else part.features
        logits, hidden = theta.logits(features)
        if part is not None:
            logits = part.renewed(logits)  # (u, m)
        if self.whole is not None:
            self.units.look(t, hidden)
        target = batch.settled.clone().index_add_(0, batch.group, contested)  # (u, m)
        l2, slope, probability = likelihood_loss(logits, target)
        slope *= s.c2 / batch.n
        l3 = 0.0
        if self.self_trains:
            ensemble = self.ensemble.update(probability, t, batch.memory)  # (u, m): p
            value, more = self_training_loss(probability, ensemble, batch.unmatched)
            slope.add_(more, alpha=s.c3 / batch.n)
            l3 = float(value)
        self.rows.look(features, logits, slope)
        mine = slope if part is None else slope.index_select(0, part.rows)
        theta.backward(into, features, hidden, mine)
        if live is not None:
            self.gradient.classifier.put(live, into)
        return float(l2), l3

    def _target(self, rows: NDArray[np.int64]) -> torch.Tensor:
        """(rows, m): the current labels of some documents, times their weights."""
        mass = self.data.labels[rows] * self.data.weights[rows, None]
        return torch.from_numpy(mass).to(self.device)

    def _renew(self, batch: Batch, rows: NDArray[np.int64], received: NDArray[np.float64]) -> int:
        """Equation 2 on the contested documents of the whole batch; the others cannot change."""
        reliability = global_reliability(received, batch.even, self.settings.reliability)
        fresh = pseudo_labels(reliability, batch.contested_votes)
        fresh = np.where(self.data.fixed[rows, None], self.data.labels[rows], fresh)
        changed = int((fresh != self.data.labels[rows]).any(axis=1).sum())
        self.data.labels[rows] = fresh
        return changed

    def _renew_all(self, sums: _Sums) -> int:
        if sums.received is None or sums.even is None:
            return 0
        return self.data.renew(
            global_reliability(sums.received, sums.even, self.settings.reliability)
        )

    def learner(self) -> CoTrained:
        """The networks as they are now, for documents in and out of training."""
        a, c, data = self.networks.attention, self.networks.classifier, self.data
        k, m = len(data.voting), data.m
        source = data.voting[data.table.codes // (m + 1)] if k else data.table.codes
        codes = source * (m + 1) + data.table.codes % (m + 1)
        return CoTrained(
            classes=self.votes.classes,
            sources=self.votes.sources,
            attention=Attention(_numpy(a.w1), _numpy(a.votes), _numpy(a.w2), VoteTable(codes, m)),
            classifier=Classifier(_numpy(c.w1), _numpy(c.b1), _numpy(c.w2), _numpy(c.b2)),
            reliability=np.zeros(len(self.votes.sources)),
            ablation=self.settings.ablation,
            attends=self.settings.attention,
            ensemble=self.settings.ensemble,
            centre=data.centre,
            scale=data.scale,
        )


def _numpy(tensor: torch.Tensor) -> NDArray[np.float32]:
    return np.asarray(tensor.cpu().numpy(), dtype=np.float32)

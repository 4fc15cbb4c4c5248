"""Algorithm 1: the denoiser and the classifier, trained together.

    Y^ <- majority vote
    for t = 1 .. s:
        A, z^  <- attention network, supervised by Y^ of the epoch before      (Eqs. 1, 3)
        Y^     <- pseudo-labels renewed with A                                 (Eq. 2)
        z~     <- classifier, supervised by the renewed Y^                     (Eq. 4)
        update W and theta with Adam on  c1 l1 + c2 l2 + c3 l3                 (Eqs. 5 to 8)

With mini-batches A is gathered over the epoch, and the pseudo-labels are renewed at its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.progress import SILENT, Progress, stage
from unruly.settings import Settings
from unruly.training.adam import Adam
from unruly.training.attention import Attention
from unruly.training.batch import Batch, make_batch
from unruly.training.cells import VoteTable
from unruly.training.classifier import Classifier, LiveUnits
from unruly.training.clean_labels import UNKNOWN, Gold, checked, set_aside
from unruly.training.compute import computing
from unruly.training.confidence import sharpness
from unruly.training.cotrained import CoTrained
from unruly.training.denoiser import attend, denoiser_step
from unruly.training.heads import Epoch
from unruly.training.losses import likelihood_loss, self_training_loss
from unruly.training.networks import Networks, Shape
from unruly.training.pseudo_labels import pseudo_labels
from unruly.training.reliability import global_reliability
from unruly.training.selection import Best, Valid, hide_votes, judge_for
from unruly.training.temporal_ensemble import TemporalEnsemble
from unruly.training.training_set import TrainingSet, prepare
from unruly.votes.votes import Votes


def cotrain(
    features: Features,
    votes: Votes,
    settings: Settings,
    *,
    clean: Gold | None = None,
    valid: Valid | None = None,
    targets: NDArray[np.floating[Any]] | None = None,
    weights: NDArray[np.floating[Any]] | None = None,
    progress: Progress = SILENT,
) -> CoTrained:
    """Train both networks on the votes and features of the same n documents.

    `clean`, (n,), holds the true class of documents where it is known, else -1. `valid` holds documents
    with true labels for `selection="gold"`. `targets`, (n, m), are soft labels that take the place of
    the pseudo-labels and are not renewed; `weights`, (n,), tell how much each document counts.

    >>> features = Features.from_array(np.eye(4, dtype=np.float32)[[0, 1, 0, 1, 2]])
    >>> votes = Votes.from_array([[0, 0], [1, -1], [0, -1], [-1, 1], [-1, -1]])
    >>> learner = cotrain(features, votes, Settings.paper())
    >>> learner.heads(features, votes).predicted[:4].tolist()
    [0, 1, 0, 1]
    """
    learning, aside = checked(clean, votes.n, votes.m), None
    if settings.calibrate and valid is None:
        learning, aside = set_aside(learning, settings.seed)
    hidden = hide_votes(features, votes, settings) & (learning == UNKNOWN)
    judge = judge_for(features, votes, settings, hidden, valid)
    data = prepare(
        features, votes, settings, hidden=hidden, clean=learning, targets=targets, weights=weights
    )
    with computing(settings) as device:
        run = _Run(data, votes, settings, device)
        best = Best(settings.patience)
        history: list[Epoch] = []
        with stage(progress, "co-training", settings.epochs, "epoch"):
            for t in range(1, settings.epochs + 1):
                epoch = run.epoch(t)
                if judge is not None:
                    epoch = replace(epoch, score=judge(run.learner()))
                    best.offer(t, epoch.score or 0.0, run.networks.flat)
                history.append(epoch)
                progress.advance(1, f"l1 {epoch.l1:.3f}  l2 {epoch.l2:.3f}  l3 {epoch.l3:.4f}")
                if judge is not None and best.enough(t):
                    break
        if best.weights is not None:
            run.networks.flat.copy_(best.weights)
        learner = run.learner()
    kept = best.epoch or len(history)
    history[kept - 1] = replace(history[kept - 1], kept=True)
    learner = replace(
        learner,
        reliability=_reliability(learner, data, votes, settings),
        history=tuple(history),
        gold_used=_gold_used(settings, learning, aside, valid),
    )
    return _calibrated(learner, features, votes, valid, aside) if settings.calibrate else learner


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


class _Run:
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
        self.live = LiveUnits()
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
            l2, l3 = self._classifier_step(batch, self._target(rows), t)
        self.adam.step()
        return _Sums(
            l1, l2, l3, batch.matched, batch.supervised, batch.n, changed, received, batch.even
        )

    def _classifier_step(
        self, batch: Batch, contested: torch.Tensor, t: int
    ) -> tuple[float, float]:
        """Equations 4, 6 and 7; writes the gradient and tells l2 and l3."""
        s, theta, into = self.settings, self.networks.classifier, self.gradient.classifier
        live = self.live.at(t) if self.whole is not None else None
        if live is not None:
            theta = theta.some(live)
            into = theta.some(torch.arange(len(live), device=self.device))
        target = batch.settled.clone().index_add_(0, batch.group, contested)  # (u, m)
        logits, hidden = theta.logits(batch.features)
        self.live.look(t, hidden)
        l2, slope, probability = likelihood_loss(logits, target)
        slope *= s.c2 / batch.n
        l3 = 0.0
        if self.self_trains:
            ensemble = self.ensemble.update(probability, t, batch.memory)  # (u, m): p
            value, more = self_training_loss(probability, ensemble, batch.unmatched)
            slope.add_(more, alpha=s.c3 / batch.n)
            l3 = float(value)
        theta.backward(into, batch.features, hidden, slope)
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


def _reliability(
    learner: CoTrained, data: TrainingSet, votes: Votes, settings: Settings
) -> NDArray[np.float64]:
    """(k,): A under the weights that are kept, over the matched documents."""
    received, even = np.zeros(votes.k), np.zeros(votes.k)
    rows = np.flatnonzero(data.matched)
    for start in range(0, len(rows), 16_384):
        part = rows[start : start + 16_384]
        given = learner.conditional_reliability(data.features.take(part), votes.matrix[part])
        received += given.sum(axis=0)
        voted = votes.matrix[part] >= 0
        even += (voted / voted.sum(axis=1, keepdims=True)).sum(axis=0)
    return global_reliability(received, even, settings.reliability)


def _calibrated(
    learner: CoTrained, features: Features, votes: Votes, valid: Valid | None, aside: Gold | None
) -> CoTrained:
    """Put both heads on one scale, by labels that training did not see."""
    if valid is not None:
        features, votes, given = valid
        gold = checked(given, votes.n, votes.m, "validation labels")
    else:
        gold = checked(aside, votes.n, votes.m)
    known = np.flatnonzero(gold >= 0)
    if not len(known):
        raise InputError(
            "calibrate = true needs true labels: at least 5 clean labels, or validation documents"
        )
    rule, text = learner.scores(features.take(known), votes.take(known))
    voted = votes.covered[known]
    labels = np.eye(votes.m)[gold[known]]  # (known, m)
    first = sharpness(rule[voted], labels[voted])[0] if voted.any() else 1.0
    return replace(learner, sharpness=(first, sharpness(text, labels)[0]))


def _gold_used(
    settings: Settings, clean: Gold, aside: Gold | None, valid: Valid | None
) -> tuple[str, ...]:
    used = []
    if (clean >= 0).any():
        used.append(f"training: {int((clean >= 0).sum())} clean labels")
    if settings.selection == "gold" and valid is not None:
        used.append(f"choice of the epoch: {valid[1].n} validation documents")
    if settings.calibrate and valid is not None:
        used.append(f"calibration: {valid[1].n} validation documents")
    elif aside is not None:
        used.append(f"calibration: {int((aside >= 0).sum())} clean labels set aside")
    return tuple(used)

"""Algorithm 1: the denoiser and the classifier, trained together.

    Y^ <- majority vote
    for t = 1 .. s:
        A, z^  <- attention network, supervised by Y^ of the epoch before      (Eqs. 1, 3)
        Y^     <- pseudo-labels renewed with A                                 (Eq. 2)
        z~     <- classifier, supervised by the renewed Y^                     (Eq. 4)
        update W and theta with Adam on  c1 l1 + c2 l2 + c3 l3                 (Eqs. 5 to 8)

With mini-batches A is gathered over the epoch, and the pseudo-labels are renewed at its end. The weights of both
networks lie in one flat vector, so that one step of Adam updates them together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.features.encoder import Features
from unruly.learner import Epoch, Gold, check_labels
from unruly.ledger import GoldUse, Use
from unruly.paper.attention import Attention, global_reliability
from unruly.paper.classifier import Classifier, LiveRows, LiveUnits
from unruly.paper.denoiser import attend, denoiser_step
from unruly.paper.inference import CoTrained, one_thread
from unruly.paper.losses import likelihood_loss, self_training_loss, total_loss, without_tiny
from unruly.paper.selection import Best, Valid, calibrated, hold_out, judge_for, set_aside
from unruly.paper.temporal_ensemble import TemporalEnsemble
from unruly.paper.training_set import Batch, TrainingSet, make_batch, prepare
from unruly.progress import SILENT, Progress, stage
from unruly.settings import PaperSettings
from unruly.statistics import Float32
from unruly.texts.columns import UNKNOWN
from unruly.votes.votes import Votes

_B1, _B2, _EPS = 0.9, 0.999, 1e-8  # of Adam
_UPDATED = 32_768  # weights updated together: their four vectors fit the cache
_CHUNK = 16_384  # documents looked at together, so that memory stays bounded


def cotrain(
    features: Features,
    votes: Votes,
    settings: PaperSettings | None = None,
    *,
    seed: int = 0,
    clean: Gold | None = None,
    valid: Valid | None = None,
    weights: NDArray[np.floating[Any]] | None = None,
    progress: Progress = SILENT,
) -> CoTrained:
    """Train both networks on the votes and features of the same n documents.

    `clean`, (n,), holds the true class of documents where it is known, else -1. `valid` holds documents
    with true labels for `selection="gold"`. `weights`, (n,), tell how much each document counts.

    >>> features = Features.from_array(np.eye(4, dtype=np.float32)[[0, 1, 0, 1, 2]])
    >>> votes = Votes.from_array([[0, 0], [1, -1], [0, -1], [-1, 1], [-1, -1]])
    >>> learner = cotrain(features, votes)
    >>> learner.heads(features, votes).predicted[:4].tolist()
    [0, 1, 0, 1]
    """
    settings = settings or PaperSettings()
    training, aside = check_labels(clean, votes.n, votes.m), None
    if settings.calibrate and valid is None:
        training, aside = set_aside(training, seed)
    held = hold_out(features, votes, settings, seed) & (training == UNKNOWN)
    judge = judge_for(features, votes, settings, held, valid)
    data = prepare(features, votes, settings, hidden=held, clean=training, weights=weights)
    with one_thread():
        run = Epochs(data, votes, settings, seed)
        best = Best(settings.patience)
        history: list[Epoch] = []
        with stage(progress, "co-training", settings.epochs, "epochs"):
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
            run.networks.flat[...] = best.weights
        learner = run.learner()
        kept = best.epoch or len(history)
        history[kept - 1] = replace(history[kept - 1], kept=True)
        learner = replace(
            learner,
            reliability=_reliability(learner, data, settings),
            history=tuple(history),
            gold_used=_gold_used(settings, training, aside, valid),
        )
        if settings.calibrate:
            learner = calibrated(learner, features, votes, valid, aside)
    return learner


@dataclass(frozen=True, eq=False)
class _Sums:
    """What a step, or all steps of an epoch together, came to."""

    l1: float = 0.0
    l2: float = 0.0
    l3: float = 0.0
    matched: int = 0
    supervised: int = 0
    n: int = 0
    changed: int = 0
    received: NDArray[np.float64] | float = 0.0  # (k,)
    even: NDArray[np.float64] | float = 0.0  # (k,)

    def __add__(self, other: _Sums) -> _Sums:
        mine, theirs = vars(self).values(), vars(other).values()
        return _Sums(*(a + b for a, b in zip(mine, theirs, strict=True)))


class Epochs:
    """The loop of Algorithm 1: one epoch after another, each in one step or in mini-batches."""

    def __init__(self, data: TrainingSet, votes: Votes, settings: PaperSettings, seed: int) -> None:
        self.data, self.votes, self.settings, self.seed = data, votes, settings, seed
        self.denoises = settings.ablation not in ("neural-only", "neural-self")
        self.classifies = settings.ablation != "rule-only"
        self.self_trains = settings.ablation in ("whole", "neural-self") and settings.c3 > 0
        # "Supervised by the initial simple majority voted labels" (section 4.2.5).
        self.renews = settings.ablation in ("whole", "rule-only") and not data.fixed.all()
        self.shape = Shape(data.features.width, settings.hidden, data.m, len(data.codes))
        self.networks = Networks.start(self.shape, seed)
        self.gradient = Networks.zeros(self.shape)
        self.adam = Adam(
            self.networks.flat, self.gradient.flat, settings.learning_rate, settings.weight_decay
        )
        self.units, self.rows = LiveUnits(), LiveRows()
        self.used = self._used()
        size = settings.batch_size or len(self.used)
        self.whole = make_batch(data, self.used, whole=True) if size >= len(self.used) else None
        rows = data.n if self.whole is None else len(self.whole.features)
        self.ensemble = TemporalEnsemble(rows if self.self_trains else 0, data.m, settings.alpha)

    def _used(self) -> NDArray[np.intp]:
        """The documents that take part in any loss."""
        if not self.classifies:
            return np.flatnonzero(self.data.matched)
        return np.arange(self.data.n) if self.self_trains else np.flatnonzero(self.data.supervised)

    def batches(self, t: int) -> Iterator[Batch]:
        """All documents in one step, or shuffled mini-batches."""
        if self.whole is not None:
            yield self.whole
            return
        order = np.random.default_rng([self.seed, t]).permutation(self.used)
        size = self.settings.batch_size or len(order)
        for start in range(0, len(order), size):
            yield make_batch(self.data, np.sort(order[start : start + size]), whole=False)

    def epoch(self, t: int) -> Epoch:
        """One pass over the documents."""
        sums = _Sums()
        for batch in self.batches(t):
            sums = sums + self.step(batch, t)
        if self.whole is None and self.renews:
            a = self._global(np.asarray(sums.received), np.asarray(sums.even))
            sums = replace(sums, changed=self.data.renew_all(a))
        return Epoch(
            number=t,
            l1=sums.l1 / max(sums.matched, 1),
            l2=sums.l2 / max(sums.supervised, 1),
            l3=sums.l3 / max(sums.n - sums.supervised, 1),
            total=total_loss(self.settings, sums.l1, sums.l2, sums.l3) / max(sums.n, 1),
            changed=sums.changed,
        )

    def step(self, batch: Batch, t: int) -> _Sums:
        """One pass of the loop of Algorithm 1."""
        attended, received = batch.attended, batch.received
        rows = attended.rows[: attended.contested]
        l1 = l2 = l3 = 0.0
        changed = 0
        if self.denoises:
            weights, attending = self.networks.attention, attend(self.networks.attention, attended)
            l1 = batch.l1_uncontested + denoiser_step(
                weights,
                self.gradient.attention,
                attended,
                attending,
                self.data.target(rows),
                self.settings.c1 / batch.n,
            )
            received = received + attending.received  # sum over documents of a_ij
            if self.whole is not None and self.renews:
                # Contested documents alone: the labels of the others cannot change.
                a = self._global(received, batch.even)
                changed = self.data.renew(rows, attended.contested_votes, a)
        if self.classifies:
            l2, l3 = self._classifier_step(batch, self.data.target(rows), t, changed)
        self.adam.step()
        return _Sums(
            l1, l2, l3, batch.matched, batch.supervised, batch.n, changed, received, batch.even
        )

    def _classifier_step(
        self, batch: Batch, contested: Float32, t: int, changed: int
    ) -> tuple[float, float]:
        """Equations 4, 6 and 7; writes the gradient and returns l2 and l3."""
        s, theta, into = self.settings, self.networks.classifier, self.gradient.classifier
        live = self.units.at(t) if self.whole is not None else None
        part = self.rows.at(t, changed) if self.whole is not None else None
        if live is not None:
            theta = theta.some(live)
            into = theta.some(np.arange(len(live)))
        features = batch.features if part is None else part.features
        logits, hidden = theta.logits(features)
        if part is not None:
            logits = part.renewed(logits)  # (u, m)
        if self.whole is not None:
            self.units.look(t, hidden)
        l2, slope, probability = likelihood_loss(logits, batch.target(contested))
        slope *= np.float32(s.c2 / batch.n)
        l3 = 0.0
        if self.self_trains:
            ensemble = self.ensemble.update(probability, t, batch.memory)  # (u, m): p
            l3, more = self_training_loss(probability, ensemble, batch.unmatched)
            slope += np.float32(s.c3 / batch.n) * more
        slope = without_tiny(slope)
        self.rows.look(features, logits, slope)
        theta.backward(into, features, hidden, slope if part is None else slope[part.rows])
        if live is not None:
            self.gradient.classifier.put(live, into)
        return l2, l3

    def _global(
        self, received: NDArray[np.float64], even: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return global_reliability(received, even, self.settings.reliability)

    def learner(self) -> CoTrained:
        """The networks as they are now, for documents in and out of training."""
        a, c, data = self.networks.attention, self.networks.classifier, self.data
        return CoTrained(
            classes=self.votes.classes,
            sources=self.votes.sources,
            attention=Attention(a.w1.copy(), a.w2.copy(), a.votes.copy()),
            codes=data.codes,
            classifier=Classifier(c.w1.copy(), c.b1.copy(), c.w2.copy(), c.b2.copy()),
            reliability=np.zeros(len(self.votes.sources)),
            ablation=self.settings.ablation,
            attends=self.settings.attention,
            ensemble=self.settings.ensemble,
            centre=data.centre,
            scale=data.scale,
        )


def _reliability(
    learner: CoTrained, data: TrainingSet, settings: PaperSettings
) -> NDArray[np.float64]:
    """(k,): A under the weights that are kept, over the matched documents."""
    received, even = np.zeros(data.matrix.shape[1]), np.zeros(data.matrix.shape[1])
    rows = np.flatnonzero(data.matched)
    for start in range(0, len(rows), _CHUNK):
        part = rows[start : start + _CHUNK]
        given = learner.conditional_reliability(data.features.take(part), data.matrix[part])
        received += given.sum(axis=0)
        voted = data.matrix[part] >= 0
        even += (voted / voted.sum(axis=1, keepdims=True)).sum(axis=0)
    return global_reliability(received, even, settings.reliability)


def _gold_used(
    settings: PaperSettings, clean: Gold, aside: Gold | None, valid: Valid | None
) -> tuple[GoldUse, ...]:
    used = []
    if (clean >= 0).any():
        used.append(GoldUse(Use.TRAINING, int((clean >= 0).sum()), "clean labels"))
    checked = 0 if valid is None else int((np.asarray(valid[2]) >= 0).sum())
    if settings.selection == "gold":
        used.append(GoldUse(Use.SELECTION, checked, "validation documents"))
    if settings.calibrate and valid is not None:
        used.append(GoldUse(Use.CALIBRATION, checked, "validation documents"))
    elif aside is not None:
        used.append(GoldUse(Use.CALIBRATION, int((aside >= 0).sum()), "clean labels"))
    return tuple(used)


@dataclass(frozen=True)
class Shape:
    """How large the networks are."""

    d: int  # features
    h: int  # hidden units of both networks
    m: int  # classes
    c: int  # pairs (source, outcome) that occur

    def sizes(self) -> list[tuple[int, ...]]:
        """The shapes of the weights in the order in which they lie in the flat vector."""
        d, h, m, c = self.d, self.h, self.m, self.c
        return [(d, h), (h,), (d, h), (h,), (h, m), (m,), (c, h)]


@dataclass(frozen=True, eq=False)
class Networks:
    """The weights (W, theta) of Algorithm 1, or their gradient."""

    flat: Float32
    attention: Attention
    classifier: Classifier

    @classmethod
    def view(cls, flat: Float32, shape: Shape) -> Networks:
        """Name the parts of a flat vector; nothing is copied."""
        sizes = shape.sizes()
        ends = np.cumsum([prod(size) for size in sizes])
        parts = np.split(flat, ends[:-1])
        w1a, w2a, w1, b1, w2, b2, votes = (
            part.reshape(size) for part, size in zip(parts, sizes, strict=True)
        )
        return cls(flat, Attention(w1a, w2a, votes), Classifier(w1, b1, w2, b2))

    @classmethod
    def zeros(cls, shape: Shape) -> Networks:
        """All weights at zero."""
        return cls.view(np.zeros(sum(prod(s) for s in shape.sizes()), dtype=np.float32), shape)

    @classmethod
    def start(cls, shape: Shape, seed: int) -> Networks:
        """Random weights, uniform in ±1/sqrt(inputs); biases and vote vectors at zero.

        The random numbers do not depend on the sources.
        """
        networks = cls.zeros(shape)
        random = np.random.RandomState(seed % 2**32)  # the same stream in every version
        for weights, inputs in (
            (networks.attention.w1, shape.d),
            (networks.attention.w2, shape.h),
            (networks.classifier.w1, shape.d),
            (networks.classifier.w2, shape.h),
        ):
            bound = float(np.float32(max(inputs, 1) ** -0.5))
            bits = random.randint(0, 2**32, size=weights.shape, dtype=np.uint32)
            weights[...] = (bits & 0xFFFFFF) * (2.0**-23 * bound) - bound  # 24 bits are a float32
        return networks


class Adam:
    """Adam (Kingma and Ba, 2015) on one flat vector of weights, in place.

    m <- b1 m + (1 - b1) g,    v <- b2 v + (1 - b2) g^2
    w <- w - lr * m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps)

    `mean` and `square` hold m / (1 - b1) and v / (1 - b2), which saves two passes over the weights.
    """

    def __init__(
        self, weights: Float32, gradient: Float32, learning_rate: float, weight_decay: float
    ) -> None:
        self.weights, self.gradient = weights, gradient
        self.learning_rate, self.weight_decay = learning_rate, weight_decay
        self.mean = np.zeros_like(weights)
        self.square = np.zeros_like(weights)
        self._scratch = np.empty(min(_UPDATED, len(weights)), dtype=np.float32)
        self.t = 0

    def step(self) -> None:
        """One update."""
        self.t += 1
        # sqrt(v / (1 - b2^t)) + eps is sqrt(square) + even, up to the factor sqrt((1 - b2) / (1 - b2^t)).
        factor = ((1 - _B2) / (1 - _B2**self.t)) ** 0.5
        even = np.float32(_EPS / factor)
        rate = np.float32(-self.learning_rate * (1 - _B1) / (1 - _B1**self.t) / factor)
        for start in range(0, len(self.weights), _UPDATED):
            part = slice(start, start + _UPDATED)
            g, w, m, v = self.gradient[part], self.weights[part], self.mean[part], self.square[part]
            scratch = self._scratch[: len(g)]
            if self.weight_decay:
                np.multiply(w, np.float32(self.weight_decay), out=scratch)
                g += scratch
            m *= np.float32(_B1)
            m += g
            np.multiply(g, g, out=scratch)
            v *= np.float32(_B2)
            v += scratch
            np.sqrt(v, out=scratch)
            scratch += even
            np.divide(m, scratch, out=scratch)
            scratch *= rate
            w += scratch

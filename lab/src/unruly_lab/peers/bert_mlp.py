"""BERT-MLP, and the classifier that all neural peers share: one hidden layer on frozen features.

    z = softmax(relu(x W1 + b1) W2 + b2),     x: the features, centred and scaled on the training documents
    l = - sum_i w_i sum_c t_ic log z_ic / sum_i w_i sum_c t_ic

"For fair comparison, all the methods ... use the same neural architecture" (Ren et al., 2020, section
4.2.1): this is the paper's classifier (Eq. 4) with its 128 hidden units, trained in mini-batches.

The paper's seventh baseline "takes the pre-trained Transformer as the feature extractor and stacks a
multi-layer perceptron on its feature encoder" (section 4.1). What differs is the labels: majority votes of
the documents that have any, the labels of all documents as the paper's method denoised them (its table
"Train a classifier with denoised labels"), or true ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unruly.errors import InputError, SettingsError
from unruly.features.encoder import Features
from unruly.learner import Gold
from unruly.ledger import GoldUse
from unruly.paper.training_set import moments, standardised
from unruly.progress import SILENT, Progress, stage
from unruly.settings import PaperSettings
from unruly_lab.peers.labels import (
    clean_used,
    denoised_labels,
    hard_targets,
    majority_labels,
    true_labels,
)
from unruly_lab.peers.networks import BestEpoch, FlatNetwork, computing
from unruly_lab.peers.systems import Documents, Proba, TrainingData

Real = NDArray[np.float32]
_CHUNK = 16_384  # documents answered together, so that memory stays bounded


def logits(parts: list[Tensor], x: Tensor) -> Tensor:
    """(n, m): scores whose softmax is z."""
    w1, b1, w2, b2 = parts  # (d, h), (h,), (h, m), (m,)
    return torch.addmm(b2, torch.addmm(b1, x, w1).relu(), w2)


def likelihood_loss(scores: Tensor, targets: Tensor) -> Tensor:
    """The mean cross-entropy; targets (n, m) are distributions times weights, zeros take no part."""
    return -(targets * scores.log_softmax(1)).sum() / targets.sum().clamp_min(1e-12)


@dataclass(frozen=True, eq=False)
class FittedMlp:
    """A trained network; a `Fitted` system on its own."""

    network: FlatNetwork
    centre: Real  # (d,)
    scale: Real  # (d,)
    gold_used: tuple[GoldUse, ...] = ()
    kept_epoch: int = 0

    @property
    def parameters(self) -> int:
        """How many numbers were trained."""
        return self.network.parameters

    def proba(self, features: Features) -> Proba:
        """(n, m): the probability of each class."""
        if features.width != len(self.centre):
            raise InputError(
                f"the network was trained on {len(self.centre)} features for each document, not "
                f"{features.width}: encode with the encoder that it was trained with"
            )
        parts = self.network.parts()
        answers = np.empty((features.n, len(parts[3])))
        with computing():
            for start in range(0, features.n, _CHUNK):
                rows = np.arange(start, min(start + _CHUNK, features.n))
                x = scaled(features.take(rows), self.centre, self.scale)
                answers[rows] = logits(parts, x).double().softmax(1).numpy()
        return answers

    def predict_proba(self, documents: Documents) -> Proba:
        """(n, m): the same, of documents; their votes are not looked at."""
        return self.proba(documents.features)


@dataclass(frozen=True)
class Mlp:
    """How the shared classifier is trained: Adam on shuffled mini-batches.

    >>> features = Features.from_array(np.repeat(np.eye(2, dtype=np.float32), 50, axis=0))
    >>> targets = np.repeat(np.eye(2), 50, axis=0)
    >>> fitted = Mlp(hidden=8).fit(features, targets, seed=1)
    >>> fitted.proba(features).argmax(axis=1)[[0, 99]].tolist(), fitted.parameters
    ([0, 1], 42)
    """

    hidden: int = 128
    epochs: int = 20
    learning_rate: float = 0.001
    batch_size: int = 256
    weight_decay: float = 0.001
    fewest_steps: int = 400  # small corpora get more epochs, up to so many steps

    def __post_init__(self) -> None:
        for name in ("hidden", "epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} = {getattr(self, name)!r}: must be 1 or more")
        if not self.learning_rate > 0:
            raise SettingsError(f"learning_rate = {self.learning_rate!r}: must be above 0")
        for name in ("weight_decay", "fewest_steps"):
            if not getattr(self, name) >= 0:
                raise SettingsError(f"{name} = {getattr(self, name)!r}: must be 0 or more")

    def fit(
        self,
        features: Features,
        targets: NDArray[np.floating[Any]],
        weights: NDArray[np.floating[Any]] | None = None,
        *,
        seed: int = 0,
        valid: tuple[Documents, Gold] | None = None,
        progress: Progress = SILENT,
    ) -> FittedMlp:
        """Learn from soft targets (n, m), a row of zeros for a document without a label.

        `weights`, (n,), tell how much each document counts. With `valid` the epoch that is right most
        often on it is kept, and `gold_used` says so; else the last.
        """
        mass = target_mass(features, targets, weights)
        used = np.flatnonzero(mass.sum(axis=1) > 0)
        if not len(used):
            raise InputError("no document has a label to learn from: write rules that match")
        centre, scale = moments(features)
        generator = torch.Generator().manual_seed(seed)
        best = BestEpoch(valid)
        with computing():
            x = scaled(features.take(used), centre, scale)  # (n, d)
            t = torch.from_numpy(mass[used])  # (n, m)
            network = self.network(x.shape[1], t.shape[1], generator)
            fitted = FittedMlp(network, centre, scale, best.gold_used)
            epochs = self.passes(len(used))
            with stage(progress, "training the classifier", epochs, "epochs"):
                for epoch in range(1, epochs + 1):
                    loss = self._epoch(network, x, t, generator)
                    best.offer(epoch, fitted.predict_proba, {"flat": network.flat})
                    progress.advance(1, f"loss {loss:.3f}")
            best.restore({"flat": network.flat})
        return replace(fitted, kept_epoch=best.epoch or epochs)

    def network(self, d: int, m: int, generator: torch.Generator) -> FlatNetwork:
        """A network with random weights."""
        h = self.hidden
        shapes = [(d, h), (h,), (h, m), (m,)]
        return FlatNetwork(shapes, generator, self.learning_rate, self.weight_decay)

    def passes(self, n: int) -> int:
        """How many epochs n documents get."""
        steps = -(-n // self.batch_size)  # in an epoch
        return max(self.epochs, -(-self.fewest_steps // steps))

    def _epoch(
        self, network: FlatNetwork, x: Tensor, t: Tensor, generator: torch.Generator
    ) -> float:
        """One pass over the documents in random order; the last batch's loss."""
        loss = 0.0
        order = torch.randperm(len(x), generator=generator)
        for start in range(0, len(x), self.batch_size):
            rows = order[start : start + self.batch_size]
            seen, wanted = x[rows], t[rows]
            loss = network.step(partial(batch_loss, x=seen, targets=wanted))
        return loss


def batch_loss(parts: list[Tensor], x: Tensor, targets: Tensor) -> Tensor:
    """The loss of one mini-batch."""
    return likelihood_loss(logits(parts, x), targets)


def scaled(features: Features, centre: Real, scale: Real) -> Tensor:
    """(n, d): features as the networks see them."""
    values = np.asarray(features.matrix(), np.float32)
    return torch.from_numpy(np.ascontiguousarray(standardised(values, centre, scale)))


def target_mass(
    features: Features,
    targets: NDArray[np.floating[Any]],
    weights: NDArray[np.floating[Any]] | None,
) -> Real:
    """(n, m): targets times weights, checked."""
    mass = np.asarray(targets, dtype=np.float32)
    if mass.ndim != 2 or len(mass) != features.n or not np.isfinite(mass).all() or mass.min() < 0:
        raise InputError(
            f"targets must be a matrix of {features.n} documents × classes, none negative or NaN, "
            f"not of shape {mass.shape}"
        )
    if weights is None:
        return mass
    given = np.asarray(weights, dtype=np.float32)
    if given.shape != (features.n,) or not np.isfinite(given).all() or (given < 0).any():
        raise InputError(
            f"weights must be {features.n} numbers, one for each document, none negative or NaN"
        )
    return mass * given[:, None]


Labels = Literal["majority", "denoised", "true"]


@dataclass(frozen=True)
class BertMlp:
    """The shared classifier on hard labels of one kind; where a clean label is known, it is taken."""

    labels: Labels = "majority"
    mlp: Mlp = field(default_factory=Mlp)
    settings: PaperSettings = field(default_factory=PaperSettings)  # of the denoising

    def fit(self, data: TrainingData, progress: Progress = SILENT) -> FittedMlp:
        """Make the labels, then train on them."""
        documents = data.documents
        labels, gold_used = self._labelled(data, progress)
        fitted = self.mlp.fit(
            documents.features,
            hard_targets(labels, documents.votes.m),
            seed=data.seed,
            valid=data.valid,
            progress=progress,
        )
        return replace(fitted, gold_used=tuple(dict.fromkeys((*gold_used, *fitted.gold_used))))

    def _labelled(self, data: TrainingData, progress: Progress) -> tuple[Gold, tuple[GoldUse, ...]]:
        match self.labels:
            case "majority":
                return majority_labels(data), clean_used(data)
            case "denoised":
                return denoised_labels(data, self.settings, progress)
            case "true":
                return true_labels(data), clean_used(data)


def majority() -> BertMlp:
    """On majority votes."""
    return BertMlp("majority")


def denoised() -> BertMlp:
    """On labels denoised by the paper's method."""
    return BertMlp("denoised")


def supervised() -> BertMlp:
    """On true labels, where the data has them."""
    return BertMlp("true")

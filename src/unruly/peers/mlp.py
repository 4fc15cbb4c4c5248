"""The classifier that all neural systems share: one hidden layer on frozen features.

    z = softmax(relu(x W1 + b1) W2 + b2),     x: the features, centred and scaled on the training documents
    l = - sum_i w_i sum_c t_ic log z_ic / sum_i w_i sum_c t_ic

"For fair comparison, all the methods ... use the same neural architecture" (Ren et al., 2020, section
4.2.1): this is the paper's classifier (Eq. 4) with its 128 hidden units, trained in mini-batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unruly.errors import InputError, SettingsError
from unruly.features.encoder import Features
from unruly.peers.system import Documents, Proba
from unruly.progress import SILENT, Progress, stage
from unruly.settings import Settings
from unruly.training.adam import Adam
from unruly.training.classifier import Classifier, ClassifierWeights
from unruly.training.clean_labels import Gold, checked
from unruly.training.compute import computing
from unruly.training.losses import likelihood_loss
from unruly.training.rule_prediction import softmax
from unruly.training.selection import Best
from unruly.training.training_set import moments, standardised

Real = NDArray[np.float32]
_CHUNK = 16_384  # documents answered together, so that memory stays bounded


@dataclass(frozen=True, eq=False)
class Network:
    """The weights in training as one flat vector, so that Adam and averaging are one step each."""

    flat: Tensor
    weights: ClassifierWeights  # views of `flat`

    @classmethod
    def view(cls, flat: Tensor, d: int, hidden: int, m: int) -> Network:
        """Name the parts of a flat vector; nothing is copied."""
        sizes = [(d, hidden), (hidden,), (hidden, m), (m,)]
        parts = torch.split(flat, [torch.Size(size).numel() for size in sizes])
        shaped = (part.view(size) for part, size in zip(parts, sizes, strict=True))
        return cls(flat, ClassifierWeights(*shaped))

    @classmethod
    def start(cls, d: int, hidden: int, m: int, generator: torch.Generator) -> Network:
        """Random weights, uniform in ±1/sqrt(inputs); biases at zero."""
        network = cls.view(torch.zeros(d * hidden + hidden + hidden * m + m), d, hidden, m)
        for weights in (network.weights.w1, network.weights.w2):
            bound = max(len(weights), 1) ** -0.5
            weights.uniform_(-bound, bound, generator=generator)
        return network

    def to(self, device: torch.device) -> Network:
        """The same on a device."""
        (d, hidden), m = self.weights.w1.shape, len(self.weights.b2)
        return Network.view(self.flat.to(device), d, hidden, m)

    def zeros(self) -> Network:
        """A place for the gradient, of the same shape."""
        (d, hidden), m = self.weights.w1.shape, len(self.weights.b2)
        return Network.view(torch.zeros_like(self.flat), d, hidden, m)

    def classifier(self) -> Classifier:
        """A copy of the weights as they are now, for new documents."""
        w = self.weights
        return Classifier(*(part.cpu().numpy().copy() for part in (w.w1, w.b1, w.w2, w.b2)))


@dataclass(frozen=True, eq=False)
class FittedMlp:
    """A trained network; a `Fitted` system on its own."""

    classifier: Classifier
    centre: Real  # (d,)
    scale: Real  # (d,)
    gold_used: tuple[str, ...] = ()
    kept_epoch: int = 0

    @property
    def parameters(self) -> int:
        """How many numbers were trained."""
        c = self.classifier
        return c.w1.size + c.b1.size + c.w2.size + c.b2.size

    def proba(self, features: Features) -> Proba:
        """(n, m): the probability of each class."""
        if features.width != len(self.centre):
            raise InputError(
                f"the network was trained on {len(self.centre)} features for each document, not "
                f"{features.width}: encode with the encoder that it was trained with"
            )
        answers = np.empty((features.n, len(self.classifier.b2)))
        for start in range(0, features.n, _CHUNK):
            rows = np.arange(start, min(start + _CHUNK, features.n))
            values = standardised(features.take(rows).matrix(), self.centre, self.scale)
            answers[rows] = softmax(self.classifier.logits(values))
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
        valid: tuple[Features, Gold] | None = None,
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
        with computing(Settings()) as device:
            x = torch.from_numpy(standardised(features.take(used).matrix(), centre, scale))
            t = torch.from_numpy(mass[used])
            x, t = x.to(device), t.to(device)
            network = Network.start(features.width, self.hidden, t.shape[1], generator).to(device)
            judge = Judge.of(valid, t.shape[1], centre, scale)
            epochs = self.passes(len(used))
            with stage(progress, "training the classifier", epochs, "epoch"):
                kept = self._train(network, x, t, epochs, generator, judge, progress)
            classifier = network.classifier()
        return FittedMlp(classifier, centre, scale, judge.gold_used if judge else (), kept)

    def passes(self, n: int) -> int:
        """How many epochs n documents get."""
        steps = -(-n // self.batch_size)  # in an epoch
        return max(self.epochs, -(-self.fewest_steps // steps))

    def _train(
        self,
        network: Network,
        x: Tensor,  # (n, d)
        t: Tensor,  # (n, m)
        epochs: int,
        generator: torch.Generator,
        judge: Judge | None,
        progress: Progress,
    ) -> int:
        gradient = network.zeros()
        adam = Adam(network.flat, gradient.flat, self.learning_rate, self.weight_decay)
        best = Best(patience=0)
        for epoch in range(1, epochs + 1):
            total = 0.0
            order = torch.randperm(len(x), generator=generator).to(x.device)
            for start in range(0, len(x), self.batch_size):
                rows = order[start : start + self.batch_size]
                total += _step(network, gradient, x[rows], t[rows])
                adam.step()
            if judge is not None:
                best.offer(epoch, judge.accuracy(network.classifier()), network.flat)
            progress.advance(1, f"loss {total / float(t.sum()):.3f}")
        if best.weights is not None:
            network.flat.copy_(best.weights)
        return best.epoch or epochs


def _step(network: Network, gradient: Network, x: Tensor, t: Tensor) -> float:
    """The loss of one mini-batch, summed; its mean's gradient is left in `gradient`."""
    logits, hidden = network.weights.logits(x)
    loss, slope, _ = likelihood_loss(logits, t)
    network.weights.backward(gradient.weights, x, hidden, slope / t.sum())
    return float(loss)


@dataclass(frozen=True, eq=False)
class Judge:
    """Validation documents with true labels, to choose an epoch by."""

    values: Real  # (n, d), standardised
    gold: Gold  # (n,)

    @classmethod
    def of(
        cls, valid: tuple[Features, Gold] | None, m: int, centre: Real, scale: Real
    ) -> Judge | None:
        """The documents whose class is known; None when nothing was given."""
        if valid is None:
            return None
        features, labels = valid
        gold = checked(labels, features.n, m, "validation labels")
        known = np.flatnonzero(gold >= 0)
        if not len(known):
            raise InputError("none of the validation documents has a true label")
        return cls(standardised(features.take(known).matrix(), centre, scale), gold[known])

    @property
    def gold_used(self) -> tuple[str, ...]:
        """What it costs in true labels."""
        return (f"choice of the epoch: {len(self.gold)} validation documents",)

    def accuracy(self, classifier: Classifier) -> float:
        """The share that a network gets right."""
        return float((classifier.logits(self.values).argmax(axis=1) == self.gold).mean())


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

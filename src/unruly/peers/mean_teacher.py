"""Mean teacher: a student learns from labels and from its own averaged past.

    teacher   theta' <- a theta' + (1 - a) theta,    a = min(1 - 1/(t+1), decay)       after each step t
    loss      l = CE(labels, f(x + e; theta)) + w(t) mean |f(x + e; theta) - f(x + e'; theta')|^2
    ramp-up   w(t) = consistency * exp(-5 (1 - T)^2),    T = min(t / (ramp_up * steps), 1)

The first term is over the documents with a label, here their majority vote; the second over all. e and
e' are two draws of noise on the features: Gaussian, and some features left out. The teacher answers.

A. Tarvainen and H. Valpola (2017), Mean teachers are better role models: weight-averaged consistency
targets improve semi-supervised deep learning results, NeurIPS.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import exp

import torch
from torch import Tensor

from unruly.errors import InputError, SettingsError
from unruly.peers.labels import clean_used, hard_targets, majority_labels
from unruly.peers.mlp import FittedMlp, Judge, Mlp, Network
from unruly.peers.system import Lesson
from unruly.progress import SILENT, Progress, stage
from unruly.settings import Settings
from unruly.training.adam import Adam
from unruly.training.classifier import Classifier
from unruly.training.compute import computing
from unruly.training.losses import likelihood_loss, self_training_loss
from unruly.training.selection import Best
from unruly.training.training_set import moments, standardised


@dataclass(frozen=True)
class MeanTeacher:
    """The shared classifier, trained by majority votes and by consistency with its teacher."""

    mlp: Mlp = field(default_factory=Mlp)
    decay: float = 0.99
    consistency: float = 10.0
    ramp_up: float = 0.3  # share of the steps
    noise: float = 0.15  # standard deviation, of standardised features
    dropout: float = 0.1  # share of features left out

    def __post_init__(self) -> None:
        for name in ("decay", "ramp_up", "dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise SettingsError(f"{name} = {getattr(self, name)!r}: must be a share below 1")
        for name in ("consistency", "noise"):
            if not getattr(self, name) >= 0:
                raise SettingsError(f"{name} = {getattr(self, name)!r}: must be 0 or more")

    def fit(self, lesson: Lesson, progress: Progress = SILENT) -> FittedMlp:
        """Train the student step by step; the teacher follows."""
        documents, m = lesson.documents, lesson.documents.votes.m
        features = documents.features
        targets = hard_targets(majority_labels(lesson), m)
        if not targets.any():
            raise InputError("no document has a label to learn from: write rules that match")
        centre, scale = moments(features)
        valid = (lesson.valid[0].features, lesson.valid[1]) if lesson.valid else None
        judge = Judge.of(valid, m, centre, scale)
        with computing(Settings()) as device:
            x = torch.from_numpy(standardised(features.matrix(), centre, scale)).to(device)
            school = School(self, x, torch.from_numpy(targets).to(device), lesson.seed)
            epochs = self.mlp.passes(documents.n)
            with stage(progress, "mean teacher", epochs, "epoch"):
                classifier, kept = school.run(epochs, judge, progress)
        used = (*clean_used(lesson), *(judge.gold_used if judge else ()))
        return replace(FittedMlp(classifier, centre, scale, used), kept_epoch=kept)

    def weight(self, step: int, steps: int) -> float:
        """w(t): how much consistency counts.

        >>> [round(MeanTeacher().weight(t, 1000), 2) for t in (0, 150, 300, 1000)]
        [0.07, 2.87, 10.0, 10.0]
        """
        done = min(step / max(self.ramp_up * steps, 1), 1.0)
        return self.consistency * exp(-5 * (1 - done) ** 2)


class School:
    """A student, its teacher, and the documents: the state of one training run."""

    def __init__(self, how: MeanTeacher, x: Tensor, targets: Tensor, seed: int) -> None:
        self.how, self.x, self.targets = how, x, targets  # (n, d), (n, m)
        self.generator = torch.Generator().manual_seed(seed)
        d, m = x.shape[1], targets.shape[1]
        self.student = Network.start(d, how.mlp.hidden, m, self.generator).to(x.device)
        self.teacher = Network.view(self.student.flat.clone(), d, how.mlp.hidden, m)
        self.gradient = self.student.zeros()
        self.adam = Adam(
            self.student.flat, self.gradient.flat, how.mlp.learning_rate, how.mlp.weight_decay
        )
        self.t = 0

    def run(self, epochs: int, judge: Judge | None, progress: Progress) -> tuple[Classifier, int]:
        """The teacher after the epoch that is kept, and which that is."""
        size = self.how.mlp.batch_size
        steps = epochs * -(-len(self.x) // size)
        best = Best(patience=0)
        for epoch in range(1, epochs + 1):
            order = torch.randperm(len(self.x), generator=self.generator).to(self.x.device)
            for start in range(0, len(order), size):
                self.step(order[start : start + size], self.how.weight(self.t, steps))
            if judge is not None:
                best.offer(epoch, judge.accuracy(self.teacher.classifier()), self.teacher.flat)
            progress.advance(1)
        if best.weights is not None:
            self.teacher.flat.copy_(best.weights)
        return self.teacher.classifier(), best.epoch or epochs

    def step(self, rows: Tensor, weight: float) -> None:
        """One mini-batch: labels where there are some, consistency everywhere."""
        x, t = self.x[rows], self.targets[rows]  # (b, d), (b, m)
        seen = self.noisy(x)
        logits, hidden = self.student.weights.logits(seen)
        _, slope, said = likelihood_loss(logits, t)  # (b, m), (b, m)
        taught = self.teacher.weights.logits(self.noisy(x))[0].softmax(1)  # (b, m)
        _, apart = self_training_loss(said, taught, x.new_ones(len(x)))  # (b, m)
        slope = slope / t.sum().clamp_min(1) + apart * (weight / t.numel())
        self.student.weights.backward(self.gradient.weights, seen, hidden, slope)
        self.adam.step()
        self.t += 1
        follow(self.teacher.flat, self.student.flat, self.t, self.how.decay)

    def noisy(self, x: Tensor) -> Tensor:
        """(b, d): Gaussian noise on every feature, then some left out and the rest scaled up."""
        noise = torch.empty(x.shape).normal_(0, 1, generator=self.generator)
        kept = torch.empty(x.shape).uniform_(generator=self.generator) >= self.how.dropout
        shaken = x.add(noise.to(x.device), alpha=self.how.noise)
        return shaken * kept.to(x.device) / (1 - self.how.dropout)


def follow(teacher: Tensor, student: Tensor, t: int, decay: float) -> None:
    """theta' <- a theta' + (1 - a) theta, after step t >= 1; at first the teacher is a plain mean.

    >>> teacher = torch.zeros(1)
    >>> for t, student in enumerate([1.0, 2.0, 6.0], start=1):
    ...     follow(teacher, torch.tensor([student]), t, decay=0.9)
    >>> teacher.item()  # (0 + 1 + 2 + 6) / 4
    2.25
    """
    a = min(1 - 1 / (t + 1), decay)
    teacher.lerp_(student, 1 - a)

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
from unruly.paper.training_set import moments
from unruly.progress import SILENT, Progress, stage
from unruly_lab.peers.bert_mlp import FittedMlp, Mlp, likelihood_loss, logits, scaled
from unruly_lab.peers.labels import clean_used, hard_targets, majority_labels
from unruly_lab.peers.networks import BestEpoch, computing
from unruly_lab.peers.systems import TrainingData


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

    def fit(self, data: TrainingData, progress: Progress = SILENT) -> FittedMlp:
        """Train the student step by step; the teacher follows, and answers."""
        features, m = data.documents.features, data.documents.votes.m
        targets = hard_targets(majority_labels(data), m)
        if not targets.any():
            raise InputError("no document has a label to learn from: write rules that match")
        centre, scale = moments(features)
        best = BestEpoch(data.valid)
        with computing():
            school = School(
                self, scaled(features, centre, scale), torch.from_numpy(targets), data.seed
            )
            used = (*clean_used(data), *best.gold_used)
            fitted = FittedMlp(school.teacher, centre, scale, used)
            epochs = self.mlp.passes(len(school.x))
            with stage(progress, "mean teacher", epochs, "epochs"):
                for epoch in range(1, epochs + 1):
                    school.epoch(epochs)
                    best.offer(epoch, fitted.predict_proba, {"flat": school.teacher.flat})
                    progress.advance(1)
            best.restore({"flat": school.teacher.flat})
        return replace(fitted, kept_epoch=best.epoch or epochs)

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
        self.student = how.mlp.network(x.shape[1], targets.shape[1], self.generator)
        self.teacher = how.mlp.network(x.shape[1], targets.shape[1], torch.Generator())
        self.teacher.flat.copy_(self.student.flat)
        self.t = 0

    def epoch(self, epochs: int) -> None:
        """One pass over all documents, of so many."""
        size = self.how.mlp.batch_size
        steps = epochs * -(-len(self.x) // size)
        order = torch.randperm(len(self.x), generator=self.generator)
        for start in range(0, len(order), size):
            self.step(order[start : start + size], self.how.weight(self.t, steps))

    def step(self, rows: Tensor, weight: float) -> None:
        """One mini-batch: labels where there are some, consistency everywhere."""
        x, t = self.x[rows], self.targets[rows]  # (b, d), (b, m)
        seen, again = self.noisy(x), self.noisy(x)
        taught = logits(self.teacher.parts(), again).softmax(1)  # (b, m)

        def loss(parts: list[Tensor]) -> Tensor:
            scores = logits(parts, seen)  # (b, m)
            apart = (scores.softmax(1) - taught).square().mean()
            labelled = likelihood_loss(scores, t) if bool(t.any()) else scores.new_zeros(())
            return labelled + weight * apart

        self.student.step(loss)
        self.t += 1
        follow(self.teacher.flat, self.student.flat, self.t, self.how.decay)

    def noisy(self, x: Tensor) -> Tensor:
        """(b, d): Gaussian noise on every feature, then some left out and the rest scaled up."""
        noise = torch.empty(x.shape).normal_(0, 1, generator=self.generator)
        kept = torch.empty(x.shape).uniform_(generator=self.generator) >= self.how.dropout
        shaken = x.add(noise, alpha=self.how.noise)
        return shaken * kept / (1 - self.how.dropout)


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

"""The labels that supervised models are trained on here: majority votes, denoised ones, or true ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.labelmodels.majority_vote import MajorityVote
from unruly.peers.system import Lesson
from unruly.progress import SILENT, Progress
from unruly.settings import Settings
from unruly.training.clean_labels import Gold, checked
from unruly.training.cotrained import CoTrained
from unruly.training.cotraining import cotrain

Targets = NDArray[np.float32]  # (n, m): a distribution, or zeros where there is no label


def clean_labels(lesson: Lesson) -> Gold:
    """(n,): the true labels that the lesson gives, -1 elsewhere."""
    votes = lesson.documents.votes
    return checked(lesson.clean, votes.n, votes.m)


def majority_labels(lesson: Lesson) -> Gold:
    """(n,): the class that most sources name, ties drawn by the seed; -1 without a vote.

    A clean label stands in place of the weak one.
    """
    votes = lesson.documents.votes
    voted = MajorityVote(ties="random", seed=lesson.seed).fit(votes).predict(votes)
    return _cleaned(voted.astype(np.int64), lesson)


def denoised_labels(
    lesson: Lesson, settings: Settings | None = None, progress: Progress = SILENT
) -> tuple[Gold, tuple[str, ...]]:
    """(n,): what the paper's method says of every training document, and what gold it used.

    A clean label stands in place of the weak one.
    """
    learner = paper_learner(lesson, settings or Settings.paper(), progress)
    documents = lesson.documents
    said = learner.soft_labels(documents.votes, documents.features).argmax(axis=1)
    return _cleaned(said.astype(np.int64), lesson), learner.gold_used


def paper_learner(lesson: Lesson, settings: Settings, progress: Progress = SILENT) -> CoTrained:
    """The paper's method on a lesson: the epoch best on `valid` is kept when there is one, else the last."""
    documents, valid = lesson.documents, None
    if lesson.valid is not None:
        judged, gold = lesson.valid
        valid = (judged.features, judged.votes, gold)
    own = replace(settings, selection="gold" if valid else "last", seed=lesson.seed)
    return cotrain(
        documents.features, documents.votes, own, clean=lesson.clean, valid=valid, progress=progress
    )


def true_labels(lesson: Lesson) -> Gold:
    """(n,): the clean labels alone; refuses a lesson without any."""
    labels = clean_labels(lesson)
    if not (labels >= 0).any():
        raise InputError(
            "a supervised model learns from true labels, and the lesson has none: give clean labels"
        )
    return labels


def clean_used(lesson: Lesson) -> tuple[str, ...]:
    """The ledger's entry for training on clean labels; empty without any."""
    known = int((clean_labels(lesson) >= 0).sum())
    return (f"training: {known} clean labels",) if known else ()


def hard_targets(labels: Gold, m: int) -> Targets:
    """(n, m): one-hot rows, zeros where the label is -1.

    >>> hard_targets(np.array([1, -1]), 2).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    return np.eye(m + 1, dtype=np.float32)[labels, :m]


def with_clean(targets: Targets, lesson: Lesson) -> Targets:
    """(n, m): soft targets, with clean labels in the place of weak ones."""
    clean = clean_labels(lesson)
    known = clean >= 0
    mixed = targets.copy()
    mixed[known] = hard_targets(clean[known], targets.shape[1])
    return mixed


def _cleaned(labels: Gold, lesson: Lesson) -> Gold:
    clean = clean_labels(lesson)
    return np.where(clean >= 0, clean, labels)

"""The labels that supervised models are trained on here: majority votes, denoised ones, or true ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.labelmodels.majority_vote import majority_vote
from unruly.learner import Gold, check_labels
from unruly.ledger import GoldUse, Use
from unruly.paper.cotraining import cotrain
from unruly.paper.inference import CoTrained
from unruly.progress import SILENT, Progress
from unruly.settings import PaperSettings
from unruly.texts.columns import UNKNOWN
from unruly_lab.peers.networks import BestEpoch
from unruly_lab.peers.systems import TrainingData

Targets = NDArray[np.float32]  # (n, m): a distribution, or zeros where there is no label


def clean_labels(data: TrainingData) -> Gold:
    """(n,): the true labels that the data gives, -1 elsewhere."""
    votes = data.documents.votes
    return check_labels(data.clean, votes.n, votes.m)


def share(gold: Gold, part: float, seed: int) -> Gold:
    """Keep the true labels of a random part of the documents, at least one, and forget the rest.

    >>> int((share(np.zeros(1000, np.int64), 0.005, seed=0) >= 0).sum())
    5
    """
    if not 0 < part <= 1:
        raise InputError(f"a share of {part} clean labels: it must be more than 0 and at most 1")
    known = np.flatnonzero(gold >= 0)
    count = min(len(known), max(1, round(part * len(known))))
    kept = np.random.default_rng(seed).permutation(known)[:count]
    clean = np.full(len(gold), UNKNOWN, dtype=np.int64)
    clean[kept] = gold[kept]
    return clean


def majority_labels(data: TrainingData) -> Gold:
    """(n,): the class that most sources name, ties drawn by the seed; -1 without a vote.

    A clean label stands in place of the weak one.
    """
    votes = data.documents.votes
    voted = majority_vote(votes, ties="random", seed=data.seed)
    return _cleaned(voted.astype(np.int64), data)


def denoised_labels(
    data: TrainingData, settings: PaperSettings | None = None, progress: Progress = SILENT
) -> tuple[Gold, tuple[GoldUse, ...]]:
    """(n,): what the paper's method says of every training document, and what gold it used.

    A clean label stands in place of the weak one.
    """
    learner = paper_learner(data, settings or PaperSettings(), progress)
    documents = data.documents
    heads = learner.heads(documents.features, documents.votes)
    said = heads.combined.argmax(axis=1)
    return _cleaned(said.astype(np.int64), data), all_used(data)


def paper_learner(
    data: TrainingData, settings: PaperSettings, progress: Progress = SILENT
) -> CoTrained:
    """The paper's method on this data: the epoch best on `valid` is kept when there is one, else the last."""
    documents, valid = data.documents, None
    if data.valid is not None:
        judged, gold = data.valid
        valid = (judged.features, judged.votes, gold)
    return cotrain(
        documents.features,
        documents.votes,
        replace(settings, selection="gold" if valid else "last"),
        seed=data.seed,
        clean=data.clean,
        valid=valid,
        progress=progress,
    )


def true_labels(data: TrainingData) -> Gold:
    """(n,): the clean labels alone; refuses data without any."""
    labels = clean_labels(data)
    if not (labels >= 0).any():
        raise InputError(
            "a supervised model learns from true labels, and there are none: give clean labels"
        )
    return labels


def clean_used(data: TrainingData) -> tuple[GoldUse, ...]:
    """The ledger's entry for training on clean labels; empty without any."""
    known = int((clean_labels(data) >= 0).sum())
    return (GoldUse(Use.TRAINING, known, "clean labels"),) if known else ()


def all_used(data: TrainingData) -> tuple[GoldUse, ...]:
    """The same, and validation labels where they choose the epoch: all that the paper's method is given."""
    return (*clean_used(data), *BestEpoch(data.valid).gold_used)


def hard_targets(labels: Gold, m: int) -> Targets:
    """(n, m): one-hot rows, zeros where the label is -1.

    >>> hard_targets(np.array([1, -1]), 2).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    return np.eye(m + 1, dtype=np.float32)[labels, :m]


def with_clean(targets: Targets, data: TrainingData) -> Targets:
    """(n, m): soft targets, with clean labels in the place of weak ones."""
    clean = clean_labels(data)
    known = clean >= 0
    mixed = targets.copy()
    mixed[known] = hard_targets(clean[known], targets.shape[1])
    return mixed


def _cleaned(labels: Gold, data: TrainingData) -> Gold:
    clean = clean_labels(data)
    return np.where(clean >= 0, clean, labels)

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

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.progress import SILENT, Progress, stage
from unruly.settings import Settings
from unruly.training.clean_labels import UNKNOWN, Gold, checked, set_aside
from unruly.training.compute import computing
from unruly.training.confidence import sharpness
from unruly.training.cotrained import CoTrained
from unruly.training.epochs import Epochs
from unruly.training.heads import Epoch
from unruly.training.reliability import global_reliability
from unruly.training.selection import Best, Valid, hide_votes, judge_for
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
        run = Epochs(data, votes, settings, device)
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

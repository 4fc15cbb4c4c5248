"""A fitted model and people's labels: what to ask next, how accurate the model is, and what labels would change."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.facts import Use
from unruly.features.encoder import Features
from unruly.labelling.answers import Labelled
from unruly.labelling.estimates import AccuracyEstimate, estimate_accuracy, hold_out
from unruly.labelling.queue import Questions, ask
from unruly.model.fitted import Fitted
from unruly.model.fitting import refit
from unruly.progress import SILENT, Progress
from unruly.votes.votes import Votes
from unruly.wording import plural


def ask_with(
    fitted: Fitted,
    features: Features,
    votes: Votes,
    n: int,
    by: str,
    labels: Labelled | None,
    seed: int,
) -> Questions:
    """At most n of these documents that have no answer yet."""
    answered = None if labels is None else _same(labels, votes).answered
    proba = fitted.learner.heads(features, votes).combined
    return ask(votes, proba, n, by, answered=answered, seed=seed)


def accuracy_with(
    fitted: Fitted,
    features: Features,
    votes: Votes,
    labels: Labelled,
    progress: Progress = SILENT,
) -> AccuracyEstimate:
    """The accuracy on all these documents; labels are held out of training in turn where the model learnt from any."""
    proba = fitted.learner.heads(features, votes).combined
    held_out = None
    if fitted.ledger.used_for(Use.TRAINING):
        again = partial(refit, fitted)
        held_out = hold_out(
            again, features, votes, _same(labels, votes), seed=fitted.seed, progress=progress
        )
    return estimate_accuracy(proba, _same(labels, votes), held_out)


def preview(
    fitted: Fitted,
    features: Features,
    votes: Votes,
    labels: Labelled,
    progress: Progress = SILENT,
) -> NDArray[np.float32]:
    """(n, m): what the model would give to these documents if it were fitted on them with these labels."""
    known = _same(labels, votes)
    learner = refit(fitted, features, votes, known.numbers, known.weights, progress)
    return learner.heads(features, votes).combined


def _same(labels: Labelled, votes: Votes) -> Labelled:
    if len(labels.numbers) != votes.n:
        raise InputError(
            f"{plural(votes.n, 'document')}, but labels of {len(labels.numbers):,}: they must be the same"
        )
    return labels

"""Which method trains the two heads, and which class reads them back from a model file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError, ModelFileError
from unruly.features.encoder import Features
from unruly.progress import SILENT, Progress
from unruly.recipe.recipe import Recipe
from unruly.settings import Settings
from unruly.training.cotrained import CoTrained
from unruly.training.heads import Learner
from unruly.votes.votes import Votes

Valid = tuple[Features, Votes, NDArray[np.int64]]
Prior = str | tuple[float, ...] | None  # a word, one number for each class, or undecided


@dataclass(frozen=True, eq=False)
class Lesson:
    """All that a learner is trained on."""

    features: Features
    votes: Votes
    settings: Settings
    clean: NDArray[np.int64] | None = None
    valid: Valid | None = None
    prior: Prior = None


def learn(lesson: Lesson, progress: Progress = SILENT) -> Learner:
    """Train by the method that the settings name."""
    train = _by_paper if lesson.settings.method == "paper" else _by_recipe
    return train(lesson, progress)


def _by_paper(lesson: Lesson, progress: Progress) -> Learner:
    from unruly.training.cotraining import cotrain  # brings torch, which only training needs

    return cotrain(
        lesson.features,
        lesson.votes,
        lesson.settings,
        clean=lesson.clean,
        valid=lesson.valid,
        progress=progress,
    )


def _by_recipe(lesson: Lesson, progress: Progress) -> Learner:
    from unruly.recipe.fitting import fit_recipe  # brings torch, too

    if lesson.valid is not None or lesson.settings.selection == "gold":
        raise InputError(
            'validation labels choose an epoch of the paper\'s method only: set method="paper", or give '
            "true labels as clean="
        )
    if lesson.settings.calibrate:
        raise InputError(
            'calibrate=True is a step of the paper\'s method only: set method="paper", or leave it out, for '
            "the default's probabilities are calibrated without gold"
        )
    return fit_recipe(
        lesson.features,
        lesson.votes,
        lesson.settings,
        prior=lesson.prior,
        clean=lesson.clean,
        progress=progress,
    )


_RESTORERS: dict[str, Callable[[Mapping[str, NDArray[Any]], Mapping[str, Any]], Learner]] = {
    "CoTrained": CoTrained.restore,
    "Recipe": Recipe.restore,
}


def restore(kind: str, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> Learner:
    """The learner again, from a model file."""
    if kind not in _RESTORERS:
        raise ModelFileError(
            f"the model was trained by {kind!r}, which this version of unruly does not know"
        )
    return _RESTORERS[kind](arrays, facts)

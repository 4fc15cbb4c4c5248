"""The default recipe as a system."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.peers.planted_task import planted_task, same_twice

from unruly.peers.default_recipe import DefaultRecipe
from unruly.peers.votes_only import majority_vote
from unruly.recipe.fitting import fit_recipe
from unruly.settings import Settings
from unruly.training.clean_labels import share


@pytest.mark.parametrize("m", [2, 3])
def test_it_beats_chance_and_majority_vote_without_gold(m: int) -> None:
    task = planted_task(m=m)
    assert task.accuracy(DefaultRecipe()) > max(1 / m + 0.3, task.accuracy(majority_vote()))
    assert DefaultRecipe().fit(task.lesson).gold_used == ()


def test_validation_labels_are_never_looked_at() -> None:
    task = planted_task()
    shown = replace(task.lesson, valid=(task.valid, task.valid_gold))
    blind, told = DefaultRecipe().fit(task.lesson), DefaultRecipe().fit(shown)
    assert told.gold_used == ()
    assert np.array_equal(blind.predict_proba(task.test), told.predict_proba(task.test))


def test_it_is_repeatable_and_clean_labels_are_in_the_ledger() -> None:
    task = planted_task()
    lesson = replace(task.lesson, clean=share(task.gold, 0.25, seed=0))
    assert same_twice(DefaultRecipe(), task, lesson)
    assert DefaultRecipe().fit(lesson).gold_used == (
        "training: 100 clean labels",
        "class prior: 100 clean labels",
    )


def test_it_is_the_recipe_with_the_lesson_s_prior_and_seed() -> None:
    task = planted_task()
    own = Settings(hidden=16)
    fitted = DefaultRecipe(own).fit(replace(task.lesson, prior=(0.6, 0.4), seed=5))
    plain = fit_recipe(
        task.train.features, task.train.votes, replace(own, seed=5), prior=(0.6, 0.4)
    )
    assert fitted.learner.prior == pytest.approx((0.6, 0.4))
    said = plain.heads(task.test.features, task.test.votes).combined
    assert np.array_equal(fitted.predict_proba(task.test), said.astype(np.float64))
    regression, classifier = (24 * 2 + 2), (24 * 16 + 16 + 16 * 2 + 2)
    assert fitted.parameters > regression + classifier

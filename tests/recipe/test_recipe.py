"""What the recipe says of documents, and how it is written down."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.recipe.small_task import Task, small_task

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.recipe import recipe as module
from unruly.recipe.fitting import fit_recipe
from unruly.recipe.recipe import Recipe
from unruly.settings import Settings
from unruly.training.heads import BOTH, CLASSIFIER, DENOISER
from unruly.votes.votes import Votes


@pytest.fixture(scope="module")
def task() -> Task:
    return small_task(m=3)


@pytest.fixture(scope="module")
def recipe(task: Task) -> Recipe:
    return fit_recipe(task.features, task.votes, Settings())


def test_probabilities_of_every_head(task: Task, recipe: Recipe) -> None:
    heads = recipe.heads(task.features, task.votes)
    for said in (heads.denoiser, heads.classifier, heads.combined):
        np.testing.assert_allclose(said.sum(axis=1), 1, atol=1e-5)
    uncovered = ~task.votes.covered
    np.testing.assert_allclose(heads.denoiser[uncovered], 1 / 3, atol=1e-6)
    assert (heads.conditional[~task.votes.voted] == 0).all()
    assert (heads.predicted == task.gold).mean() > 0.93
    np.testing.assert_array_equal(recipe.soft_labels(task.votes, task.features), heads.combined)


def test_who_decided(task: Task, recipe: Recipe) -> None:
    heads = recipe.heads(task.features, task.votes)
    first, second = heads.denoiser.argmax(axis=1), heads.classifier.argmax(axis=1)
    both, denoiser = heads.decided_by == BOTH, heads.decided_by == DENOISER
    assert (first == second)[both].all()
    assert (first != second)[denoiser].all()
    assert (heads.predicted == first)[both | denoiser].all()
    assert (heads.decided_by[~task.votes.covered] == CLASSIFIER).all()


def test_arrays_and_facts_bring_it_back(task: Task, recipe: Recipe) -> None:
    facts = json.loads(json.dumps(recipe.facts()))
    again = Recipe.restore(recipe.arrays(), facts)
    np.testing.assert_array_equal(
        again.heads(task.features, task.votes).combined,
        recipe.heads(task.features, task.votes).combined,
    )
    assert (again.notes, again.prior, again.history) == (
        recipe.notes,
        recipe.prior,
        recipe.history,
    )


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(
    task: Task, recipe: Recipe
) -> None:
    same = fit_recipe(task.features, task.votes, Settings())
    other = fit_recipe(task.features, task.votes, Settings(seed=1))
    for name, values in recipe.arrays().items():
        assert values.tobytes() == same.arrays()[name].tobytes(), name
    assert recipe.b.tobytes() != other.b.tobytes()


def test_many_documents_are_answered_in_chunks(
    task: Task, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = recipe.heads(task.features, task.votes)
    monkeypatch.setattr(module, "_CHUNK", 128)
    parts = recipe.heads(task.features, task.votes)
    np.testing.assert_allclose(parts.combined, whole.combined, atol=1e-5)
    np.testing.assert_array_equal(parts.decided_by, whole.decided_by)


def test_features_side_by_side_are_taken_apart(task: Task, recipe: Recipe) -> None:
    joined = Features.from_array(task.features.matrix())
    np.testing.assert_allclose(
        recipe.heads(joined, task.votes).combined,
        recipe.heads(task.features, task.votes).combined,
        atol=1e-6,
    )


def test_other_sources_and_widths_are_refused(task: Task, recipe: Recipe) -> None:
    other = Votes.from_array(task.votes.matrix[:, :2], classes=task.votes.classes)
    with pytest.raises(InputError, match="the model knows the sources"):
        recipe.heads(task.features, other)
    narrow = Features.from_array(task.features.matrix()[:, :5])
    with pytest.raises(InputError, match="trained on 64 features"):
        recipe.heads(narrow, task.votes)


def test_reliability_sums_to_one_and_better_sources_have_more(task: Task, recipe: Recipe) -> None:
    assert recipe.reliability.sum() == pytest.approx(1)
    assert np.corrcoef(recipe.reliability, np.arange(task.votes.k))[0, 1] > 0.8


def test_confidence_is_about_the_accuracy(task: Task, recipe: Recipe) -> None:
    heads = recipe.heads(task.features, task.votes)
    right = heads.predicted == task.gold
    confidence = heads.combined.max(axis=1)
    assert confidence[~right].mean() < confidence[right].mean()
    assert abs(confidence.mean() - right.mean()) < 0.1

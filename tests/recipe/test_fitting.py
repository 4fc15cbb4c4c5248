"""The default recipe at the edges: each shape is handled, or refused in one clear line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.recipe.small_task import small_task

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.model.weak_classifier import WeakClassifier
from unruly.recipe.fitting import fit_recipe
from unruly.recipe.posteriors import WHOLE
from unruly.settings import Settings
from unruly.votes.votes import Votes

rng = np.random.default_rng(0)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 12, 20])
def test_a_handful_of_documents(n: int) -> None:
    gold = np.arange(n) % 2
    features = np.eye(2)[gold] + rng.normal(0, 0.1, (n, 2))
    model = WeakClassifier().fit(features, np.stack([gold, gold], axis=1))
    proba = model.predict_proba(features, np.stack([gold, gold], axis=1))
    assert np.isfinite(proba).all()
    np.testing.assert_array_equal(proba.argmax(axis=1), gold)


def test_no_votes_at_all_is_refused_with_the_remedy() -> None:
    with pytest.raises(InputError, match="none of the 9 documents has a vote: write rules"):
        WeakClassifier().fit(rng.normal(size=(9, 2)), np.full((9, 2), -1))


def test_clean_labels_alone_are_enough() -> None:
    gold = np.arange(60) % 2
    features = np.eye(2)[gold] + rng.normal(0, 0.3, (60, 2))
    model = WeakClassifier().fit(features, np.full((60, 2), -1), clean=gold)
    assert model.score(features, gold) > 0.95
    assert "60 for training" in str(model.ledger_)


def test_a_class_nobody_votes_for_is_never_answered_and_said_so() -> None:
    task = small_task(200)
    votes = Votes.from_array(task.votes.matrix, classes=["ham", "spam", "eggs"])
    recipe = fit_recipe(task.features, votes, Settings())
    heads = recipe.heads(task.features, votes)
    assert heads.combined.shape == (200, 3)
    assert (heads.combined[:, 2] == 0).all()
    assert recipe.prior[2] == 0
    assert any("No source votes for eggs" in note for note in recipe.notes)
    two = fit_recipe(task.features, task.votes, Settings()).heads(task.features, task.votes)
    np.testing.assert_array_equal(heads.combined[:, :2], two.combined)


def test_only_one_class_is_ever_named() -> None:
    matrix = np.where(rng.random((30, 3)) < 0.5, 1, -1)
    model = WeakClassifier().fit(rng.normal(size=(30, 4)), matrix)
    assert (model.predict(rng.normal(size=(5, 4))) == 1).all()


@pytest.mark.parametrize("place", [0, 3, 6])
def test_a_source_that_always_abstains_changes_nothing_exactly(place: int) -> None:
    task = small_task(200)
    beside = Votes.from_array(np.insert(task.votes.matrix, place, -1, axis=1))
    one = fit_recipe(task.features, task.votes, Settings())
    other = fit_recipe(task.features, beside, Settings())
    np.testing.assert_array_equal(
        one.heads(task.features, task.votes).combined, other.heads(task.features, beside).combined
    )
    np.testing.assert_array_equal(one.reliability, np.delete(other.reliability, place))
    assert other.reliability[place] == 0
    assert np.isnan(other.accuracy[place]).all()


def test_one_source() -> None:
    task = small_task(400, k=1)
    recipe = fit_recipe(task.features, task.votes, Settings())
    assert recipe.reliability.tolist() == [1.0]
    assert np.isfinite(recipe.heads(task.features, task.votes).combined).all()


def test_two_hundred_sources() -> None:
    task = small_task(300, k=200)
    recipe = fit_recipe(task.features, task.votes, Settings())
    assert recipe.reliability.shape == (200,)
    assert (recipe.heads(task.features, task.votes).predicted == task.gold).mean() > 0.95


def test_fifty_classes() -> None:
    task = small_task(600, m=50, k=8)
    recipe = fit_recipe(task.features, task.votes, Settings())
    proba = recipe.heads(task.features, task.votes).combined
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-5)
    assert (proba.argmax(axis=1) == task.gold).mean() > 0.7


def test_duplicate_documents_get_one_answer_each() -> None:
    task = small_task(100)
    twice = np.repeat(np.arange(100), 2)
    features, votes = task.features.take(twice), Votes.from_array(task.votes.matrix[twice])
    proba = fit_recipe(features, votes, Settings()).heads(features, votes).combined
    np.testing.assert_array_equal(proba[::2], proba[1::2])


def test_constant_features_do_no_harm() -> None:
    task = small_task(200)
    flat = Features.from_array(np.ones((200, 3), np.float32))
    heads = fit_recipe(flat, task.votes, Settings()).heads(flat, task.votes)
    assert np.isfinite(heads.combined).all()
    assert (heads.predicted == task.gold)[task.votes.covered].mean() > 0.7


def test_broken_features_are_refused_with_their_row() -> None:
    task = small_task(50)
    task.features.blocks[0].values[7, 2] = np.nan
    with pytest.raises(InputError, match="row 7: a feature is NaN"):
        fit_recipe(task.features, task.votes, Settings())


def test_a_soft_source_is_heard() -> None:
    task = small_task(600, signal=0.4)
    odds = rng.normal(np.where(task.gold == 1, 1.5, -1.5), 1.5)
    said = np.stack([1 / (1 + np.exp(odds)), 1 / (1 + np.exp(-odds))], axis=1).astype(np.float32)
    matrix = np.column_stack([task.votes.matrix, said.argmax(axis=1)])
    votes = replace(Votes.from_array(matrix), soft={"source_6": said})
    recipe = fit_recipe(task.features, votes, Settings())
    without = fit_recipe(task.features, task.votes, Settings())
    better = (recipe.heads(task.features, votes).predicted == task.gold).mean()
    assert better > (without.heads(task.features, task.votes).predicted == task.gold).mean()


def test_the_networks_can_be_left_out() -> None:
    task = small_task(300)
    recipe = fit_recipe(
        task.features, task.votes, Settings(), ingredients=replace(WHOLE, networks=False)
    )
    assert recipe.classifier is None
    assert recipe.pool.attention is None
    assert recipe.history == ()
    assert (recipe.heads(task.features, task.votes).predicted == task.gold).mean() > 0.9


def test_the_history_is_that_of_the_two_networks() -> None:
    task = small_task(300)
    recipe = fit_recipe(task.features, task.votes, Settings(network_epochs=5))
    assert [epoch.number for epoch in recipe.history] == [1, 2, 3, 4, 5]
    assert recipe.history[-1].kept
    assert recipe.history[-1].l2 < recipe.history[0].l2


def test_the_default_of_the_estimator_is_the_recipe() -> None:
    task = small_task(300)
    model = WeakClassifier(class_prior=[0.4, 0.6]).fit(task.features.matrix(), task.votes)
    assert model.settings_.method == "default"
    assert model.summary_.prior == pytest.approx((0.4, 0.6))
    assert any("Class prior: given" in note for note in model.summary_.notes)

"""Softmax regression with all its folds at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from unruly.recipe import folded_regression
from unruly.recipe.folded_regression import FoldedRegression
from unruly.settings import Settings
from unruly.training.compute import computing

N, D, M, FOLDS = 240, 5, 3, 3


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """As in training: small products are slower on several threads."""
    with computing(Settings()):
        yield


def made(seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, M, N)
    values = (rng.normal(size=(M, D))[gold] + rng.normal(size=(N, D)) + 7).astype(np.float32)
    return values, gold, rng.permutation(N) % FOLDS


def fitted(steps: int = 400, penalty: float = 0.01) -> tuple[FoldedRegression, Any, Any, Any]:
    values, gold, fold = made()
    model = FoldedRegression(values, M, fold, FOLDS, penalty)
    model.fit(np.eye(M)[gold], np.ones(N), steps)
    return model, values, gold, fold


def reference(model: FoldedRegression, values: Any, gold: Any, rows: Any, penalty: float) -> Any:
    scaled = (values - model.centre) * model.scale
    other = LogisticRegression(C=1 / (penalty * len(rows)), tol=1e-8, max_iter=10_000)
    other.fit(scaled[rows], gold[rows])
    return other.predict_log_proba(scaled)


def test_it_is_the_regression_on_the_other_folds() -> None:
    model, values, gold, fold = fitted()
    said = model.out_of_fold()
    for f in range(FOLDS):
        theirs = reference(model, values, gold, np.flatnonzero(fold != f), 0.01)
        np.testing.assert_allclose(said[fold == f], theirs[fold == f], atol=0.02)


def test_new_documents_are_judged_by_the_model_that_saw_all() -> None:
    model, values, gold, _ = fitted()
    theirs = reference(model, values, gold, np.arange(N), 0.01)
    np.testing.assert_allclose(model.regression().log_proba(values), theirs, atol=0.02)
    np.testing.assert_allclose(model.in_fold(), theirs, atol=0.02)


def test_a_documents_own_target_never_reaches_its_judge() -> None:
    model, values, gold, fold = fitted(30)
    before = model.out_of_fold()[0]
    changed = np.eye(M)[gold]
    changed[fold == fold[0]] = 1 / M
    other = FoldedRegression(values, M, fold, FOLDS, 0.01)
    other.fit(changed, np.ones(N), 30)
    np.testing.assert_array_equal(other.out_of_fold()[0], before)


def test_few_steps_go_on_where_the_last_ones_ended() -> None:
    model, _, gold, _ = fitted(15)
    for _ in range(30):
        model.fit(np.eye(M)[gold], np.ones(N), 3)
    np.testing.assert_allclose(model.in_fold(), fitted()[0].in_fold(), atol=0.05)


def test_weights_are_copies_of_documents() -> None:
    values, gold, _ = made()
    weight = np.where(gold == 0, 3.0, 1.0)
    model = FoldedRegression(values, M, np.zeros(N, np.intp), 1, 0.01)
    model.fit(np.eye(M)[gold], weight, 400)
    rows = np.repeat(np.arange(N), weight.astype(int))
    theirs = reference(model, values, gold, rows, 0.01)
    np.testing.assert_allclose(model.in_fold(), theirs, atol=0.02)


def test_chunks_and_features_made_as_needed_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fitted(20)[0].out_of_fold()
    monkeypatch.setattr(folded_regression, "_CHUNK", 50)
    monkeypatch.setattr(folded_regression, "_KEPT", 0)
    np.testing.assert_allclose(fitted(20)[0].out_of_fold(), whole, atol=1e-4)


def test_very_wide_features_are_still_learnt_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folded_regression, "_WIDEST", 2)
    model, _, gold, _ = fitted(200)
    assert (model.in_fold().argmax(axis=1) == gold).mean() > 0.7


def test_constant_features_say_what_the_targets_say_on_average() -> None:
    model = FoldedRegression(np.ones((10, 2), np.float32), 2, np.arange(10) % 2, 2, 0.1)
    model.fit(np.tile([[0.8, 0.2]], (10, 1)), np.ones(10), 200)
    np.testing.assert_allclose(np.exp(model.out_of_fold())[:, 0], 0.8, atol=0.02)


def test_a_fold_with_nothing_to_learn_from_knows_nothing() -> None:
    model = FoldedRegression(np.ones((1, 2), np.float32), 2, np.zeros(1, np.intp), 3, 1.0)
    model.fit(np.array([[1.0, 0.0]]), np.ones(1), 5)
    np.testing.assert_allclose(np.exp(model.out_of_fold()), 0.5, atol=1e-6)
    assert np.isfinite(model.regression().weights).all()


def test_a_first_lesson_that_comes_again_ends_where_it_ended() -> None:
    values, gold, fold = made()
    model = FoldedRegression(values, M, fold, FOLDS, 0.01)
    one, other, even = np.eye(M)[gold], np.eye(M)[(gold + 1) % M], np.ones(N)

    def taught(*lessons: Any) -> Any:
        model.reset()
        for lesson in lessons:
            model.fit(lesson, even, 7)
        return model.out_of_fold()

    alone = taught(one)
    assert np.array_equal(taught(one), alone)
    turned = taught(other)
    assert not np.allclose(turned, alone), "another lesson is another lesson"
    assert np.array_equal(taught(one), alone)
    further = taught(one, one)
    assert not np.allclose(further, alone), "a second lesson goes on from the first"
    fresh = FoldedRegression(values, M, fold, FOLDS, 0.01)
    for _ in range(2):
        fresh.fit(one, even, 7)
    assert np.array_equal(fresh.out_of_fold(), further)

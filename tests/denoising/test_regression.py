"""Cross-fitted regression: the minimum that scikit-learn finds, no document predicted by a model that saw it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from unruly.denoising import regression
from unruly.denoising.regression import CrossFitting, content_folds
from unruly.features.encoder import Block, Features


@pytest.fixture
def task() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 300)
    return (labels[:, None] + rng.normal(0, 1.0, (300, 8))).astype(np.float32), labels


def test_it_finds_the_minimum_that_scikit_learn_finds(task: tuple[np.ndarray, np.ndarray]) -> None:
    x, labels = task
    text = CrossFitting.of(x, np.arange(300) % 3, 3, l2=2.0)
    weights = text.descend(None, np.eye(3)[labels], np.ones(300), steps=400)
    ours = np.exp(text.regression(weights).log_proba(x))
    scaled = (x - text.centre) * text.scale
    theirs = LogisticRegression(C=1 / 2.0, max_iter=5000, tol=1e-8).fit(scaled, labels)
    assert ours == pytest.approx(theirs.predict_proba(scaled), abs=2e-3)


def test_a_document_is_predicted_by_a_model_that_has_not_seen_it(
    task: tuple[np.ndarray, np.ndarray],
) -> None:
    x, labels = task
    fold = np.arange(300) % 3
    text = CrossFitting.of(x, fold, 3, l2=1.0)
    target = np.eye(3)[labels]
    mass = np.ones(300)
    before = text.held_out(text.descend(None, target, mass, 20), target, mass)
    target[fold == 1] = target[fold == 1][::-1]  # another truth in fold 1, of the same shares
    after = text.held_out(text.descend(None, target, mass, 20), target, mass)
    assert (after[fold == 1] == before[fold == 1]).all()
    assert not np.allclose(after[fold == 0], before[fold == 0])


def test_features_that_tell_nothing_leave_the_class_shares() -> None:
    labels = np.array([0, 0, 0, 1, 1, 1])
    text = CrossFitting.of(np.zeros((6, 2), np.float32), np.array([0, 0, 1, 1, 2, 2]), 3, l2=1.0)
    q, mass = np.eye(2)[labels], np.ones(6)
    found = np.exp(text.held_out(text.descend(None, q, mass, 300), q, mass))
    # A model without the first two documents has seen one of class 0 and three of class 1.
    assert found[:, 0] == pytest.approx(np.full(6, 0.5), abs=0.07)


def test_documents_without_mass_teach_nothing(task: tuple[np.ndarray, np.ndarray]) -> None:
    x, labels = task
    text = CrossFitting.of(x, np.arange(300) % 3, 3, l2=1.0)
    mass = (np.arange(300) < 200).astype(float)
    first, second = np.eye(3)[labels], np.eye(3)[labels]
    second[200:] = np.eye(3)[0]
    assert (text.descend(None, first, mass, 10) == text.descend(None, second, mass, 10)).all()


def test_large_features_are_scaled_as_needed(
    task: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    x, labels = task
    kept = CrossFitting.of(x, np.arange(300) % 3, 3, l2=1.0)
    monkeypatch.setattr(regression, "_KEPT", 10)
    monkeypatch.setattr(regression, "_CHUNK", 70)
    made = CrossFitting.of(x, np.arange(300) % 3, 3, l2=1.0)
    assert made.kept is None
    q, mass = np.eye(3)[labels], np.ones(300)
    ours = made.held_out(made.descend(None, q, mass, 10), q, mass)
    theirs = kept.held_out(kept.descend(None, q, mass, 10), q, mass)
    assert ours == pytest.approx(theirs, abs=1e-3)


def test_very_wide_features_do_without_a_matrix(
    task: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    x, labels = task
    monkeypatch.setattr(regression, "_WIDEST", 4)
    text = CrossFitting.of(x, np.arange(300) % 3, 3, l2=1.0)
    assert text.inverse.shape == (1, 1)
    q, mass = np.eye(3)[labels], np.ones(300)
    found = text.held_out(text.descend(None, q, mass, 200), q, mass)
    assert (found.argmax(axis=1) == labels).mean() > 0.7


def test_folds_go_by_content_and_keep_equal_documents_together() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 4)).astype(np.float32)
    x[45:] = x[:45]
    fold, _ = content_folds(Features.from_array(x), 3, seed=0)
    assert (fold[45:] == fold[:45]).all()
    assert np.bincount(fold).tolist() == [30, 30, 30]
    order = rng.permutation(90)
    assert (content_folds(Features.from_array(x[order]), 3, seed=0)[0] == fold[order]).all()
    assert (content_folds(Features.from_array(x), 3, seed=1)[0] != fold).any()


def test_folds_go_by_the_text_where_it_is_known() -> None:
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 2**63, 90, dtype=np.uint64)
    x = rng.normal(size=(90, 4)).astype(np.float32)
    fold, _ = content_folds(Features((Block("a", x),), keys), 3, seed=0)
    assert np.bincount(fold).tolist() == [30, 30, 30]
    nearly = Features((Block("a", x * np.float32(1.000001)),), keys)
    assert (content_folds(nearly, 3, seed=0)[0] == fold).all()
    assert (content_folds(nearly, 3, seed=1)[0] != fold).any()
    some = np.flatnonzero(rng.random(90) < 0.5)
    assert np.array_equal(np.asarray(nearly.take(some).keys), keys[some])


def test_features_that_do_not_vary_are_no_error() -> None:
    x = np.ones((6, 2), np.float32)
    text = CrossFitting.of(x, np.arange(6) % 2, 2, l2=1.0)
    q, mass = np.eye(2)[[0, 0, 0, 0, 0, 1]], np.ones(6)
    found = np.exp(text.held_out(text.descend(None, q, mass, 30), q, mass))
    # Nothing but the shares of the two thirds or so that each model saw: at most one of three is class 1.
    assert (found[:, 1] < 0.45).all()
    assert found[1::2, 1] == pytest.approx(np.full(3, found[1, 1]))  # one fold, one answer
    assert found[0, 1] > found[1, 1]  # its model saw the document of class 1, theirs did not

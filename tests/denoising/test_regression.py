"""Cross-fitted regression: the minimum that scikit-learn finds, no document predicted by a model that saw it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
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


def test_where_no_document_has_mass_every_class_is_as_likely(
    task: tuple[np.ndarray, np.ndarray],
) -> None:
    x, labels = task
    text = CrossFitting.of(x, np.arange(300) % 3, 3, l2=1.0)
    q, nothing = np.eye(3)[labels], np.zeros(300)
    found = np.exp(text.held_out(text.descend(None, q, nothing, 10), q, nothing))
    assert found == pytest.approx(1 / 3)


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


@pytest.mark.parametrize("folds", [2, 3, 5])
def test_one_document_more_leaves_nearly_all_in_their_folds(folds: int) -> None:
    x = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    before, _ = content_folds(Features.from_array(x[:10]), folds, seed=0)
    for n in range(11, 201):
        after, _ = content_folds(Features.from_array(x[:n]), folds, seed=0)
        assert (after[:-1] != before).sum() < folds  # one for each border
        assert np.ptp(np.bincount(after)) <= 1
        before = after


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


def dense(
    x: np.ndarray, fold: np.ndarray, q: np.ndarray, mass: np.ndarray, l2: float, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Held-out log-probabilities and the weights of all documents: one model at a time, in float64, autograd's slopes.

    Beck and Teboulle's momentum (2009), and Boehning's bound of the Hessian as the size of a step.
    """
    n, d = x.shape
    z = x - x.mean(axis=0, dtype=np.float64)
    z = np.column_stack([z / np.sqrt((z**2).sum(axis=1).mean()), np.ones(n)])
    penalty = np.append(np.full(d, l2 / n), 1e-6)
    bound = z.T @ z / (2 * n) + np.diag(penalty)
    total = (q * mass[:, None]).sum(axis=0)
    shares = total / total.sum()
    found, last = np.empty(q.shape), np.empty(0)
    for f in range(fold.max() + 2):
        rows = fold != f
        hold = 1 / (mass[rows].sum() + 1) if f <= fold.max() else 0.0

        def loss(w: torch.Tensor, rows: np.ndarray = rows, hold: float = hold) -> torch.Tensor:
            seen, truth = torch.from_numpy(z[rows]), torch.from_numpy(q[rows])
            each = -(truth * (seen @ w).log_softmax(1)).sum(1) @ torch.from_numpy(mass[rows])
            more = -(torch.from_numpy(shares) * w[-1].log_softmax(0)).sum() * hold
            pull = (torch.from_numpy(penalty)[:, None] * w**2).sum() / 2
            total: torch.Tensor = each / mass[rows].sum() + more + pull
            return total

        old, ahead, t = np.zeros((d + 1, q.shape[1])), np.zeros((d + 1, q.shape[1])), 1.0
        for _ in range(steps):
            at = torch.from_numpy(ahead).requires_grad_()
            (slope,) = torch.autograd.grad(loss(at), at)
            new, later = (
                ahead - np.linalg.solve(bound, slope.numpy()),
                (1 + (1 + 4 * t**2) ** 0.5) / 2,
            )
            ahead, old, t = new + (t - 1) / later * (new - old), new, later
        if f > fold.max():
            last = old
            continue
        others = (q * mass[:, None])[rows].sum(axis=0) + shares
        logits = z[~rows] @ old + np.log(shares) - np.log(others / others.sum())
        found[~rows] = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    return found, last


@pytest.mark.parametrize("steps", [1, 2, 9])
def test_each_step_is_that_of_separate_models(
    task: tuple[np.ndarray, np.ndarray], steps: int
) -> None:
    x, labels = task
    rng = np.random.default_rng(1)
    q, mass = rng.dirichlet(np.ones(3), 300), rng.choice([0.0, 0.2, 1.0, 3.0], 300)
    q[:200] = np.eye(3)[labels[:200]]
    fold = rng.integers(0, 4, 300)
    text = CrossFitting.of(x + 5, fold, 4, l2=3.0)
    weights = text.descend(None, q, mass, steps)
    expected, last = dense(x + 5, fold, q, mass, 3.0, steps)
    np.testing.assert_allclose(text.held_out(weights, q, mass), expected, atol=2e-4)
    whole = text.regression(weights)
    np.testing.assert_allclose(np.vstack([whole.weights, whole.bias]), last, atol=2e-4)
    onward = text.descend(weights, q, mass, 300)  # from there to the same minimum
    straight = text.descend(None, q, mass, 300)
    np.testing.assert_allclose(onward, straight, atol=5e-3)


def test_very_wide_features_go_down_by_a_number(
    task: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the mean of |x|^2 is one, X'X / 2n is at most a half, and so is what a step divides by, with the penalty."""
    x, labels = task
    q, mass, fold = np.eye(3)[labels], np.ones(300), np.arange(300) % 3
    exact = CrossFitting.of(x, fold, 3, l2=30.0)
    monkeypatch.setattr(regression, "_WIDEST", 7)
    text = CrossFitting.of(x, fold, 3, l2=30.0)
    assert text.inverse.tolist() == [[pytest.approx(1 / (1 + 0.1))]]
    by_number, by_matrix = (each.descend(None, q, mass, 600) for each in (text, exact))
    np.testing.assert_allclose(by_number, by_matrix, atol=2e-3)
    monkeypatch.setattr(regression, "_WIDEST", 8)
    assert CrossFitting.of(x, fold, 3, l2=30.0).inverse.shape == (9, 9)


def test_chunks_change_nothing(
    task: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    x, labels = task
    fold, distinct = content_folds(Features.from_array(x), 3, seed=0)
    assert distinct == 300
    q, mass = np.eye(3)[labels], np.ones(300)
    whole = CrossFitting.of(x, fold, 3, l2=1.0)
    monkeypatch.setattr(regression, "_CHUNK", 7)
    assert (content_folds(Features.from_array(x), 3, seed=0)[0] == fold).all()
    parts = CrossFitting.of(x, fold, 3, l2=1.0)
    np.testing.assert_allclose(parts.centre, whole.centre, atol=1e-5)
    assert parts.scale == pytest.approx(whole.scale, rel=1e-5)
    np.testing.assert_allclose(
        parts.descend(None, q, mass, 5), whole.descend(None, q, mass, 5), atol=1e-4
    )


def test_documents_that_differ_in_one_number_or_its_place_are_told_apart() -> None:
    """And so are those of a second block of features."""
    x = np.zeros((40, 4), np.float32)
    x[np.arange(40), np.arange(40) % 4] = 1 + np.arange(40) // 4
    assert content_folds(Features.from_array(x), 2, seed=0)[1] == 40
    two = Features((Block("a", np.ones((40, 2), np.float32)), Block("b", x)))
    assert content_folds(two, 2, seed=0)[1] == 40


@pytest.mark.parametrize("seed", range(8))
def test_texts_whose_keys_differ_in_one_bit_are_told_apart(seed: int) -> None:
    keys = np.append(2 ** np.arange(64, dtype=np.uint64), np.uint64(0))
    features = Features((Block("a", np.zeros((65, 1), np.float32)),), keys)
    assert content_folds(features, 3, seed)[1] == 65

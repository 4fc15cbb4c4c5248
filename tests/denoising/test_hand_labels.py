"""A classifier on hand labels alone: the penalty that predicts unseen labels best, and few labels are enough."""

from __future__ import annotations

import numpy as np
import pytest
from tests.denoising.planted import drawn

from unruly.denoising import hand_labels
from unruly.denoising.hand_labels import fit_hand_labels
from unruly.denoising.regression import CrossFitting, content_folds
from unruly.errors import InputError
from unruly.features.encoder import Block, Features


def test_without_a_label_there_is_nothing_to_learn() -> None:
    with pytest.raises(InputError, match="no label to learn from"):
        fit_hand_labels(Features.from_array(np.zeros((0, 2), np.float32)), np.zeros(0, int), 2)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_few_labels_are_enough(n: int) -> None:
    x = np.eye(4, dtype=np.float32)[:n]
    model = fit_hand_labels(Features.from_array(x), np.arange(n) % 2, 2)
    found = np.exp(model.log_proba(Features.from_array(x)))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert np.isfinite(found).all()
    if n == 4:
        assert found.argmax(axis=1).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("signal", [0.05, 3.0])
def test_the_penalty_is_the_one_under_which_unseen_labels_are_likeliest(
    signal: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn_features, _, truth = drawn(60, [0.8], signal=signal)
    features = Features.from_array(drawn_features.matrix())
    fold, _ = content_folds(features, 5, seed=0)
    target, mass, likelihood = np.eye(2)[truth], np.ones(60), {}
    for penalty in (0.1, 1.0, 10.0):
        text = CrossFitting.of(features.matrix(), fold, 5, penalty)
        held_out = text.held_out(text.descend(None, target, mass, 60), target, mass)
        likelihood[penalty] = held_out[np.arange(60), truth].mean()
    best = max(likelihood, key=lambda penalty: likelihood[penalty])
    found = fit_hand_labels(features, truth, 2).log_proba(features)
    monkeypatch.setattr(hand_labels, "_PENALTIES", (best,))
    np.testing.assert_array_equal(found, fit_hand_labels(features, truth, 2).log_proba(features))
    other = 10.0 if best != 10.0 else 0.1
    monkeypatch.setattr(hand_labels, "_PENALTIES", (other,))
    assert np.abs(found - fit_hand_labels(features, truth, 2).log_proba(features)).max() > 1e-3


def test_blocks_are_pooled_by_their_weights() -> None:
    """Two blocks of one encoder and one of another: a quarter, a quarter and a half."""
    features, _, truth = drawn(200, [0.8], signal=1.0)
    x, noise = features.matrix(), np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
    three = Features((Block("a1", x, "a"), Block("a2", x, "a"), Block("b", noise)))
    model = fit_hand_labels(three, truth, 2)
    each = [
        text.log_proba(block.values) for text, block in zip(model.texts, three.blocks, strict=True)
    ]
    found = 0.25 * each[0] + 0.25 * each[1] + 0.5 * each[2]
    found -= np.logaddexp.reduce(found, axis=1, keepdims=True)
    np.testing.assert_allclose(model.log_proba(three), found, atol=1e-9)

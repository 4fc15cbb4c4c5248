"""The shared classifier: it learns, it is repeatable, and it says when it used gold."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.peers.planted_task import planted_task, right

from unruly.errors import InputError, SettingsError
from unruly.features.encoder import Block, Features
from unruly.peers.labels import hard_targets
from unruly.peers.mlp import Mlp, Network
from unruly.training.losses import likelihood_loss

QUICK = Mlp(hidden=16, epochs=5, fewest_steps=60)


def test_it_learns_from_true_labels_and_counts_its_weights() -> None:
    task = planted_task(m=3)
    fitted = Mlp().fit(task.train.features, hard_targets(task.gold, 3), seed=0)
    assert right(fitted.predict_proba(task.test), task.test_gold) > 0.75  # chance is 1/3
    assert fitted.parameters == 24 * 128 + 128 + 128 * 3 + 3
    assert fitted.gold_used == ()
    assert np.allclose(fitted.proba(task.test.features).sum(axis=1), 1, atol=1e-6)


def test_the_same_seed_gives_the_same_bytes_and_another_gives_others() -> None:
    task = planted_task()
    targets = hard_targets(task.gold, 2)
    first, again, other = (
        QUICK.fit(task.train.features, targets, seed=seed).proba(task.test.features)
        for seed in (1, 1, 2)
    )
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()


@settings(max_examples=10)
@given(seed=st.integers(0, 1000), m=st.integers(2, 4))
def test_the_gradient_is_the_slope_of_the_loss(seed: int, m: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    network = Network.start(5, 7, m, generator)
    x = torch.randn(9, 5, generator=generator)
    t = torch.rand(9, m, generator=generator)
    w1, b1, w2, b2 = (
        part.detach().clone().requires_grad_()
        for part in (
            network.weights.w1,
            network.weights.b1,
            network.weights.w2,
            network.weights.b2,
        )
    )
    value = -(t * ((x @ w1 + b1).relu() @ w2 + b2).log_softmax(1)).sum()
    value.backward()  # type: ignore[no-untyped-call]
    gradient = network.zeros()
    logits, hidden = network.weights.logits(x)
    ours, slope, _ = likelihood_loss(logits, t)
    network.weights.backward(gradient.weights, x, hidden, slope)
    assert torch.allclose(ours, value, atol=1e-4)
    for mine, theirs in zip(
        (gradient.weights.w1, gradient.weights.b1, gradient.weights.w2, gradient.weights.b2),
        (w1.grad, b1.grad, w2.grad, b2.grad),
        strict=True,
    ):
        assert theirs is not None
        assert torch.allclose(mine, theirs, atol=1e-4)


def test_documents_without_label_or_weight_are_not_learnt_from() -> None:
    task = planted_task()
    targets = hard_targets(task.gold, 2)
    known = np.arange(task.train.n) % 2 == 0
    by_target = QUICK.fit(task.train.features, targets * known[:, None], seed=0)
    by_weight = QUICK.fit(task.train.features, targets, known.astype(np.float32), seed=0)
    wrong = np.where(known[:, None], targets, 1 - targets)
    lied_to = QUICK.fit(task.train.features, wrong, known.astype(np.float32), seed=0)
    said = [fit.proba(task.test.features).tobytes() for fit in (by_target, by_weight, lied_to)]
    assert said[0] == said[1] == said[2]


def test_weights_count_documents() -> None:
    """A document of weight two pulls as two copies do: the batch is whole, so the sums are the same."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 6)).astype(np.float32)
    x = np.concatenate([x, -x])  # centred and scaled alike, with or without the copies
    labels = np.concatenate([rng.integers(0, 2, 40), rng.integers(0, 2, 40)])
    targets = hard_targets(labels, 2)
    whole = Mlp(hidden=8, epochs=30, fewest_steps=1, batch_size=1000)
    twice = np.full(80, 2.0)
    once = whole.fit(Features.from_array(x), targets, seed=0).proba(Features.from_array(x))
    heavy = whole.fit(Features.from_array(x), targets, twice, seed=0).proba(Features.from_array(x))
    assert np.allclose(once, heavy, atol=1e-5)  # the loss is a mean: a common factor is nothing
    uneven = whole.fit(Features.from_array(x), targets, 1.0 + 9 * labels, seed=0)
    assert uneven.proba(Features.from_array(x))[:, 1].mean() > once[:, 1].mean()


def test_scale_and_offset_of_features_do_not_matter() -> None:
    task = planted_task()
    targets = hard_targets(task.gold, 2)

    def moved(features: Features) -> Features:
        return Features((Block("moved", features.matrix() * 64 + 8),))

    plain = QUICK.fit(task.train.features, targets, seed=0).proba(task.test.features)
    other = QUICK.fit(moved(task.train.features), targets, seed=0).proba(moved(task.test.features))
    assert np.allclose(plain, other, atol=1e-3)


def test_with_validation_labels_the_best_epoch_is_kept_and_said_so() -> None:
    task = planted_task()
    noisy = np.where(np.random.default_rng(0).random(task.train.n) < 0.3, 1 - task.gold, task.gold)
    targets = hard_targets(noisy, 2)
    valid = (task.valid.features, task.valid_gold)
    last = Mlp().fit(task.train.features, targets, seed=0)
    best = Mlp().fit(task.train.features, targets, seed=0, valid=valid)
    assert best.gold_used == ("choice of the epoch: 200 validation documents",)
    assert right(best.proba(task.valid.features), task.valid_gold) >= right(
        last.proba(task.valid.features), task.valid_gold
    )
    assert 1 <= best.kept_epoch <= Mlp().passes(task.train.n)


def test_small_corpora_get_more_epochs() -> None:
    assert Mlp(epochs=20, batch_size=256, fewest_steps=400).passes(1000) == 100
    assert Mlp(epochs=20, batch_size=256, fewest_steps=400).passes(100_000) == 20


def test_nonsense_is_refused() -> None:
    for wrong in ({"hidden": 0}, {"epochs": 0}, {"learning_rate": 0.0}, {"weight_decay": -1.0}):
        with pytest.raises(SettingsError, match=next(iter(wrong))):
            Mlp(**wrong)
    task = planted_task()
    features, targets = task.train.features, hard_targets(task.gold, 2)
    with pytest.raises(InputError, match="no document has a label"):
        QUICK.fit(features, np.zeros_like(targets))
    with pytest.raises(InputError, match="targets must be a matrix of 400 documents"):
        QUICK.fit(features, targets[:10])
    with pytest.raises(InputError, match="none negative or NaN"):
        QUICK.fit(features, targets * np.nan)
    with pytest.raises(InputError, match="weights must be 400 numbers"):
        QUICK.fit(features, targets, np.ones(3))
    with pytest.raises(InputError, match="none of the validation documents"):
        QUICK.fit(features, targets, valid=(features, np.full(features.n, -1)))
    with pytest.raises(InputError, match="trained on 24 features for each document, not 3"):
        QUICK.fit(features, targets).proba(Features.from_array(np.ones((2, 3), np.float32)))

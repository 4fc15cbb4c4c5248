"""What the networks are trained on: in parts or whole, standardised as statistics define it, and nothing that is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.paper.test_cotraining import SHORT, planted

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.paper import attention, cotraining, inference, training_set
from unruly.paper.cotraining import cotrain
from unruly.paper.training_set import moments
from unruly.settings import PaperSettings


@pytest.mark.parametrize(
    "settings",
    [
        replace(SHORT, epochs=4, standardise=True),
        replace(SHORT, epochs=3, attention="all", batch_size=40, reliability="per-vote"),
    ],
    ids=["whole", "mini-batches"],
)
def test_working_in_parts_changes_nothing(
    settings: PaperSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    features, votes, _ = planted(n=90)
    whole = cotrain(features, votes, settings)
    expected = whole.heads(features, votes)
    for module in (training_set, inference, cotraining):
        monkeypatch.setattr(module, "_CHUNK", 7)
    monkeypatch.setattr(cotraining, "_UPDATED", 7)
    monkeypatch.setattr(attention, "_NUMBERS", 7 * settings.hidden)
    parts = cotrain(features, votes, settings)
    for name, values in whole.arrays().items():
        np.testing.assert_allclose(parts.arrays()[name], values, atol=5e-3, err_msg=name)
    found = parts.heads(features, votes)
    np.testing.assert_allclose(found.combined, expected.combined, atol=5e-3)
    np.testing.assert_allclose(found.conditional, expected.conditional, atol=5e-3)
    assert [e.changed for e in parts.history] == [e.changed for e in whole.history]


def test_large_features_are_not_searched_for_repeated_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    features, votes, _ = planted(n=40)
    twice = np.tile(np.arange(40), 2)
    few = replace(SHORT, epochs=4)
    again = votes.from_array(votes.matrix[twice], classes=votes.classes)
    merged = cotrain(features.take(twice), again, few).heads(features, votes)
    assert len(training_set._distinct(features.take(twice).matrix())[0]) == 40
    monkeypatch.setattr(training_set, "_MOST_NUMBERS", 80 * 6 - 1)
    assert len(training_set._distinct(features.take(twice).matrix())[0]) == 80
    apart = cotrain(features.take(twice), again, few).heads(features, votes)
    np.testing.assert_allclose(merged.combined, apart.combined, atol=1e-4)


@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_moments_are_the_mean_and_the_standard_deviation(
    shift: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(0).normal(size=(50, 4)) * [1.0, 10.0, 0.01, 0.0] + shift
    monkeypatch.setattr(training_set, "_CHUNK", 8)
    values = x.astype(np.float32)
    centre, scale = moments(Features.from_array(values))
    np.testing.assert_allclose(centre, values.mean(axis=0, dtype=np.float64), rtol=1e-6, atol=1e-6)
    deviation = values.std(axis=0, dtype=np.float64)
    np.testing.assert_allclose(scale[:3], deviation[:3], rtol=1e-5)
    assert scale[3] == 1  # it never changes
    none = moments(Features.from_array(np.zeros((0, 2), np.float32)))
    assert [part.tolist() for part in none] == [[0, 0], [1, 1]]


@pytest.mark.parametrize(
    "given",
    [
        {"weights": np.full(300, -0.1)},
        {"weights": np.ones(299)},
        {"weights": np.where(np.arange(300) == 7, np.inf, 1.0)},
    ],
    ids=lambda given: next(iter(given)),
)
def test_weights_that_are_none_are_refused(given: dict[str, Any]) -> None:
    features, votes, _ = planted()
    with pytest.raises(InputError, match=f"{next(iter(given))} must be .* none negative or NaN"):
        cotrain(features, votes, SHORT, **given)


def test_held_out_documents_learn_from_no_vote_but_from_their_true_label() -> None:
    features, votes, gold = planted(n=60)
    hidden = np.arange(60) < 30
    clean = np.where(np.arange(60) % 10 == 0, gold, -1)
    weights = np.where(np.arange(60) % 6 == 2, 0.0, 1.0)
    data = training_set.prepare(features, votes, SHORT, hidden=hidden, clean=clean, weights=weights)
    taught = votes.covered & ~hidden
    np.testing.assert_array_equal(data.supervised, (taught | (clean >= 0)) & (weights > 0))
    np.testing.assert_array_equal(data.fixed, clean >= 0)
    assert not (data.matrix[hidden] >= 0).any()

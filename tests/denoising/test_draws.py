"""Draws with known probabilities: estimates stay unbiased, rare predicted classes are looked at."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.denoising.draws import draw


@given(st.integers(1, 60), st.integers(1, 80), st.integers(2, 5), st.integers(0, 99))
def test_rows_are_distinct_and_as_many_as_asked_for(n: int, size: int, m: int, seed: int) -> None:
    proba = np.random.default_rng(seed).dirichlet(np.ones(m), n)
    drawn = draw(proba, size, seed=seed)
    assert len(drawn.rows) == len(set(drawn.rows.tolist())) == min(n, size)
    assert ((drawn.probability > 0) & (drawn.probability <= 1)).all()


def test_each_document_is_drawn_as_often_as_its_probability_says() -> None:
    proba = np.eye(3)[np.random.default_rng(0).choice(3, 60, p=[0.7, 0.25, 0.05])]
    hits, expected = np.zeros(60), np.zeros(60)
    for seed in range(3000):
        drawn = draw(proba, 12, seed=seed)
        hits[drawn.rows] += 1
        expected[drawn.rows] = drawn.probability
    assert hits / 3000 == pytest.approx(expected, abs=0.04)


def test_a_share_estimated_by_the_weights_is_unbiased() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random(300) < 0.15).astype(float)
    proba = np.stack([1 - truth, truth], axis=1) * 0.6 + 0.2  # predicted class goes with the truth
    found = []
    for seed in range(500):
        drawn = draw(proba, 20, seed=seed)
        found.append((truth[drawn.rows] / drawn.probability).sum() / 300)
    assert np.mean(found) == pytest.approx(truth.mean(), abs=0.005)


def test_only_open_documents_are_drawn() -> None:
    among = np.arange(50) >= 45
    drawn = draw(np.full((50, 2), 0.5), 20, among=among)
    assert sorted(drawn.rows.tolist()) == [45, 46, 47, 48, 49]
    assert drawn.probability.tolist() == [1.0] * 5


def test_nothing_left_gives_nothing() -> None:
    drawn = draw(np.full((5, 2), 0.5), 3, among=np.zeros(5, np.bool_))
    assert len(drawn.rows) == len(drawn.probability) == 0

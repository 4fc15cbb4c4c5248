"""The hold on the class balance."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unruly.recipe.class_hold import class_hold
from unruly.recipe.log_odds import softmax


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(2, 6))
def test_the_mass_comes_to_the_prior(seed: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 1.5, (200, m))
    prior = rng.dirichlet(np.full(m, 5.0)) * 0.9 + 0.1 / m
    b = class_hold(scores, prior, np.zeros(m), steps=200)
    np.testing.assert_allclose(softmax(scores + b).mean(axis=0), prior, atol=1e-3)
    assert abs(b.mean()) < 1e-9


def test_nothing_to_do_is_left_alone() -> None:
    scores = np.zeros((5, 3))
    np.testing.assert_allclose(class_hold(scores, np.full(3, 1 / 3), np.zeros(3)), 0, atol=1e-12)

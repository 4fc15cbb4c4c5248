"""The constraint on the class marginals: met when exact, absent when nothing is known, one maximum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.denoising.marginals import EXACT, match_marginals
from unruly.statistics import softmax


def scores_of(seed: int, m: int, sharp: float, n: int = 200) -> np.ndarray:
    return sharp * np.random.default_rng(seed).normal(size=(n, m))


@given(st.integers(0, 50), st.integers(2, 5), st.floats(0.1, 4))
def test_an_exact_balance_is_met(seed: int, m: int, sharp: float) -> None:
    scores = scores_of(seed, m, sharp)
    pi = np.random.default_rng(seed).dirichlet(np.full(m, 5.0)) * 0.9 + 0.1 / m
    b = match_marginals(scores, pi, np.zeros(m), EXACT)
    assert softmax(scores + b).mean(axis=0) == pytest.approx(pi, abs=1e-4)


@given(st.integers(0, 50), st.floats(0.01, 1000))
def test_the_gradient_vanishes(seed: int, kappa: float) -> None:
    scores, pi, b0 = scores_of(seed, 3, 2.0), np.array([0.5, 0.3, 0.2]), np.array([0.4, -0.4, 0.0])
    b = match_marginals(scores, pi, b0, kappa)
    mass = softmax(scores + b).mean(axis=0)
    assert pi - mass == pytest.approx((b - b0) / kappa, abs=1e-5)


def test_firmer_is_nearer() -> None:
    scores, pi = scores_of(0, 2, 1.0) + np.array([1.0, 0.0]), np.array([0.2, 0.8])
    off = [
        abs(softmax(scores + match_marginals(scores, pi, np.zeros(2), kappa)).mean(axis=0)[0] - 0.2)
        for kappa in (1e-9, 1.0, 10.0, 100.0, EXACT)
    ]
    assert (np.diff(off) < 0).all()
    assert off[0] == pytest.approx(abs(softmax(scores).mean(axis=0)[0] - 0.2))


def test_clear_scores_withstand_a_wrong_balance_and_vague_ones_follow_it() -> None:
    side = np.sign(np.random.default_rng(0).normal(size=400) + 1.0)[
        :, None
    ]  # about 84 % on one side
    clear, vague = side * [12.0, -12.0], side * [0.2, -0.2]
    even = np.array([0.5, 0.5])

    def shift(scores: np.ndarray) -> np.ndarray:
        b = match_marginals(scores, even, np.zeros(2), 20.0)
        return np.asarray(softmax(scores + b).argmax(axis=1))

    assert (shift(clear) == clear.argmax(axis=1)).all()
    assert (
        abs(softmax(vague + match_marginals(vague, even, np.zeros(2), 20.0)).mean(axis=0)[0] - 0.5)
        < 0.02
    )


def test_no_documents_leave_the_shift_alone() -> None:
    assert match_marginals(np.zeros((0, 2)), np.array([0.5, 0.5]), np.ones(2), 1.0).tolist() == [
        1,
        1,
    ]

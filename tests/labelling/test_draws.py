"""Systematic draws: exact probabilities, spread over predictions, and no more than were asked for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unruly.labelling.draws import draw, inclusion


def predictions(n: int, m: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(m, 0.5), n)


@given(st.integers(1, 60), st.integers(2, 5), st.integers(0, 70), st.integers(0, 99))
def test_as_many_as_were_asked_for_and_each_once(n: int, m: int, size: int, seed: int) -> None:
    drawn = draw(predictions(n, m, seed), size, seed=seed)
    assert len(drawn.rows) == len(set(drawn.rows.tolist())) == min(n, size)
    assert ((drawn.probability > 0) & (drawn.probability <= 1 + 1e-12)).all()


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=30), st.integers(1, 30))
def test_probabilities_sum_to_the_size(sizes: list[float], n: int) -> None:
    n = min(n, len(sizes))
    chance = inclusion(np.array(sizes), n)
    assert abs(chance.sum() - n) < 1e-6
    assert (chance <= 1 + 1e-12).all()
    assert (np.diff(chance[np.argsort(sizes)]) >= -1e-12).all()


def test_each_is_drawn_with_its_probability() -> None:
    proba = predictions(40, 3, 1)
    counts, said, rounds = np.zeros(40), np.zeros(40), 6000
    for seed in range(rounds):
        drawn = draw(proba, 7, seed=seed)
        counts[drawn.rows] += 1
        said[drawn.rows] = drawn.probability
    assert np.abs(counts / rounds - said).max() < 0.03


def test_only_among_those_that_are_open() -> None:
    among = np.arange(30) % 3 == 0
    drawn = draw(predictions(30, 2, 0), 20, among=among)
    assert sorted(drawn.rows.tolist()) == np.flatnonzero(among).tolist()
    assert not len(draw(predictions(30, 2, 0), 5, among=np.zeros(30, np.bool_)).rows)


def test_a_rare_class_and_the_doubtful_are_looked_at_more_often() -> None:
    proba = np.tile([0.99, 0.01], (1000, 1))
    proba[:20] = [0.2, 0.8]
    proba[20:60] = [0.55, 0.45]
    drawn = draw(proba, 30)
    chance = dict(zip(drawn.rows.tolist(), drawn.probability.tolist(), strict=True))
    rare = [p for row, p in chance.items() if row < 20]
    doubtful = [p for row, p in chance.items() if 20 <= row < 60]
    sure = [p for row, p in chance.items() if row >= 60]
    assert len(rare) >= 5
    assert min(rare) > max(doubtful) > max(sure)


def test_shares_of_the_predictions_are_told_better_than_by_random_draws() -> None:
    rng = np.random.default_rng(3)
    proba = predictions(800, 2, 3)
    truth = rng.random(800) < proba[:, 1]
    errors, even = [], []
    for seed in range(200):
        drawn = draw(proba, 25, seed=seed)
        weights = 1 / drawn.probability
        errors.append(weights @ truth[drawn.rows] / weights.sum() - truth.mean())
        even.append(truth[np.random.default_rng(seed).permutation(800)[:25]].mean() - truth.mean())
    assert abs(np.mean(errors)) < 0.015
    assert np.std(errors) < 0.75 * np.std(even)  # what twice as many random ones give: 0.71


def test_the_same_seed_gives_the_same_draw() -> None:
    proba = predictions(50, 3, 0)
    assert draw(proba, 9, seed=4).rows.tolist() == draw(proba, 9, seed=4).rows.tolist()
    assert draw(proba, 9, seed=4).rows.tolist() != draw(proba, 9, seed=5).rows.tolist()

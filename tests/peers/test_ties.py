"""Ties are drawn fairly, by text and seed."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from unruly.peers.ties import settled

WORDS = [f"text {i}" for i in range(600)]


@given(
    hnp.arrays(np.int64, st.tuples(st.integers(0, 12), st.just(3)), elements=st.integers(1, 3)),
    st.integers(0, 50),
)
def test_one_of_the_leaders_wins_and_nothing_else_changes(counts: np.ndarray, seed: int) -> None:
    proba = counts / counts.sum(axis=1, keepdims=True)
    fair = settled(proba, WORDS[: len(proba)], seed)
    assert np.allclose(fair, proba, atol=2e-6)
    assert np.allclose(fair.sum(axis=1), 1)
    for before, after in zip(proba, fair, strict=True):
        assert before[after.argmax()] == before.max()
        assert np.sort(after)[-1] > np.sort(after)[-2]


def test_every_class_gets_its_part_and_seeds_differ() -> None:
    even = np.full((600, 3), 1 / 3)
    first, second = (settled(even, WORDS, seed).argmax(axis=1) for seed in (0, 1))
    for drawn in (first, second):
        assert np.bincount(drawn, minlength=3).min() > 160
    assert 150 < (first == second).sum() < 250  # a third, by chance


def test_the_order_of_documents_does_not_matter() -> None:
    even, order = np.full((600, 2), 0.5), np.random.default_rng(0).permutation(600)
    moved = settled(even, [WORDS[i] for i in order], seed=0)
    assert np.array_equal(moved, settled(even, WORDS, seed=0)[order])


def test_clear_winners_are_left_alone() -> None:
    clear = np.array([[0.9, 0.1], [0.2, 0.8]])
    assert settled(clear, WORDS[:2], seed=0) is clear

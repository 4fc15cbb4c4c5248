"""The planted truth is where it was planted."""

from __future__ import annotations

import numpy as np
import pytest
from tests.planted_votes import planted_votes

from unruly.errors import InputError


def accuracy(column: np.ndarray, gold: np.ndarray) -> float:
    cast = column >= 0
    return float((column[cast] == gold[cast]).mean())


@pytest.mark.parametrize("m", [2, 3, 100])
def test_accuracy_coverage_and_prior_are_as_asked(m: int) -> None:
    accuracies, coverages = [0.9, 0.6, 0.3], [0.2, 0.5, 1.0]
    prior = [0.5, *[0.5 / (m - 1)] * (m - 1)]
    votes, gold = planted_votes(40_000, accuracies, coverages, classes=m, prior=prior, seed=m)
    assert votes.m == m
    assert abs((gold == 0).mean() - 0.5) < 0.02
    for j in range(3):
        assert abs(votes.voted[:, j].mean() - coverages[j]) < 0.02
        assert abs(accuracy(votes.matrix[:, j], gold) - accuracies[j]) < 0.02


def test_one_class_sources_say_one_thing_and_keep_their_accuracy() -> None:
    votes, gold = planted_votes(
        40_000, [0.8, 0.9], [0.3, 0.1], prior=[0.7, 0.3], one_class={0: 0, 1: 1}, seed=3
    )
    assert set(np.unique(votes.matrix[:, 0])) == {-1, 0}
    assert set(np.unique(votes.matrix[:, 1])) == {-1, 1}
    assert abs(accuracy(votes.matrix[:, 0], gold) - 0.8) < 0.02
    assert abs(accuracy(votes.matrix[:, 1], gold) - 0.9) < 0.02
    assert abs(votes.voted[:, 0].mean() - 0.3) < 0.02


def test_copies_repeat_their_parent() -> None:
    exact, _ = planted_votes(500, [0.8, 0.8, 0.8], 0.5, copies={2: 0})
    assert np.array_equal(exact.matrix[:, 0], exact.matrix[:, 2])
    near, _ = planted_votes(20_000, [0.8, 0.8, 0.8], 0.5, copies={2: 0}, fidelity=0.5)
    alike = (near.matrix[:, 0] == near.matrix[:, 2]).mean()
    assert 0.6 < alike < 0.9


def test_same_seed_same_votes() -> None:
    one, two = (planted_votes(100, [0.8, 0.7], 0.5, seed=5)[0].matrix for _ in range(2))
    other = planted_votes(100, [0.8, 0.7], 0.5, seed=6)[0].matrix
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_nonsense_is_refused() -> None:
    with pytest.raises(InputError, match="2 accuracies, but 1 coverages"):
        planted_votes(5, [0.8, 0.7], [0.5])
    with pytest.raises(InputError, match="lie between 0 and 1"):
        planted_votes(5, [1.2])
    with pytest.raises(InputError, match="sum to 1"):
        planted_votes(5, [0.8], prior=[0.5, 0.6])
    with pytest.raises(InputError, match="not there"):
        planted_votes(5, [0.8], one_class={0: 2})
    with pytest.raises(InputError, match="on its left"):
        planted_votes(5, [0.8, 0.8], copies={0: 1})
    with pytest.raises(InputError, match="lower its coverage"):
        planted_votes(5, [0.9], 0.9, one_class={0: 1})

"""Counts of pairs of sources."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unruly.votes.agreement import count_pairs
from unruly.votes.votes import Votes

matrices = st.integers(1, 30).flatmap(
    lambda n: st.lists(st.lists(st.integers(-1, 2), min_size=3, max_size=3), min_size=n, max_size=n)
)


def votes_of(matrix: list[list[int]]) -> Votes:
    return Votes.from_array(matrix, classes=["a", "b", "c"], sources=["x", "y", "z"])


@settings(deadline=None)
@given(matrices)
def test_pairs_are_what_counting_one_by_one_gives(matrix: list[list[int]]) -> None:
    counted = count_pairs(votes_of(matrix))
    for i in range(3):
        for j in range(3):
            common = [(r[i], r[j]) for r in matrix if r[i] >= 0 and r[j] >= 0]
            assert counted.both[i, j] == len(common)
            assert counted.same[i, j] == sum(a == b for a, b in common)
    shares = counted.agreement
    assert np.array_equal(np.isnan(shares), counted.both == 0)
    assert np.array_equal(shares, shares.T, equal_nan=True)


def test_pairs_that_have_no_choice_are_not_informative() -> None:
    counted = count_pairs(votes_of([[0, 1, 0], [0, 1, 1], [0, 1, 0]]))
    assert counted.informative.tolist() == [
        [False, False, True],  # x names one class, y another: they can only disagree
        [False, False, True],
        [True, True, True],
    ]

"""The votes as a sparse matrix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from unruly.recipe.evidence import Evidence, shares
from unruly.votes.votes import Votes

MATRICES = arrays(
    np.int8, st.tuples(st.integers(1, 12), st.integers(1, 5)), elements=st.integers(-1, 3)
)
CLASSES = ["a", "b", "c", "d"]


def nothing(n: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.full(n, -1)


@given(MATRICES)
def test_every_vote_stands_in_its_place(
    matrix: np.ndarray[tuple[int, int], np.dtype[np.int8]],
) -> None:
    votes = Votes.from_array(matrix, classes=CLASSES)
    evidence = Evidence.of(votes, nothing(votes.n))
    dense = np.zeros((votes.n, votes.k, votes.m))
    for _, part in evidence.dense():
        assert part.shape[1:] == (evidence.k, evidence.m)
    full = np.concatenate([part for _, part in evidence.dense()])
    rows = np.arange(votes.n)
    dense[np.ix_(rows, evidence.sources, evidence.classes)] = full
    np.testing.assert_array_equal(dense, matrix[:, :, None] == np.arange(4))
    np.testing.assert_array_equal(evidence.covered, votes.covered)
    np.testing.assert_array_equal(evidence.counts(), votes.counts()[:, evidence.classes])


@given(MATRICES)
def test_shares_are_distributions(matrix: np.ndarray[tuple[int, int], np.dtype[np.int8]]) -> None:
    evidence = Evidence.of(Votes.from_array(matrix, classes=CLASSES), nothing(len(matrix)))
    if evidence.m:
        prior = np.full(evidence.m, 1 / evidence.m)
        np.testing.assert_allclose(shares(evidence, prior).sum(axis=1), 1)


def test_silent_sources_and_unnamed_classes_take_no_part() -> None:
    votes = Votes.from_array([[-1, 2, -1], [-1, 2, 0]], classes=CLASSES)
    evidence = Evidence.of(votes, np.array([-1, 3]))
    assert evidence.sources.tolist() == [1, 2]
    assert evidence.classes.tolist() == [0, 2, 3]  # 3 is named by a clean label
    assert evidence.clean.tolist() == [-1, 2]
    assert evidence.known.tolist() == [False, True]


def test_a_soft_vote_is_spread_over_the_classes() -> None:
    votes = Votes.from_array([[0, 1], [1, -1]], sources=["hard", "model"])
    said = np.array([[0.3, 0.7], [0.5, 0.5]], np.float32)
    evidence = Evidence.of(replace(votes, soft={"model": said}), nothing(2))
    expected = np.array([[1, 0, 0.3, 0.7], [0, 1, 0, 0]])
    np.testing.assert_allclose(evidence.said.toarray(), expected)

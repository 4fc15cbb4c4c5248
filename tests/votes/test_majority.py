"""Majority vote counted block by block equals a loop over documents, with few classes and with many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.votes import majority
from unruly.votes.majority import (
    conflicts,
    leading,
    majority_shares,
    tallies,
    vote_counts,
    winners,
)
from unruly.votes.votes import Votes


def random_votes(seed: int, m: int, n: int = 40, k: int = 5) -> Votes:
    rng = np.random.default_rng(seed)
    matrix = np.where(rng.random((n, k)) < 0.4, -1, rng.integers(0, m, (n, k)))
    return Votes.from_array(matrix, classes=[f"c{c}" for c in range(m)])


@given(st.integers(0, 200), st.sampled_from([2, 3, 12, 13, 40]))
def test_counts_conflicts_and_winners_by_a_loop(seed: int, m: int) -> None:
    votes = random_votes(seed, m)
    counts, clash, won = vote_counts(votes), conflicts(votes), winners(vote_counts(votes))
    shares = majority_shares(votes, commonest=1)
    for i, row in enumerate(votes.matrix.tolist()):
        cast = [label for label in row if label >= 0]
        expected = [cast.count(c) for c in range(m)]
        assert counts[i].tolist() == expected
        assert clash[i] == (len(set(cast)) > 1)
        top = [c for c in range(m) if expected[c] == max(expected) > 0]
        assert np.flatnonzero(leading(counts[i : i + 1])[0]).tolist() == top
        assert won[i] == (top[0] if len(top) == 1 else -1)
        assert np.flatnonzero(shares[i]).tolist() == (top or [1])
        assert shares[i].sum() == pytest.approx(1)


def test_documents_without_votes_get_the_first_class_unless_another_is_named() -> None:
    votes = Votes.from_array([[-1, -1], [1, -1]])
    assert majority_shares(votes).tolist() == [[1, 0], [0, 1]]
    assert majority_shares(votes, 1).tolist() == [[0, 1], [0, 1]]


@pytest.mark.parametrize("m", [3, 20])
@pytest.mark.parametrize("few", [0, 12, 100])
def test_both_ways_of_counting_name_sources_alike(
    m: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(majority, "FEW_CLASSES", few)
    votes = random_votes(1, m)
    by_source = sum(tally.by_source for tally in tallies(votes, block_cells=50))
    expected = [[int((column == c).sum()) for c in range(m)] for column in votes.matrix.T]
    assert np.asarray(by_source).tolist() == expected

"""Equal rows are counted once, and nothing is lost on the way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unruly.labelmodels import ballots as module
from unruly.labelmodels.ballots import Ballots
from unruly.labelmodels.overlaps import _by_bits, _by_pairs, overlaps
from unruly.votes.votes import Votes


def dense(votes: Votes) -> NDArray[np.float64]:
    said = votes.matrix[:, :, None] == np.arange(votes.m)  # (n, k, m)
    return np.asarray(said.reshape(votes.n, -1), dtype=np.float64)


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 300), k=st.integers(1, 9), m=st.integers(2, 5), seed=st.integers(0, 999))
def test_expanding_ballots_gives_the_votes_back(n: int, k: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rare = rng.random((n, k)) < 0.7
    votes = Votes.from_array(
        np.where(rare, -1, rng.integers(0, m, (n, k))), classes=[str(c) for c in range(m)]
    )
    ballots = Ballots.of(votes)
    assert np.array_equal(ballots.expand(ballots.onehot.toarray()), dense(votes))
    assert ballots.n == n
    assert np.array_equal(ballots.cast.reshape(-1), dense(votes).sum(axis=0))
    q = rng.dirichlet(np.ones(m), size=len(ballots.counts))
    joint = dense(votes).T @ ballots.expand(q)
    assert np.allclose(ballots.joint(q), joint.reshape(k, m, m))
    assert np.allclose(ballots.mass(q), ballots.expand(q).sum(axis=0))
    assert np.allclose(overlaps(ballots), dense(votes).T @ dense(votes) / n)


def test_many_columns_are_renumbered_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty sources have far more codes than any table, but only five distinct rows."""
    monkeypatch.setattr(module, "TABLE", 64)
    rows = np.random.default_rng(0).integers(-1, 3, size=(5, 40))
    pick = np.random.default_rng(1).integers(0, 5, size=1000)
    ballots = Ballots.of(Votes.from_array(rows[pick]))
    assert len(ballots.counts) == 5
    assert sorted(ballots.counts) == sorted(np.bincount(pick))


def test_rows_that_are_all_different_are_left_alone() -> None:
    matrix = np.random.default_rng(0).integers(0, 2, size=(500, 60))
    ballots = Ballots.of(Votes.from_array(matrix))
    assert ballots.inverse is None
    assert np.array_equal(_by_bits(ballots), _by_pairs(ballots))


def test_shares_are_vote_shares_and_the_prior_without_votes() -> None:
    ballots = Ballots.of(Votes.from_array([[0, 0, 1], [-1, -1, -1]]))
    assert np.allclose(ballots.shares(np.array([0.9, 0.1])), [[2 / 3, 1 / 3], [0.9, 0.1]])
    assert ballots.empty.tolist() == [False, True]

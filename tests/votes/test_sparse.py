"""The sparse encoding of votes against the dense one, and equal rows counted once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.votes import sparse as module
from unruly.votes.sparse import DistinctVotes, SparseVotes
from unruly.votes.votes import Votes

sizes = {
    "n": st.integers(0, 200),
    "k": st.integers(0, 9),
    "m": st.integers(2, 5),
    "seed": st.integers(0, 999),
}


def random_votes(n: int, k: int, m: int, seed: int, soft: bool = False) -> Votes:
    rng = np.random.default_rng(seed)
    rare = rng.random((n, k)) < 0.7
    names = [str(c) for c in range(m)]
    votes = Votes.from_array(np.where(rare, -1, rng.integers(0, m, (n, k))), classes=names)
    if not soft or not k:
        return votes
    shares = rng.dirichlet(np.ones(m), size=n).astype(np.float32)
    return Votes(votes.matrix, votes.sources, votes.classes, votes.ids, {votes.sources[0]: shares})


def dense(votes: Votes) -> NDArray[np.float64]:
    """(n, k, m): every vote as a distribution over classes, zeros where a source abstains."""
    full: NDArray[np.float64] = (votes.matrix[:, :, None] == np.arange(votes.m)).astype(np.float64)
    for source, values in votes.soft.items():
        j = votes.sources.index(source)
        full[:, j] = np.where(votes.voted[:, j, None], values, 0)
    return full


@settings(max_examples=60, deadline=None)
@given(**sizes, soft=st.booleans())
def test_one_source_alone_and_two_together_are_the_dense_ones(
    n: int, k: int, m: int, seed: int, soft: bool
) -> None:
    votes = random_votes(n, k, m, seed, soft)
    full, encoded = dense(votes), SparseVotes.of(votes)
    np.testing.assert_allclose(encoded.together, np.einsum("ijc,ilc->jl", full, full), atol=1e-5)
    for j in range(k):
        one = encoded.of_source(j)
        np.testing.assert_array_equal(one.rows, np.flatnonzero(votes.voted[:, j]))
        cast, credited = np.zeros((2, len(one.rows), m))
        cast[one.vote, one.outcome] = one.cast
        credited[one.vote, one.outcome] = one.credit
        np.testing.assert_allclose(cast, full[one.rows, j])
        credit = encoded.credit.toarray().reshape(n, k, m)
        np.testing.assert_allclose(credited, credit[one.rows, j])


@settings(max_examples=60, deadline=None)
@given(**sizes, soft=st.booleans())
def test_the_encoding_is_the_dense_one(n: int, k: int, m: int, seed: int, soft: bool) -> None:
    votes = random_votes(n, k, m, seed, soft)
    full, encoded = dense(votes), SparseVotes.of(votes)
    assert (encoded.n, encoded.k, encoded.m) == (n, k, m)
    np.testing.assert_allclose(encoded.onehot.toarray(), full.reshape(n, k * m))
    np.testing.assert_allclose(encoded.counts(), full.sum(axis=1), atol=1e-6)
    np.testing.assert_array_equal(encoded.covered, votes.covered)
    rebuilt = np.zeros((n, k, m))
    rebuilt[encoded.row, encoded.source, encoded.outcome] = encoded.onehot.data
    np.testing.assert_allclose(rebuilt, full)
    some = np.random.default_rng(seed).permutation(n)[: n // 2]
    np.testing.assert_allclose(
        encoded.take(some).onehot.toarray(), full[some].reshape(len(some), k * m)
    )


@settings(max_examples=60, deadline=None)
@given(**(sizes | {"n": st.integers(1, 200), "k": st.integers(1, 9)}), soft=st.booleans())
def test_expanding_distinct_rows_gives_the_votes_back(
    n: int, k: int, m: int, seed: int, soft: bool
) -> None:
    votes = random_votes(n, k, m, seed, soft)
    full = dense(votes).reshape(n, k * m)
    rng = np.random.default_rng(seed)
    distinct = DistinctVotes.of(votes)
    np.testing.assert_allclose(distinct.expand(distinct.votes.onehot.toarray()), full)
    assert distinct.n == n
    np.testing.assert_allclose(distinct.cast.reshape(-1), full.sum(axis=0), atol=1e-5)
    q = rng.dirichlet(np.ones(m), size=len(distinct.counts))
    joint = full.T @ distinct.expand(q)
    np.testing.assert_allclose(distinct.joint(q), joint.reshape(k, m, m), atol=1e-5)
    np.testing.assert_allclose(distinct.mass(q), distinct.expand(q).sum(axis=0))


@settings(max_examples=40, deadline=None)
@given(**(sizes | {"n": st.integers(1, 60), "k": st.integers(1, 5)}))
def test_the_documents_that_a_source_was_asked_about(n: int, k: int, m: int, seed: int) -> None:
    votes, rng = random_votes(n, k, m, seed), np.random.default_rng(seed)
    missing = (votes.matrix == -1) & (rng.random((n, k)) < 0.5)
    flags = {source: missing[:, j] for j, source in enumerate(votes.sources) if j % 2 == 0}
    asked = np.ones((n, k), dtype=bool)
    asked[:, ::2] = ~missing[:, ::2]
    for cast, expected in ((votes, np.ones((n, k))), (replace(votes, unasked=flags), asked)):
        distinct = DistinctVotes.of(cast)
        q = rng.dirichlet(np.ones(m), size=len(distinct.counts))
        mass = distinct.asked_mass(q)
        np.testing.assert_allclose(mass, expected.T.astype(float) @ distinct.expand(q), atol=1e-9)
        np.testing.assert_allclose(distinct.asked[:, 0], np.maximum(expected.sum(axis=0), 1))


def test_soft_votes_for_one_class_are_merged_like_hard_ones() -> None:
    votes = random_votes(500, 3, 2, seed=1)
    shares = np.eye(2, dtype=np.float32)[votes.matrix[:, 0]]
    shares[~votes.voted[:, 0]] = np.nan
    sure = replace(votes, soft={votes.sources[0]: shares})
    one, two = DistinctVotes.of(votes), DistinctVotes.of(sure)
    assert one.inverse is not None
    assert two.inverse is not None
    np.testing.assert_array_equal(one.inverse, two.inverse)
    np.testing.assert_array_equal(one.counts, two.counts)
    assert len(one.counts) == len(np.unique(votes.matrix, axis=0))


def test_many_columns_are_renumbered_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty sources have far more codes than any table, but only five distinct rows."""
    monkeypatch.setattr(module, "TABLE", 64)
    rows = np.random.default_rng(0).integers(-1, 3, size=(5, 40))
    pick = np.random.default_rng(1).integers(0, 5, size=1000)
    distinct = DistinctVotes.of(Votes.from_array(rows[pick]))
    assert len(distinct.counts) == 5
    assert sorted(distinct.counts) == sorted(np.bincount(pick))


def test_no_table_outgrows_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight outcomes a source, ten kinds of rows: one source more would need a table of 80 for 30 rows."""
    monkeypatch.setattr(module, "TABLE", 1)
    tables: list[int] = []
    original = module._renumber

    def renumber(code: NDArray[np.intp], bound: int) -> tuple[NDArray[np.intp], int]:
        tables.append(bound)
        return original(code, bound)

    monkeypatch.setattr(module, "_renumber", renumber)
    rows = np.array([[i % 7, i // 7, 6, i % 3] for i in range(10)])
    classes = [str(c) for c in range(7)]
    distinct = DistinctVotes.of(Votes.from_array(np.repeat(rows, 3, axis=0), classes=classes))
    assert tables
    assert max(tables) <= 2 * 30
    assert len(distinct.counts) in (10, 30)


def test_rows_that_are_all_different_are_left_alone() -> None:
    matrix = np.random.default_rng(0).integers(0, 2, size=(500, 60))
    assert DistinctVotes.of(Votes.from_array(matrix)).inverse is None


def test_rows_are_merged_only_where_each_stands_for_three() -> None:
    assert DistinctVotes.of(Votes.from_array([[0], [1]] * 2)).inverse is None
    assert DistinctVotes.of(Votes.from_array([[0], [1]] * 3)).inverse is not None


def test_shares_are_vote_shares_and_the_prior_without_votes() -> None:
    encoded = SparseVotes.of(Votes.from_array([[0, 0, 1], [-1, -1, -1]]))
    shares = encoded.shares(np.array([0.9, 0.1]))
    np.testing.assert_allclose(shares, [[2 / 3, 1 / 3], [0.9, 0.1]])


def test_only_keeps_the_counts_of_its_rows() -> None:
    distinct = DistinctVotes.of(Votes.from_array([[0]] * 4 + [[1]] * 3 + [[-1]] * 3))
    kept = distinct.only(distinct.votes.covered)
    assert sorted(kept.counts.tolist()) == [3.0, 4.0]
    assert kept.n == 7


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_votes_without_documents_or_sources_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="need one of each"):
        DistinctVotes.of(Votes.from_array(np.zeros(shape, dtype=int), classes=["a", "b"]))


@pytest.mark.parametrize("soft", [False, True])
def test_laying_votes_out_in_parts_changes_nothing(
    soft: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    votes = random_votes(50, 4, 3, seed=5, soft=soft)
    whole = SparseVotes.of(votes)
    monkeypatch.setattr(module, "_CHUNK", 7)
    parts = SparseVotes.of(votes)
    np.testing.assert_array_equal(parts.onehot.toarray(), whole.onehot.toarray())


@settings(max_examples=30, deadline=None)
@given(**(sizes | {"n": st.integers(1, 60)}), soft=st.booleans())
def test_chance_is_what_guessing_by_the_class_shares_would_get_right(
    n: int, k: int, m: int, seed: int, soft: bool
) -> None:
    votes = random_votes(n, k, m, seed, soft)
    shares = np.random.default_rng(seed).dirichlet(np.ones(m))
    cast = dense(votes).sum(axis=0)  # (k, m)
    with np.errstate(divide="raise", invalid="raise"):
        found = SparseVotes.of(votes).chance(shares)
    for j in range(k):
        total = cast[j].sum()
        if not soft:
            assert found[j] == pytest.approx(cast[j] @ shares / total if total else 0)
        assert 0 <= found[j] <= 1

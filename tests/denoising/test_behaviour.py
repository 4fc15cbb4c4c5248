"""Behaviours counted, shrunk and discounted: the closed form equals the dense sum it stands for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.denoising import behaviour
from unruly.denoising.behaviour import evidence, redundancy_discount, source_behaviour
from unruly.votes.sparse import SparseVotes
from unruly.votes.votes import Votes


def random_task(seed: int, m: int) -> tuple[SparseVotes, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-1, m, (60, 4))
    matrix[:, 3] = matrix[:, 0]
    votes = Votes.from_array(matrix, classes=[f"c{c}" for c in range(m)])
    return SparseVotes.of(votes), rng.dirichlet(np.ones(m), 60), rng.random(60) + 0.1


def expected_rates(
    dense: np.ndarray, asked: np.ndarray, q: np.ndarray, mass: np.ndarray
) -> np.ndarray:
    """(k, y, c): a loop over sources and classes, from dense votes (n, k, c) and who was asked (n, k)."""
    (_n, k, m), found = dense.shape, np.zeros((dense.shape[1], q.shape[1], q.shape[1]))
    weighted = q * mass[:, None]
    spread = weighted.sum(axis=0) / weighted.sum()
    for j in range(k):
        shown = weighted[asked[:, j]].sum(axis=0) + spread * (m + 4)
        for c in range(m):
            cast = dense[:, j, c] @ weighted + spread  # one vote for each class, as documents are
            cast[c] += 4 * spread[c]  # four more that are right
            others = np.arange(m) != c
            found[j, :, c] = cast[others].sum() / shown[others].sum()
            found[j, c, c] = cast[c] / shown[c]
    return np.maximum(found, 1e-6)


@given(st.integers(0, 100), st.integers(2, 4))
def test_rates_are_shrunk_hit_rates_and_false_alarm_rates(seed: int, m: int) -> None:
    votes, q, mass = random_task(seed, m)
    dense = votes.onehot.toarray().reshape(60, 4, m)
    expected = expected_rates(dense, np.ones((60, 4), np.bool_), q, mass)
    assert source_behaviour(votes, q, mass).rates == pytest.approx(expected)


@given(st.integers(0, 100), st.integers(3, 5))
def test_a_vote_speaks_for_its_class_against_all_others_alike(seed: int, m: int) -> None:
    votes, q, mass = random_task(seed, m)
    log_likelihoods = source_behaviour(votes, q, mass).log_likelihoods  # (k, c, y)
    for c in range(m):
        others = log_likelihoods[:, c, np.arange(m) != c]
        assert others == pytest.approx(np.repeat(others[:, :1], m - 1, axis=1))


def test_classes_of_a_partial_vote_are_no_false_alarms_of_each_other() -> None:
    """Of 30 documents of each class, "b or c" is voted on all of b and c, and on three of a."""
    votes = Votes.from_array(np.full((90, 1), -1), classes=["a", "b", "c"])
    shares = np.full((90, 3), np.nan, np.float32)
    shares[27:] = [0, 0.5, 0.5]
    matrix = np.where(np.isnan(shares[:, :1]), -1, 1).astype(np.int8)
    votes = replace(votes, matrix=matrix, soft={votes.sources[0]: shares})
    q = np.repeat(np.eye(3), 30, axis=0)
    found = source_behaviour(SparseVotes.of(votes), q, np.ones(90))
    log_likelihoods = 0.5 * (
        found.log_likelihoods[0, 1] + found.log_likelihoods[0, 2]
    )  # what the vote adds
    assert log_likelihoods[1] == pytest.approx(log_likelihoods[2])
    assert log_likelihoods[1] - log_likelihoods[0] > 1.5  # 15 of 30 against 1.5 of 30, shrunk


@given(st.integers(0, 100), st.integers(2, 4))
def test_documents_that_a_source_never_saw_do_not_count_as_its_abstentions(
    seed: int, m: int
) -> None:
    votes, q, mass = random_task(seed, m)
    dense = votes.onehot.toarray().reshape(60, 4, m)
    hidden = np.random.default_rng(seed).random((60, 4)) < 0.3
    unseen = hidden & (dense.sum(axis=2) == 0)  # (n, k)
    found = source_behaviour(replace(votes, unasked=unseen), q, mass).rates
    assert found == pytest.approx(expected_rates(dense, ~unseen, q, mass))


@given(st.integers(0, 100), st.integers(2, 4))
def test_the_discount_is_the_dense_one(seed: int, m: int) -> None:
    votes, q, mass = random_task(seed, m)
    rates = source_behaviour(votes, q, mass).rates
    dense = votes.onehot.toarray().reshape(60, 4, m)
    rest = (dense - np.einsum("iy,jyc->ijc", q, rates)).transpose(1, 0, 2).reshape(4, -1)
    together = rest @ rest.T
    size = np.sqrt(np.diag(together))
    squared = (together / size / size[:, None]) ** 2
    np.fill_diagonal(squared, 0)
    expected = 1 / (1 + squared.sum(axis=1))
    assert redundancy_discount(votes, q, rates) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("cells", [1, 50, 10**6])
@pytest.mark.parametrize("m", [2, 3])
def test_the_discount_leaves_out_documents_that_a_source_never_saw(
    m: int, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was expected of a source there; and the documents may be laid out in parts."""
    monkeypatch.setattr(behaviour, "_CELLS", cells)
    votes, q, mass = random_task(1, m)
    dense = votes.onehot.toarray().reshape(60, 4, m)
    unseen = (np.random.default_rng(0).random((60, 4)) < 0.5) & (dense.sum(axis=2) == 0)
    rates = source_behaviour(votes, q, mass).rates
    expected = np.einsum("iy,jyc->ijc", q, rates) * ~unseen[:, :, None]
    rest = (dense - expected).transpose(1, 0, 2).reshape(4, -1)
    squared = np.zeros((4, 4))
    for j in range(4):
        for other in set(range(4)) - {j}:
            cosine = rest[j] @ rest[other] / np.linalg.norm(rest[j]) / np.linalg.norm(rest[other])
            squared[j, other] = cosine**2
    found = redundancy_discount(replace(votes, unasked=unseen), q, rates)
    assert found == pytest.approx(1 / (1 + squared.sum(axis=1)))
    asked = replace(votes, unasked=np.zeros((60, 4), np.bool_))
    assert redundancy_discount(asked, q, rates) == pytest.approx(
        redundancy_discount(votes, q, rates)
    )


def test_documents_without_any_mass_leave_finite_rates() -> None:
    votes, q, _ = random_task(0, 2)
    with np.errstate(divide="raise", invalid="raise"):
        found = source_behaviour(votes, q, np.zeros(60))
    assert np.isfinite(found.log_likelihoods).all()


def test_a_source_that_never_votes_repeats_nobody() -> None:
    _votes, q, mass = random_task(0, 2)
    silent = SparseVotes.of(
        Votes.from_array(
            np.column_stack([np.full(60, -1), np.arange(60) % 2, np.full(60, -1)]),
            classes=["a", "b"],
        )
    )
    with np.errstate(divide="raise", invalid="raise"):
        assert source_behaviour(silent, q, mass).discount.tolist() == [1, 1, 1]


def test_evidence_sums_the_opinions_of_those_that_voted() -> None:
    votes, q, mass = random_task(0, 2)
    found = source_behaviour(votes, q, mass)
    log_likelihoods = found.log_likelihoods
    assert log_likelihoods.mean(axis=2) == pytest.approx(0, abs=1e-12)
    ev = evidence(votes, log_likelihoods)
    for i in (0, 7, 31):
        cells = np.flatnonzero(votes.row == i)
        expected = sum(
            (log_likelihoods[votes.source[v], votes.outcome[v]] for v in cells), start=np.zeros(2)
        )
        assert ev[i] == pytest.approx(expected)


def test_two_votes_do_not_claim_certainty() -> None:
    matrix = np.full((100, 1), -1)
    matrix[:2] = 0
    q = np.eye(2)[[0] * 50 + [1] * 50]
    votes = SparseVotes.of(Votes.from_array(matrix, classes=["a", "b"]))
    log_likelihoods = source_behaviour(votes, q, np.ones(100)).log_likelihoods[0, 0]
    assert log_likelihoods[0] - log_likelihoods[1] == pytest.approx(
        np.log(9), abs=0.01
    )  # (2 + 5/2) / (1/2)

"""Majority vote and its policies."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.exceptions import NotFittedError

from unruly.errors import InputError, SettingsError
from unruly.labelmodels.label_model import LabelModel
from unruly.labelmodels.majority_vote import (
    MajorityVote,
    Ties,
    class_wins,
    commonest_class,
    majority_vote,
)
from unruly.votes.votes import Votes

matrices = hnp.arrays(
    np.int8,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8),
    elements=st.integers(-1, 2),
)


def votes_of(matrix: np.ndarray) -> Votes:
    return Votes.from_array(matrix, classes=["a", "b", "c"])


@given(matrices, st.sampled_from(get_args(Ties)))
def test_the_winner_leads_and_ties_follow_the_policy(matrix: np.ndarray, ties: Ties) -> None:
    votes = votes_of(matrix)
    model = MajorityVote(ties=ties).fit(votes)
    for label, counts in zip(model.predict(votes), votes.counts(), strict=True):
        leaders = np.flatnonzero(counts == counts.max())
        if counts.max() == 0:
            assert label == model.class_prior_.argmax()
        elif ties == "abstain" and len(leaders) > 1:
            assert label == -1
        elif ties == "first":
            assert label == leaders[0]
        elif ties == "commonest":
            assert model.class_prior_[label] == model.class_prior_[leaders].max()
        else:
            assert label in leaders


@given(matrices)
def test_shares_are_probabilities_that_agree_with_the_winner(matrix: np.ndarray) -> None:
    votes = votes_of(matrix)
    model = MajorityVote().fit(votes)
    shares, labels = model.predict_proba(votes), model.predict(votes)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert np.array_equal(shares.max(axis=1), shares[np.arange(votes.n), labels])
    np.testing.assert_allclose(
        shares[~votes.covered], np.tile(model.class_prior_, (int((~votes.covered).sum()), 1))
    )


@given(matrices)
def test_a_silent_source_and_the_order_of_rows_change_nothing(matrix: np.ndarray) -> None:
    votes = votes_of(matrix)
    silent = votes_of(np.hstack([matrix, np.full((len(matrix), 1), -1, dtype=np.int8)]))
    order = np.random.default_rng(0).permutation(votes.n)
    assert np.array_equal(majority_vote(silent), majority_vote(votes))
    assert np.array_equal(majority_vote(votes.take(order)), majority_vote(votes)[order])


def test_random_ties_follow_the_seed_and_use_every_leader() -> None:
    votes = Votes.from_array(np.tile([[0, 1]], (400, 1)))
    labels = majority_vote(votes, ties="random", seed=0)
    assert np.array_equal(labels, majority_vote(votes, ties="random", seed=0))
    assert not np.array_equal(labels, majority_vote(votes, ties="random", seed=1))
    assert 140 < labels.sum() < 260
    outvoted = Votes.from_array(np.tile([[0, 0, 2, 2, 1]], (50, 1)))
    assert set(majority_vote(outvoted, ties="random").tolist()) == {0, 2}


def test_the_commonest_class_breaks_ties_and_fills_gaps() -> None:
    votes = Votes.from_array([[0, 1], [-1, -1], [1, 1], [1, -1]])
    model = MajorityVote().fit(votes)
    np.testing.assert_allclose(model.class_prior_, [1.5 / 5, 3.5 / 5])
    assert model.predict(votes).tolist() == [1, 1, 1, 1]
    stated = MajorityVote(class_prior=[3, 1]).fit(votes)
    assert stated.predict(votes).tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(stated.predict_proba(votes)[1], [0.75, 0.25])
    silent = MajorityVote(uncovered="abstain").fit(votes)
    assert silent.predict(votes).tolist() == [1, -1, 1, 1]


def test_the_votes_divide_what_the_prior_leaves_open() -> None:
    votes = Votes.from_array([[0, 0], [0, 0], [1, 1]], classes=["a", "b", "c"])
    model = MajorityVote(class_prior={"a": 0.5}).fit(votes)
    np.testing.assert_allclose(model.class_prior_, [0.5, 0.5 * 2 / 3, 0.5 * 1 / 3])


def test_of_equally_common_classes_the_lowest_number_is_taken() -> None:
    votes = Votes.from_array([[2], [1], [-1]], classes=["a", "b", "c"])
    assert commonest_class(votes) == 1
    assert MajorityVote().fit(votes).predict(votes).tolist() == [2, 1, 1]


@given(matrices)
def test_wins_count_tied_documents_in_equal_parts(matrix: np.ndarray) -> None:
    votes = votes_of(matrix)
    expected = np.zeros(3)
    for counts in votes.counts():
        leaders = np.flatnonzero(counts == counts.max())
        expected[leaders] += (counts.max() > 0) / len(leaders)
    np.testing.assert_allclose(class_wins(votes), expected)
    assert commonest_class(votes) == int(np.argmax(class_wins(votes)))


def test_soft_votes_count_with_their_probabilities() -> None:
    hard = Votes.from_array([[1, 0], [-1, 0]], sources=["model", "rule"])
    soft = np.array([[0.4, 0.6], [np.nan, np.nan]], dtype=np.float32)
    votes = Votes(hard.matrix, hard.sources, hard.classes, hard.ids, {"model": soft})
    shares = MajorityVote().fit(votes).predict_proba(votes)
    np.testing.assert_allclose(shares, [[0.7, 0.3], [1.0, 0.0]], rtol=1e-6)


@given(matrices)
def test_accuracies_are_the_agreement_with_the_winner(matrix: np.ndarray) -> None:
    votes = votes_of(matrix)
    model = MajorityVote().fit(votes)
    assert isinstance(model, LabelModel)
    for j, found in enumerate(model.accuracies_):
        rows = np.flatnonzero(votes.voted[:, j])
        if not len(rows):
            assert np.isnan(found)
            continue
        counts = votes.counts()[rows]
        leads = counts == counts.max(axis=1, keepdims=True)
        part = leads[np.arange(len(rows)), matrix[rows, j]] / leads.sum(axis=1)
        assert found == pytest.approx(part.mean())


def test_misuse_is_refused() -> None:
    votes = Votes.from_array([[0, 1]])
    with pytest.raises(NotFittedError, match="call fit"):
        MajorityVote().predict(votes)
    with pytest.raises(
        SettingsError, match="ties must be one of commonest, random, first, abstain, not 'coin'"
    ):
        MajorityVote(ties="coin").fit(votes)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="1 number for 2 classes"):
        MajorityVote(class_prior=[1.0]).fit(votes)
    with pytest.raises(InputError, match="fitted on the classes 0, 1"):
        MajorityVote().fit(votes).predict(Votes.from_array([[0]], classes=["x", "y"]))

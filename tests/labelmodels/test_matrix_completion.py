"""Matrix completion against its published objective, and against Snorkel on the same votes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import check_grad
from tests.planted_votes import planted_votes

from unruly.errors import InputError, SettingsError
from unruly.labelmodels import matrix_completion
from unruly.labelmodels.matrix_completion import (
    Completion,
    MatrixCompletion,
    _by_bits,
    _by_pairs,
    overlaps,
)
from unruly.votes.sparse import DistinctVotes
from unruly.votes.votes import Votes


def test_the_gradient_is_that_of_the_objective() -> None:
    rng = np.random.default_rng(0)
    source = np.array([0, 0, 1, 1, 2, 2])
    mu = rng.random((6, 2))
    o = rng.random((6, 6))
    problem = Completion(
        (o + o.T) / 2, rng.random(6), source[:, None] != source, np.array([0.6, 0.4]), 0.1
    )
    start = rng.random((6, 2))
    error = check_grad(
        lambda x: problem.loss(x, start)[0], lambda x: problem.loss(x, start)[1], mu.ravel()
    )
    assert error < 1e-5


@pytest.mark.parametrize("m", [2, 4])
def test_it_starts_from_sources_that_are_right_at_seventy_percent(m: int) -> None:
    """Each vote is cast as often as it was seen, and 7/3 (m - 1) times as likely in its own class as in another."""
    prior = np.arange(1, m + 1) / (m * (m + 1) / 2)
    seen, column = np.linspace(0.05, 0.3, 2 * m), np.tile(np.arange(m), 2)
    problem = Completion(np.zeros((2 * m, 2 * m)), seen, np.ones((2 * m, 2 * m), bool), prior, 0.1)
    start = problem.trusting(np.eye(m)[column])
    np.testing.assert_allclose(start @ prior, seen)
    own, other = start[np.arange(2 * m), column], start[np.arange(2 * m), (column + 1) % m]
    np.testing.assert_allclose(own / other, 7 / 3 * (m - 1))


@pytest.mark.parametrize("prior", [[0.5, 0.5], [0.7, 0.3]])
def test_without_the_pull_it_recovers_the_planted_rates(prior: list[float]) -> None:
    accuracies = [0.9, 0.8, 0.75, 0.7, 0.6]
    votes, gold = planted_votes(60_000, accuracies, 0.6, prior=prior, seed=1)
    model = MatrixCompletion(prior, ridge=0.0).fit(votes)
    for j in range(5):
        for c in range(2):
            for y in range(2):
                truth = (votes.matrix[gold == y, j] == c).mean()
                assert abs(model.rates_[j, c, y] - truth) < 0.02
    assert np.abs(model.accuracies_ - accuracies).max() < 0.02


def test_an_inverted_source_is_found() -> None:
    votes, _ = planted_votes(10_000, [0.85, 0.8, 0.8, 0.75, 0.2], 0.6, seed=2)
    assert MatrixCompletion().fit(votes).accuracies_[4] < 0.4


def test_fewer_than_three_sources_that_vote_are_refused() -> None:
    votes, _ = planted_votes(100, [0.9, 0.8])
    with pytest.raises(InputError, match="needs three sources that vote, and there are 2"):
        MatrixCompletion().fit(votes)
    silent = Votes.from_array(np.column_stack([votes.matrix, np.full(100, -1)]))
    with pytest.raises(InputError, match="there are 2"):
        MatrixCompletion().fit(silent)


def test_settings_out_of_range_are_refused() -> None:
    votes, _ = planted_votes(100, [0.9, 0.8, 0.7])
    with pytest.raises(SettingsError, match="ridge is -1"):
        MatrixCompletion(ridge=-1).fit(votes)
    with pytest.raises(SettingsError, match="max_iter is 0"):
        MatrixCompletion(max_iter=0).fit(votes)


@pytest.mark.parametrize("m", [2, 4])
def test_agrees_with_snorkel_on_the_same_votes(m: int) -> None:
    """The same objective, brought lower; the same labels where both are sure; no less accurate."""
    snorkel = pytest.importorskip("snorkel.labeling.model")
    accuracies = [0.9, 0.85, 0.8, 0.7, 0.65, 0.6, 0.75]
    votes, gold = planted_votes(5000, accuracies, 0.4, classes=m, seed=5)
    wide = votes.matrix.astype(np.int64)
    theirs = snorkel.LabelModel(cardinality=m, verbose=False)
    theirs.fit(wide, n_epochs=300, seed=1, progress_bar=False)
    ours = MatrixCompletion().fit(votes)

    plain = MatrixCompletion(ridge=0.0).fit(votes)
    assert plain.loss_ <= float(theirs._loss_mu().detach()) + 1e-6
    assert np.corrcoef(ours.accuracies_, theirs.get_weights())[0, 1] > 0.95

    mine, yours = ours.predict_proba(votes), theirs.predict_proba(wide)
    assert np.abs(mine - yours).mean() < 0.1
    sure = (mine.max(axis=1) > 0.7) & (yours.max(axis=1) > 0.7)
    assert (mine.argmax(axis=1) == yours.argmax(axis=1))[sure].mean() > 0.99
    right = (mine.argmax(axis=1) == gold).mean()
    assert right >= (yours.argmax(axis=1) == gold).mean() - 0.003


def test_both_ways_of_counting_overlaps_agree_with_the_dense_product() -> None:
    rng = np.random.default_rng(0)
    votes = Votes.from_array(rng.integers(-1, 2, size=(500, 30)))
    distinct = DistinctVotes.of(votes)
    assert distinct.inverse is None  # all rows differ: the case for bits
    dense = (votes.matrix[:, :, None] == np.arange(2)).reshape(500, -1).astype(float)
    expected = dense.T @ dense
    np.testing.assert_array_equal(_by_bits(distinct), expected)
    np.testing.assert_array_equal(_by_pairs(distinct), expected)
    np.testing.assert_allclose(overlaps(distinct), expected / 500)
    few = Votes.from_array(np.tile([[0, 1], [1, -1]], (50, 1)))
    np.testing.assert_allclose(
        overlaps(DistinctVotes.of(few))[[0, 0, 3, 1], [0, 3, 3, 1]], [0.5, 0.5, 0.5, 0.5]
    )


def test_the_pull_is_by_the_ridge_the_votes_and_the_distance_from_equal_trust() -> None:
    step = Completion(
        np.zeros((4, 4)), np.full(4, 0.25), np.zeros((4, 4), bool), np.full(2, 0.5), ridge=0.5
    )
    start = np.full((4, 2), 0.25)
    moved, slope = step.loss((start + 0.1).ravel(), start)
    free, level = Completion(step.o, step.d, step.mask, step.prior, ridge=0.0).loss(
        (start + 0.1).ravel(), start
    )
    assert moved - free == pytest.approx(0.5 * 0.25 * 8 * 0.01)  # ridge * |d|^2 * |mu - mu_0|^2
    np.testing.assert_allclose(slope - level, 2 * 0.5 * 0.25 * 0.1)


def test_an_accuracy_is_a_share_where_the_moments_promise_more() -> None:
    """Sources that vote on the same tenth of the documents meet more often than independent ones could."""
    together = np.where(np.arange(100) < 10, np.arange(100) % 2, -1)
    model = MatrixCompletion().fit(Votes.from_array(np.tile(together[:, None], (1, 3))))
    promised = np.einsum("jcc,c->j", model.rates_, model.class_prior_) / 0.1
    assert promised.min() > 1.2
    assert model.accuracies_.tolist() == [1, 1, 1]


def test_rates_are_no_rarer_than_was_seen_and_no_likelier_than_certain() -> None:
    """Classes that are even in the votes under a prior that says 95 %: both ends are wanted, and kept."""
    gold = np.arange(400) % 2
    model = MatrixCompletion([0.95, 0.05], ridge=0.0).fit(
        Votes.from_array(np.tile(gold[:, None], (1, 3)))
    )
    assert model.rates_.max() == 1
    assert model.rates_.min() == pytest.approx(0.5 / (200 + 2))


def test_beyond_ten_sources_the_pull_falls_with_their_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Twenty sources are pulled half as hard, one that never votes not counted; five as hard as the ridge says."""
    votes, _ = planted_votes(400, [0.6 + 0.01 * j for j in range(20)], 0.4, seed=0)
    silent = Votes.from_array(np.column_stack([votes.matrix, np.full(400, -1)]))
    few = votes[:, :5]
    twenty, with_silent, five = (
        MatrixCompletion(ridge=0.4).fit(v).rates_ for v in (votes, silent, few)
    )
    monkeypatch.setattr(matrix_completion, "MANY", 10**9)
    np.testing.assert_allclose(twenty, MatrixCompletion(ridge=0.2).fit(votes).rates_, atol=1e-3)
    np.testing.assert_allclose(with_silent[:20], twenty, atol=1e-3)
    np.testing.assert_allclose(five, MatrixCompletion(ridge=0.4).fit(few).rates_, atol=1e-6)
    assert np.abs(twenty - MatrixCompletion(ridge=0.4).fit(votes).rates_).max() > 5e-3


@pytest.mark.parametrize("kind", ["soft", "repeated"])
def test_overlaps_of_soft_votes_and_repeated_documents_are_the_dense_product(kind: str) -> None:
    rng = np.random.default_rng(0)
    votes = Votes.from_array(rng.integers(0, 2, size=(60, 3)))
    shares = rng.dirichlet(np.ones(2), size=60).astype(np.float32)
    if kind == "soft":
        votes = replace(votes, soft=dict.fromkeys(votes.sources, shares))
    distinct = DistinctVotes.of(votes)
    assert (distinct.inverse is None) == (kind == "soft")
    dense = np.zeros((60, 3, 2))
    for j in range(3):
        dense[:, j] = shares if kind == "soft" else np.eye(2)[votes.matrix[:, j]]
    flat = dense.reshape(60, 6)
    np.testing.assert_allclose(overlaps(distinct), flat.T @ flat / 60, atol=1e-6)

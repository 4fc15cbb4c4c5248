"""Full and one-coin Dawid-Skene: rates, steps, and what abstention is for."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit
from tests.planted_votes import planted_votes

from unruly.errors import SettingsError
from unruly.labelmodels.dawid_skene import DawidSkene, OneCoin, _coins
from unruly.labelmodels.majority_vote import WeightedVote
from unruly.votes.votes import Votes

BOTH = [DawidSkene, OneCoin]


@pytest.mark.parametrize("model", BOTH)
def test_rates_are_those_of_the_planted_sources(model: type[DawidSkene] | type[OneCoin]) -> None:
    accuracies, coverages = [0.9, 0.8, 0.75, 0.7, 0.65], [0.7, 0.6, 0.5, 0.6, 0.4]
    votes, gold = planted_votes(40_000, accuracies, coverages, prior=[0.6, 0.4], seed=1)
    found = model([0.6, 0.4]).fit(votes)
    for j in range(5):
        for c in range(2):
            for y in range(2):
                truth = (votes.matrix[gold == y, j] == c).mean()
                assert abs(found.rates_[j, c, y] - truth) < 0.03
    assert np.abs(found.accuracies_ - accuracies).max() < 0.03


def test_one_step_by_hand() -> None:
    """Three documents, two sources: vote shares, then rates with one document of smoothing."""
    votes = Votes.from_array([[0, 0], [1, 1], [0, -1]])
    model = DawidSkene(max_iter=1, smoothing=1.0, abstention=0.0).fit(votes)
    # q = [1, 0], [0, 1], [1, 0]; source 0 says 0 on both documents of class 0, overall rate 2/3.
    assert model.rates_[0, 0, 0] == pytest.approx((2 + 2 / 3) / (2 + 1))
    assert model.rates_[0, 0, 1] == pytest.approx((0 + 2 / 3) / (1 + 1))
    assert model.rates_[1, 1, 1] == pytest.approx((1 + 1 / 3) / (1 + 1))
    odds = (8 / 9) / (1 / 3) * (model.rates_[1, 0, 0] / model.rates_[1, 0, 1])
    assert model.predict_proba(votes)[0, 0] == pytest.approx(odds / (1 + odds))


def test_the_exact_model_never_lowers_the_likelihood() -> None:
    """Abstention 1 is true EM (up to the smoothing): each round makes the votes likelier."""
    votes, _ = planted_votes(2000, [0.85, 0.75, 0.7, 0.65], 0.5, seed=3)
    likelihood = []
    for rounds in range(1, 12):
        model = DawidSkene(abstention=1.0, max_iter=rounds, tol=0.0, smoothing=1e-6).fit(votes)
        cells = np.log(np.concatenate([1 - model.rates_.sum(1, keepdims=True), model.rates_], 1))
        scores = sum(cells[j, votes.matrix[:, j] + 1] for j in range(votes.k)) + np.log(
            model.class_prior_
        )
        likelihood.append(np.logaddexp.reduce(scores, axis=1).sum())
    assert (np.diff(likelihood) > -1e-6).all()


@pytest.mark.parametrize("model", BOTH)
def test_silence_speaks_as_loudly_as_it_is_told(
    model: type[DawidSkene] | type[OneCoin],
) -> None:
    """A source that fires on most spam: its silence is evidence of ham, unless silence is ignored."""
    votes, gold = planted_votes(
        6000, [0.95, 0.8, 0.8, 0.8], [0.45, 0.5, 0.5, 0.5], one_class={0: 1}, seed=4
    )
    lone = (votes.matrix[:, 0] < 0) & (votes.matrix[:, 1] == 1) & (votes.voted.sum(axis=1) == 1)
    loud = model(abstention=1.0).fit(votes).predict_proba(votes)[lone, 1].mean()
    deaf = model(abstention=0.0).fit(votes).predict_proba(votes)[lone, 1].mean()
    truth = (gold[lone] == 1).mean()
    assert loud < deaf
    assert abs(loud - truth) < abs(deaf - truth)


@pytest.mark.parametrize("model", BOTH)
def test_an_inverted_source_is_turned_round(model: type[DawidSkene] | type[OneCoin]) -> None:
    votes, gold = planted_votes(6000, [0.8, 0.8, 0.75, 0.75, 0.1], 0.6, seed=5)
    found = model().fit(votes)
    assert found.accuracies_[4] < 0.2
    alone = votes.voted[:, 4] & (votes.voted.sum(axis=1) == 1)
    assert (found.predict(votes) == gold)[alone].mean() > 0.8


@pytest.mark.parametrize("model", BOTH)
def test_settings_out_of_range_are_refused(model: type[DawidSkene] | type[OneCoin]) -> None:
    votes, _ = planted_votes(100, [0.9, 0.8, 0.7])
    with pytest.raises(SettingsError, match="abstention is 2"):
        model(abstention=2).fit(votes)
    with pytest.raises(SettingsError, match="smoothing is 0"):
        model(smoothing=0).fit(votes)
    with pytest.raises(SettingsError, match="max_iter is 0"):
        model(max_iter=0).fit(votes)
    with pytest.raises(SettingsError, match="tol is -1"):
        model(tol=-1).fit(votes)


def test_a_one_coin_model_weighs_a_vote_it_has_not_seen() -> None:
    """The coin belongs to the source, so that it also holds for a class the source never named."""
    votes, _ = planted_votes(3000, [0.9, 0.8, 0.8], 0.5, one_class={0: 1}, seed=6)
    model = OneCoin(abstention=0.0).fit(votes)
    new = Votes.from_array([[0, -1, -1]], classes=votes.classes, sources=votes.sources)
    assert model.predict_proba(new)[0, 0] > 0.7


def test_weighted_vote_takes_known_accuracies() -> None:
    votes, gold = planted_votes(3000, [0.95, 0.6, 0.6, 0.6], 1.0, seed=7)
    model = WeightedVote(accuracies=[0.95, 0.6, 0.6, 0.6]).fit(votes)
    assert np.array_equal(model.predict(votes), votes.matrix[:, 0])
    assert (model.predict(votes) == gold).mean() > 0.93
    with pytest.raises(SettingsError, match="3 accuracies are given, but there are 4 sources"):
        WeightedVote(accuracies=[0.9, 0.8, 0.7]).fit(votes)
    for beyond in (1.2, -0.1):
        with pytest.raises(SettingsError, match="between 0 and 1"):
            WeightedVote(accuracies=[0.9, 0.8, 0.7, beyond]).fit(votes)
    sure = WeightedVote(accuracies=[0.0, 1.0, 0.5, 0.5]).fit(votes)  # always wrong, always right
    assert sure.weights_[0] < -3
    assert sure.weights_[1] > 3
    with pytest.raises(SettingsError, match="smoothing is -1"):
        WeightedVote(smoothing=-1).fit(votes)


def test_weighted_vote_gives_lonely_sources_an_average_say() -> None:
    votes = Votes.from_array([[0, -1], [-1, 1], [1, -1]])
    model = WeightedVote().fit(votes)
    assert model.accuracies_ == pytest.approx([0.7, 0.7])
    assert model.predict_proba(votes)[0] == pytest.approx([0.7, 0.3])


def test_a_weighted_vote_counts_how_far_the_votes_beside_it_agree() -> None:
    """Source 0 meets another twice: once all go with it, once half of the votes do. Its third vote is alone."""
    votes = Votes.from_array([[0, 0, -1], [0, 1, -1], [0, -1, -1], [-1, -1, 1]])
    met = (1 + 0.5) / 2
    assert WeightedVote(smoothing=0).fit(votes).accuracies_ == pytest.approx([met, met, 0.7])
    smoothed = (2 * met + 2 * 0.7) / 4  # two votes at 70 % are added
    assert WeightedVote().fit(votes).accuracies_ == pytest.approx([smoothed, smoothed, 0.7])
    little = WeightedVote(smoothing=0.5).fit(votes).accuracies_  # a lone source keeps 70 %
    assert little == pytest.approx([(2 * met + 0.5 * 0.7) / 2.5] * 2 + [0.7])
    once = WeightedVote(smoothing=0).fit(Votes.from_array([[1, 1], [0, -1]]))
    assert once.accuracies_ == pytest.approx([1, 1])


def test_a_coin_is_smoothed_by_votes_that_are_right_by_chance() -> None:
    """One vote, surely right, and two that are right one time in two: two out of three are right."""
    one, even = np.array([[1.0, 0.0]]), np.zeros(2)
    assert _coins(one, np.array([1.0]), even, smoothing=2.0)[0] == pytest.approx(
        np.log(2), abs=1e-6
    )
    for right, end in ((1.0, 20), (0.0, -20)):  # nothing is surer than that
        found = _coins(one, np.array([right]), even, smoothing=0.0)[0]
        assert found == pytest.approx(end, abs=1e-6)


@pytest.mark.parametrize("m", [2, 4])
def test_a_weighted_vote_counts_as_much_as_its_accuracy_among_m_classes(m: int) -> None:
    """One vote of a source that is right at 70 %: its class at 70 %, the rest shared by the others."""
    votes = Votes.from_array([[0], [m - 1]], classes=[str(c) for c in range(m)])
    model = WeightedVote(accuracies=[0.7]).fit(votes)
    assert model.weights_[0] == pytest.approx(np.log((m - 1) * 0.7 / 0.3))
    assert model.predict_proba(votes)[0] == pytest.approx([0.7, *[0.3 / (m - 1)] * (m - 1)])


@pytest.mark.parametrize("model", BOTH)
def test_it_stops_when_soft_labels_move_less_than_tol(
    model: type[DawidSkene] | type[OneCoin],
) -> None:
    """One round more each time: the first that moves labels by less than tol on average is about the last.

    About, for documents without a vote are answered with the prior alone.
    """
    votes, _ = planted_votes(1500, [0.85, 0.75, 0.7, 0.65], 0.5, seed=3)
    soft = [model(max_iter=n, tol=0.0).fit(votes).predict_proba(votes) for n in range(1, 40)]
    moved = [np.abs(b - a).max(axis=1).mean() for a, b in pairwise(soft)]
    for tol in (moved[3] * 1.001, moved[6] * 1.001):
        first = next(n for n, much in enumerate(moved, 2) if much < tol)
        assert abs(model(max_iter=39, tol=tol).fit(votes).n_iter_ - first) <= 1
    assert model(max_iter=3, tol=0.0).fit(votes).n_iter_ == 3


def dense(
    votes: Votes,
    prior: NDArray[Any] | None,
    abstention: float,
    smoothing: float,
    coin: bool,
    rounds: int = 30,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Rates (k, m, m), soft labels (n, m) and the prior (m,) after so many rounds: one document at a time.

    Without a prior it is learnt from the soft labels, with one document more of each class.
    """
    n, k, m = votes.n, votes.k, votes.m
    q = np.where(votes.covered[:, None], votes.counts(), 1 if prior is None else m * prior)
    q = q / q.sum(axis=1, keepdims=True)
    cast = np.stack([(votes.matrix == c).sum(axis=0) for c in range(m)], axis=1)  # (k, m)
    known = np.full(m, 1 / m) if prior is None else prior
    rates = np.zeros((k, m, m))
    for _ in range(rounds):
        joint = np.stack([q.T @ (votes.matrix == c) for c in range(m)]).transpose(
            2, 0, 1
        )  # (k, c, y)
        mass = q.sum(axis=0)
        share = (mass + 1) / (n + m)
        if prior is None:
            known = share
        spoken, silence = np.zeros((k, m, m)), np.zeros((k, m))
        for j in range(k):
            if coin:
                right = np.trace(joint[j])
                odds = np.log(share / (1 - share))

                def surplus(theta: float, j: int = j, right: float = right) -> float:
                    chance = smoothing * (expit(theta - np.log(m - 1)) - 1 / m)
                    return float(cast[j] @ expit(theta + odds) + chance - right)  # noqa: B023

                theta = brentq(surplus, -20, 20)
                spoken[j] = theta * np.eye(m)
                base = cast[j] / n / (1 + (np.exp(theta) - 1) * share)
                rates[j] = base[:, None] * np.exp(spoken[j])
                floor = max((1 - cast[j].sum() / n) / 10, 1e-3)
            else:
                rates[j] = (joint[j] + smoothing * (cast[j] / n)[:, None]) / (mass + smoothing)
                spoken[j] = np.log(np.where(rates[j] > 0, rates[j], 1))
                floor = 1e-9
            silence[j] = np.clip(1 - rates[j].sum(axis=0), floor, 1)
        for i, row in enumerate(votes.matrix):
            score = np.log(known)
            for j, vote in enumerate(row):
                score = score + (spoken[j, vote] if vote >= 0 else abstention * np.log(silence[j]))
            q[i] = np.exp(score - np.logaddexp.reduce(score))
    return rates, q, known


@pytest.mark.parametrize("abstention", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("model", BOTH)
def test_thirty_rounds_are_those_of_a_slow_and_obvious_program(
    model: type[DawidSkene] | type[OneCoin], abstention: float
) -> None:
    """Three classes of unlike size; one source votes on nearly all documents, so that its silence has a floor."""
    votes, _ = planted_votes(
        120, [0.9, 0.8, 0.7, 0.6], [0.97, 0.5, 0.4, 0.3], classes=3, prior=[0.5, 0.3, 0.2], seed=5
    )
    prior = np.array([0.5, 0.3, 0.2])
    found = model(prior, abstention=abstention, max_iter=30, tol=0.0).fit(votes)
    coin = model is OneCoin
    rates, q, _ = dense(votes, prior, abstention, found.smoothing, coin)
    np.testing.assert_allclose(found.rates_, rates, atol=1e-4)
    covered = votes.covered
    np.testing.assert_allclose(found.predict_proba(votes)[covered], q[covered], atol=1e-3)
    right = [q[votes.voted[:, j], votes.matrix[votes.voted[:, j], j]].mean() for j in range(4)]
    np.testing.assert_allclose(found.accuracies_, right, atol=1e-3)


@pytest.mark.parametrize("smoothing", [0.5, 4.0])
def test_a_learnt_prior_is_that_of_the_exact_model(smoothing: float) -> None:
    votes, _ = planted_votes(
        150, [0.9, 0.85, 0.8, 0.8], 0.6, classes=3, prior=[0.6, 0.3, 0.1], seed=2
    )
    _, _, expected = dense(votes, None, 1.0, smoothing, coin=False, rounds=300)
    found = DawidSkene("learn", smoothing=smoothing).fit(votes).class_prior_
    np.testing.assert_allclose(found, expected, atol=1e-3)

"""Expectation-maximisation: labels stay, text of a document is held out, the first round starts from votes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.denoising.planted import drawn, skewed

from unruly.denoising import em
from unruly.denoising.balance import ASSUMED_LABELS, Balance, right_vote_shares, vote_shares
from unruly.denoising.behaviour import Behaviour, source_behaviour
from unruly.denoising.em import Task, _first_targets, expectation_maximisation, pooled
from unruly.denoising.regression import CrossFitting, content_folds
from unruly.features.encoder import Features
from unruly.findings import BalanceOrigin
from unruly.labelmodels.majority_vote import MajorityVote
from unruly.progress import Silent
from unruly.settings import Settings
from unruly.statistics import softmax
from unruly.votes.sparse import SparseVotes
from unruly.votes.votes import Votes

EVEN = Balance(np.array([0.5, 0.5]), 10.0, BalanceOrigin.ASSUMED)


def task_of(features: Features, votes: Votes, clean: np.ndarray | None = None) -> Task:
    blocks = tuple(block.array for block in features.blocks)
    fold, _ = content_folds(features, 3, 0)
    known = np.full(votes.n, -1) if clean is None else clean
    texts = tuple(CrossFitting.of(x, fold, 3, 1.0) for x in blocks)
    return Task(texts, features.weights, SparseVotes.of(votes), known)


def test_posteriors_beat_the_votes() -> None:
    features, votes, truth = drawn(1000, [0.65, 0.7, 0.75])
    q = expectation_maximisation(task_of(features, votes), EVEN, Settings()).q
    assert q.sum(axis=1) == pytest.approx(1)
    majority = votes.counts().argmax(axis=1)
    covered = votes.covered
    assert (q.argmax(axis=1) == truth).mean() > (majority == truth)[covered].mean() + 0.05


def test_labels_teach_text_and_sources() -> None:
    features, votes, truth = drawn(600, [0.3, 0.4], signal=1.0)  # sources mostly wrong
    clean = np.where(np.arange(600) < 200, truth, -1)
    without = expectation_maximisation(task_of(features, votes), EVEN, Settings())
    given = expectation_maximisation(task_of(features, votes, clean), EVEN, Settings())
    rest = slice(200, None)
    assert (given.q.argmax(axis=1) == truth)[rest].mean() > 0.85
    assert (without.q.argmax(axis=1) == truth)[rest].mean() < 0.5
    assert given.behaviour.rates[0, 0, 1] > given.behaviour.rates[0, 0, 0]


def test_labels_stay_in_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    features, votes, truth = drawn(200, [0.3, 0.4], signal=0.2)
    clean = np.where(np.arange(200) < 20, truth, -1)
    seen: list[np.ndarray] = []

    def spied(cast: SparseVotes, q: np.ndarray, mass: np.ndarray) -> Behaviour:
        seen.append(q[:20])
        return source_behaviour(cast, q, mass)

    monkeypatch.setattr(em, "source_behaviour", spied)
    expectation_maximisation(task_of(features, votes, clean), EVEN, Settings())
    assert len(seen) == Settings().rounds
    assert all((q == np.eye(2)[truth[:20]]).all() for q in seen)


def test_hidden_labels_are_not_seen() -> None:
    features, votes, truth = drawn(300, [0.7, 0.8])
    task = task_of(features, votes, truth)
    assert task.known.all()
    hidden, never = task.unlabelled(), task_of(features, votes)
    ours = expectation_maximisation(hidden, EVEN, Settings()).q
    assert (ours == expectation_maximisation(never, EVEN, Settings()).q).all()


def test_posteriors_under_another_balance_move_towards_it() -> None:
    features, votes, _ = drawn(600, [0.7, 0.75], signal=0.4)
    fitted = expectation_maximisation(task_of(features, votes), EVEN, Settings())
    assert fitted.under(EVEN) == pytest.approx(fitted.q, abs=1e-6)
    shares = [
        fitted.under(Balance(np.array([1 - p, p]), 100.0, BalanceOrigin.STATED)).mean(axis=0)[1]
        for p in (0.2, 0.5, 0.8)
    ]
    assert (np.diff(shares) > 0.1).all()


def test_sharper_text_keeps_the_class_shares() -> None:
    features, votes, _ = skewed(600, 0.1, [0.7, 0.75], signal=0.4)
    loose = Balance(np.array([0.5, 0.5]), 0.0, BalanceOrigin.ASSUMED)  # worth no label: b is b0
    fitted = expectation_maximisation(task_of(features, votes), loose, Settings(tau=5.0))
    plain = softmax(fitted.lp + fitted.ev).mean(axis=0)
    assert fitted.q.mean(axis=0) == pytest.approx(plain, abs=1e-4)
    assert fitted.q.max(axis=1).mean() > softmax(fitted.lp + fitted.ev).max(axis=1).mean() + 0.02


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rounds_do_not_draw_a_rare_class_towards_an_even_share(seed: int) -> None:
    features, votes, truth = skewed(1500, 0.05, [0.9] * 5, signal=0.8, seed=seed)
    assumed = Balance(vote_shares(SparseVotes.of(votes)), 10.0, BalanceOrigin.ASSUMED)
    q = expectation_maximisation(task_of(features, votes), assumed, Settings()).q
    majority = MajorityVote().fit(votes).predict(votes)
    assert (q.argmax(axis=1) == truth).mean() > (majority == truth).mean()
    assert q.mean(axis=0)[1] < assumed.shares[1] - 0.02


def test_with_nothing_known_the_shares_are_those_of_the_right_votes_of_the_round_before() -> None:
    features, votes, _ = skewed(600, 0.15, [0.65, 0.8, 0.7], signal=0.5)
    task = task_of(features, votes)
    one, two = (expectation_maximisation(task, None, Settings(rounds=rounds)) for rounds in (1, 2))
    assert (one.balance.shares == vote_shares(task.votes)).all()
    expected = right_vote_shares(task.votes, one.scores + one.b, one.behaviour)
    assert (two.balance.shares == expected).all()
    assert {one.balance.labels, two.balance.labels} == {ASSUMED_LABELS}
    assert {one.balance.origin, two.balance.origin} == {BalanceOrigin.ASSUMED}


def test_a_balance_that_is_given_stays() -> None:
    features, votes, _ = skewed(300, 0.15, [0.65, 0.8], signal=0.5)
    assert expectation_maximisation(task_of(features, votes), EVEN, Settings()).balance is EVEN


def test_pooling_is_a_weighted_geometric_mean() -> None:
    one, other = np.log([[0.9, 0.1]]), np.log([[0.5, 0.5]])
    assert np.exp(pooled([one, other], [0.5, 0.5])) == pytest.approx(np.array([[0.75, 0.25]]))
    assert np.exp(pooled([one, other], [1.0, 0.0])) == pytest.approx(np.array([[0.9, 0.1]]))


def test_progress_is_reported_round_by_round() -> None:
    class Counting(Silent):
        rounds = 0

        def advance(self, units: int, note: str = "") -> None:
            self.rounds += units

    features, votes, _ = drawn(60, [0.8])
    counting = Counting()
    expectation_maximisation(task_of(features, votes), EVEN, Settings(rounds=4), counting)
    assert counting.rounds == 4


def test_a_true_label_counts_for_three_documents() -> None:
    features, votes, truth = drawn(200, [0.8, 0.8])
    clean = np.where(np.arange(200) < 50, truth, -1)
    task = task_of(features, votes, clean)
    targets, mass = _first_targets(task, np.array([0.5, 0.5]))
    assert (targets[:50].argmax(axis=1) == truth[:50]).all()
    others = task.votes.covered[50:]
    assert mass[:50].mean() == pytest.approx(3 * mass[50:][others].mean(), rel=0.05)
    assert not mass[50:][~others].any()


def test_first_targets_are_reweighted_to_the_balance() -> None:
    features, votes, truth = drawn(300, [0.8, 0.7, 0.6], m=3)
    task = task_of(features, votes, np.where(np.arange(300) < 20, truth, -1))
    pi = np.array([0.6, 0.3, 0.1])
    targets, mass = _first_targets(task, pi)
    np.testing.assert_allclose(targets.sum(axis=1), 1)
    np.testing.assert_allclose(mass @ targets / mass.sum(), pi)
    whole = 3.0 * 20 + votes.covered[20:].sum()  # what documents and labels count for, in all
    assert mass.sum() == pytest.approx(whole)


def test_without_votes_and_labels_all_documents_count_alike() -> None:
    features, votes, _ = drawn(20, [0.8])
    silent = Votes.from_array(np.full((20, 1), -1), classes=votes.classes)
    targets, mass = _first_targets(task_of(features, silent), np.array([0.7, 0.3]))
    np.testing.assert_allclose(targets, np.tile([0.7, 0.3], (20, 1)))
    assert (mass == 1).all()


def test_each_round_takes_few_steps_from_where_the_last_one_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    features, votes, _ = drawn(80, [0.8, 0.7])
    taken: list[tuple[bool, int]] = []
    original = CrossFitting.descend

    def descend(self: CrossFitting, weights: Any, q: Any, mass: Any, steps: int) -> Any:
        taken.append((weights is None, steps))
        return original(self, weights, q, mass, steps)

    monkeypatch.setattr(CrossFitting, "descend", descend)
    expectation_maximisation(task_of(features, votes), EVEN, Settings(rounds=3))
    blocks = len(features.blocks)
    assert taken == [(True, 15)] * blocks + [(False, 3)] * 2 * blocks


def test_what_moved_is_the_share_of_belief_that_went_to_another_class() -> None:
    notes: list[str] = []

    class Listening(Silent):
        def advance(self, units: int, note: str = "") -> None:
            notes.append(note)

    features, votes, _ = drawn(150, [0.8, 0.7], m=3)
    even = Balance(np.full(3, 1 / 3), 10.0, BalanceOrigin.ASSUMED)
    task = task_of(features, votes)
    expectation_maximisation(task, even, Settings(rounds=3), Listening())
    two, three = (expectation_maximisation(task, even, Settings(rounds=r)).q for r in (2, 3))
    moved = np.maximum(three - two, 0).sum(axis=1).mean()
    assert notes[2] == f"{moved:.1%} moved"
    first, _ = _first_targets(task, even.shares)
    one = expectation_maximisation(task, even, Settings(rounds=1)).q
    assert notes[0] == f"{np.maximum(one - first, 0).sum(axis=1).mean():.1%} moved"


def test_posteriors_are_those_of_the_parts_that_are_kept_with_them() -> None:
    features, votes, _ = drawn(150, [0.8, 0.7])
    fitted = expectation_maximisation(task_of(features, votes), EVEN, Settings())
    np.testing.assert_allclose(
        fitted.q, softmax(fitted.settings.tau * fitted.lp + fitted.ev + fitted.b)
    )
    np.testing.assert_allclose(fitted.under(EVEN), fitted.q, atol=1e-6)


def test_labelled_documents_do_not_move() -> None:
    notes: list[str] = []

    class Listening(Silent):
        def advance(self, units: int, note: str = "") -> None:
            notes.append(note)

    features, votes, truth = drawn(60, [0.8, 0.7])
    task = replace(task_of(features, votes), clean=truth)
    even = Balance(np.full(2, 0.5), 10.0, BalanceOrigin.STATED)
    expectation_maximisation(task, even, Settings(rounds=2), Listening())
    assert notes == ["0.0% moved"] * 2

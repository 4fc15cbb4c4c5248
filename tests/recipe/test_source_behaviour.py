"""How sources behave given the class."""

from __future__ import annotations

import numpy as np
import pytest
from tests.recipe.small_task import small_task

from unruly.recipe.evidence import Evidence
from unruly.recipe.source_behaviour import opinions, source_behaviour, vote_evidence
from unruly.votes.votes import Votes


def test_with_the_truth_it_counts_the_sources_own_rates() -> None:
    task = small_task(4000)
    evidence = Evidence.of(task.votes, np.full(4000, -1))
    found = source_behaviour(evidence, np.eye(2)[task.gold])
    for j in range(task.votes.k):
        for y in range(2):
            for c in range(2):
                rate = (task.votes.matrix[task.gold == y, j] == c).mean()
                assert found[j, y, c] == pytest.approx(rate, abs=2e-3)


def test_a_source_heard_once_claims_no_certainty() -> None:
    votes = Votes.from_array([[0, 0]] + [[-1, 1]] * 50 + [[-1, 0]] * 49)
    evidence = Evidence.of(votes, np.full(100, -1))
    truth = np.eye(2)[[0] + [1] * 50 + [0] * 49]
    behaviour = source_behaviour(evidence, truth)
    odds = behaviour[:, 0, 0] / behaviour[:, 1, 0]
    assert 1 < odds[0] < odds[1]


def test_evidence_is_the_sum_of_the_voters_opinions() -> None:
    task = small_task(50)
    evidence = Evidence.of(task.votes, np.full(50, -1))
    discount = np.linspace(0.2, 1, evidence.k)
    behaviour = source_behaviour(evidence, np.eye(2)[task.gold])
    opinion = opinions(behaviour, discount)
    np.testing.assert_allclose(opinion.sum(axis=2), 0, atol=1e-12)
    ev = vote_evidence(evidence, opinion)
    i = int(task.votes.voted.sum(axis=1).argmax())
    by_hand = np.zeros(2)
    for j in np.flatnonzero(task.votes.voted[i]):
        logs = np.log(behaviour[j, :, task.votes.matrix[i, j]]) * discount[j]
        by_hand += logs - logs.mean()
    np.testing.assert_allclose(ev[i], by_hand, rtol=1e-5)
    assert (ev[~task.votes.covered] == 0).all()


def test_a_pair_that_never_occurred_says_nothing() -> None:
    votes = Votes.from_array([[0, 0], [0, 1], [0, 1]])
    evidence = Evidence.of(votes, np.full(3, -1))
    opinion = opinions(source_behaviour(evidence, np.eye(2)[[0, 1, 1]]), np.ones(2))
    np.testing.assert_allclose(opinion[0, 1], 0, atol=1e-12)

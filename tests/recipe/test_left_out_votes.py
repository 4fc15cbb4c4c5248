"""How far text and the other sources foretell each source's votes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.recipe.small_task import small_task

from unruly.recipe.evidence import Evidence
from unruly.recipe.left_out_votes import left_out_agreement, left_out_gain
from unruly.recipe.source_behaviour import opinions, source_behaviour, vote_evidence
from unruly.votes.votes import Votes

TASK = small_task(600)


def parts(votes: Votes) -> tuple[Evidence, np.ndarray, np.ndarray]:
    evidence = Evidence.of(votes, np.full(votes.n, -1))
    opinion = opinions(source_behaviour(evidence, np.eye(2)[TASK.gold]), np.ones(evidence.k))
    return evidence, opinion, vote_evidence(evidence, opinion)


def test_text_that_knows_foretells_better_than_text_that_does_not() -> None:
    evidence, opinion, ev = parts(TASK.votes)
    even = np.ones(evidence.k)
    blind = left_out_agreement(ev, evidence, opinion, even)
    knowing = left_out_agreement(3 * np.eye(2)[TASK.gold] + ev, evidence, opinion, even)
    wrong = left_out_agreement(3 * np.eye(2)[1 - TASK.gold] + ev, evidence, opinion, even)
    assert wrong < blind < knowing


def test_a_source_is_not_foretold_by_its_own_vote() -> None:
    votes = Votes.from_array(TASK.votes.matrix[:, -1:])
    evidence, opinion, ev = parts(votes)
    assert left_out_agreement(ev, evidence, opinion, np.ones(1)) == pytest.approx(0.5)


@given(st.permutations(range(6)))
def test_the_order_of_sources_changes_nothing(order: list[int]) -> None:
    discount = np.linspace(0.2, 1, 6)
    evidence, opinion, ev = parts(TASK.votes)
    turned, opinion_turned, ev_turned = parts(Votes.from_array(TASK.votes.matrix[:, order]))
    assert left_out_agreement(ev_turned, turned, opinion_turned, discount[order]) == pytest.approx(
        left_out_agreement(ev, evidence, opinion, discount)
    )


def gain(votes: Votes, text: np.ndarray) -> float:
    evidence, opinion, ev = parts(votes)
    q = np.eye(2)[TASK.gold] * 0.98 + 0.01
    return left_out_gain(text + ev, q, evidence, opinion, np.ones(evidence.k))


def test_gain_rewards_knowing_and_punishes_loud_mistakes() -> None:
    right = np.eye(2)[TASK.gold]
    mixed = np.where(np.arange(600)[:, None] % 3 > 0, right, 1 - right)  # wrong on every third
    blind, knowing = gain(TASK.votes, 0 * right), gain(TASK.votes, 3 * right)
    assert knowing > blind > gain(TASK.votes, 3 * (1 - right))
    assert gain(TASK.votes, mixed) > gain(TASK.votes, 8 * mixed), "louder, and as often wrong"


def test_a_source_gains_nothing_by_its_own_vote() -> None:
    votes = Votes.from_array(TASK.votes.matrix[:, -1:])
    assert gain(votes, np.zeros((600, 2))) == pytest.approx(0.0, abs=0.01)


def test_a_source_of_two_votes_is_not_learnt_by_heart() -> None:
    """Counted with its own documents, a source that is heard twice would look foretold."""
    matrix = np.full((600, 200), -1)
    rows = np.random.default_rng(0).permutation(600)[:400].reshape(200, 2)
    for j, pair in enumerate(rows):
        matrix[pair, j] = np.random.default_rng(j).integers(0, 2)
    assert gain(Votes.from_array(matrix), 4 * np.eye(2)[TASK.gold]) < 0.05


@given(st.permutations(range(6)))
def test_the_order_of_sources_changes_no_gain(order: list[int]) -> None:
    text = np.eye(2)[TASK.gold]
    turned = gain(Votes.from_array(TASK.votes.matrix[:, order]), text)
    assert turned == pytest.approx(gain(TASK.votes, text))

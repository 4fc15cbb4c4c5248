"""How far text and the other sources foretell each source's votes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.recipe.small_task import small_task

from unruly.recipe.evidence import Evidence
from unruly.recipe.left_out_votes import left_out_agreement
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

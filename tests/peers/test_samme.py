"""Boosting weights by hand, and their laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.peers.samme import boosting_weight, reweighted, source_errors
from unruly.votes.votes import Votes


@pytest.mark.parametrize(
    ("error", "m", "by_hand"),
    [
        (0.2, 2, math.log(4)),
        (0.2, 4, math.log(4) + math.log(3)),
        (0.75, 4, 0.0),  # chance
        (0.95, 4, 0.0),  # worse than chance: no say
    ],
)
def test_weights_by_hand(error: float, m: int, by_hand: float) -> None:
    assert float(boosting_weight(error, m)) == pytest.approx(by_hand, abs=1e-12)


@given(st.lists(st.booleans(), min_size=2, max_size=20).filter(lambda w: 0 < sum(w) < len(w)))
def test_after_a_round_the_wrong_ones_weigh_half(wrong: list[bool]) -> None:
    """AdaBoost's law for two classes: what was just learnt is no better than chance afterwards."""
    mask = np.array(wrong)
    error = mask.mean()
    alpha = math.log((1 - error) / error)
    weights = reweighted(np.full(len(mask), 1 / len(mask)), mask, alpha)
    assert weights.sum() == pytest.approx(1)
    assert weights[mask].sum() == pytest.approx(0.5)


def test_source_errors_by_hand() -> None:
    votes = Votes.from_array([[0, 1, -1], [0, 0, -1], [1, 1, -1]], classes=["a", "b"])
    weights = np.array([0.5, 0.25, 0.25])
    errors = source_errors(votes, np.array([0, 0, -1]), weights)
    one = 1 / 3
    by_hand = [one / 2 / (0.75 + 2 * one), (0.5 + one / 2) / (0.75 + 2 * one), 0.25]
    assert errors.tolist() == pytest.approx(by_hand)


def test_a_source_that_cannot_be_judged_is_thought_useful() -> None:
    votes = Votes.from_array([[0, -1], [2, -1]], classes=["a", "b", "c"])
    errors = source_errors(votes, np.array([0, 2]), np.ones(2))
    assert errors[1] == pytest.approx(1 / 3)  # chance is wrong in 2 of 3
    assert boosting_weight(errors, 3)[1] > 0

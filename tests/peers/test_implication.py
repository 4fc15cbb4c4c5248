"""The losses of ImplyLoss by hand, and the laws that they keep."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unruly.peers.implication import (
    generalised_cross_entropy,
    implication_loss,
    joint_scores,
    rule_loss,
)

shares = st.floats(0.01, 0.99)


@pytest.mark.parametrize(
    ("holds", "named", "by_hand"),
    [
        (1.0, 1.0, 0.0),  # the rule holds and the classifier agrees
        (0.0, 0.0, 0.0),  # the rule does not hold: the classifier is free
        (0.8, 0.25, -math.log(1 - 0.8 * 0.75)),
        (1.0, 0.5, math.log(2)),
    ],
)
def test_implication_by_hand(holds: float, named: float, by_hand: float) -> None:
    loss = implication_loss(torch.tensor(holds), torch.tensor(named))
    assert float(loss) == pytest.approx(by_hand, abs=1e-6)


def test_a_broken_implication_costs_much_but_not_infinity() -> None:
    loss = float(implication_loss(torch.tensor(1.0), torch.tensor(0.0)))
    assert 10 < loss < math.inf


@given(shares, shares)
def test_the_implication_pushes_the_label_up_and_the_rule_down(holds: float, named: float) -> None:
    rule = torch.tensor(holds, requires_grad=True)
    label = torch.tensor(named, requires_grad=True)
    of_rule, of_label = torch.autograd.grad(implication_loss(rule, label), (rule, label))
    assert float(of_rule) >= 0 >= float(of_label)


@given(shares, st.floats(0.05, 1.0))
def test_generalised_cross_entropy_lies_between_its_limits(p: float, q: float) -> None:
    loss = float(generalised_cross_entropy(torch.tensor(p), q))
    assert 1 - p - 1e-5 <= loss <= -math.log(p) + 1e-5


def test_rule_loss_by_hand() -> None:
    holds = torch.tensor([0.9, 0.9, 0.9])
    right = torch.tensor([True, False, True])
    exemplar = torch.tensor([True, False, False])
    loss = rule_loss(holds, right, exemplar, q=0.2)
    by_hand = [-math.log(0.9), -math.log(0.1), (1 - 0.9**0.2) / 0.2]
    assert loss.tolist() == pytest.approx(by_hand, abs=1e-5)


def test_only_rules_that_fire_and_hold_join_the_answer() -> None:
    classes = torch.tensor([[0.6, 0.4], [0.6, 0.4], [0.6, 0.4]])
    holds = torch.tensor([[0.9, 0.7], [0.4, 0.9], [0.1, 0.2]])
    votes = torch.tensor([[1, 0], [1, -1], [1, 1]])
    both = [0.6 + (0.1 + 0.7) / 2, 0.4 + (0.9 + 0.3) / 2]
    answers = joint_scores(classes, holds, votes)
    assert answers[0].tolist() == pytest.approx([x / 2 for x in both])
    assert answers[1].tolist() == pytest.approx([0.6, 0.4])
    assert answers[2].tolist() == pytest.approx([0.6, 0.4])

"""The losses of ImplyLoss by hand, and the laws that they keep.

What ImplyLoss takes for labelled data: the user's, or the majority's.

ImplyLoss on planted documents, and its loss on a batch small enough to count by hand.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lab.tests.peers.planted_task import planted_task, right, selected, trained

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes
from unruly_lab.peers.bert_mlp import Mlp
from unruly_lab.peers.implyloss import (
    ImplyLoss,
    Labelled,
    Task,
    clearest,
    generalised_cross_entropy,
    implication_loss,
    joint_scores,
    labelled,
    rule_loss,
)
from unruly_lab.peers.systems import Documents, TrainingData

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


def test_without_gold_the_majority_stands_in() -> None:
    task = planted_task()
    found = labelled(TrainingData(task.train))
    counts = task.train.votes.counts()
    tied = counts.max(axis=1) == counts.min(axis=1)
    assert found.stand_ins
    assert ((found.labels == -1) == tied).all()
    assert (found.exemplars.sum(axis=0) == 1).all()
    assert (task.train.votes.voted | ~found.exemplars).all()


def test_exemplars_are_labels_too() -> None:
    task = planted_task()
    found = labelled(task.data)
    rows = task.exemplars.any(axis=1)
    assert ((found.labels >= 0) == rows).all()
    assert (found.labels[rows] == task.gold[rows]).all()
    assert found.gold == rows.sum()


def test_clean_labels_choose_exemplars_among_themselves() -> None:
    task = planted_task()
    clean = np.where(np.arange(task.train.n) < 30, task.gold, -1)
    found = labelled(TrainingData(task.train, clean=clean))
    assert found.gold == 30
    assert not found.exemplars[30:].any()
    assert found.exemplars.any(axis=0).sum() > 4


def test_the_clearest_document_has_most_votes_ahead() -> None:
    votes = Votes.from_array([[0, 1, -1], [0, 0, -1], [0, 0, 0], [1, 0, 0]])
    found = clearest(votes, np.array([0, 0, 0, 1]))
    assert found.argmax(axis=0).tolist() == [2, 2, 2]


@pytest.mark.parametrize("fault", ["silent", "contradicts", "shape"])
def test_nonsense_is_refused(fault: str) -> None:
    task = planted_task()
    exemplars, clean = np.zeros_like(task.exemplars), None
    if fault == "silent":
        row = int(np.flatnonzero(~task.train.votes.voted[:, 0])[0])
        exemplars[row, 0] = True
        message = "does not vote on it"
    elif fault == "contradicts":
        row = int(np.flatnonzero(task.train.votes.voted[:, 0])[0])
        exemplars[row, 0] = True
        clean = np.full(task.train.n, -1)
        clean[row] = 1 - task.train.votes.matrix[row, 0]
        message = "but its label is"
    else:
        exemplars = np.ones((2, 2), np.bool_)
        message = "shape"
    with pytest.raises(InputError, match=message):
        labelled(replace(task.data, exemplars=exemplars, clean=clean))


def three_documents(matrix: list[list[int]]) -> Documents:
    features = Features.from_array(np.eye(3, dtype=np.float32))
    return Documents(Corpus.from_texts(["a", "b", "c"]), Votes.from_array(matrix), features)


@pytest.mark.parametrize(("m", "bar"), [(2, 0.8), (3, 0.75)])
def test_it_learns_without_any_gold(m: int, bar: float) -> None:
    task = planted_task(m=m)
    fitted = ImplyLoss().fit(TrainingData(task.train))
    assert fitted.gold_used == ()
    assert right(fitted.predict_proba(task.test), task.test_gold) > bar


def test_clean_labels_teach_validation_labels_choose_and_both_are_declared() -> None:
    task = planted_task()
    perverse = TrainingData(task.train, clean=1 - task.gold)
    taught = ImplyLoss().fit(perverse)
    assert right(taught.predict_proba(task.test), task.test_gold) < 0.35
    assert taught.gold_used == (trained(400, "clean labels and exemplars"),)
    judged = ImplyLoss().fit(replace(perverse, valid=(task.valid, task.valid_gold)))
    kept = right(judged.predict_proba(task.valid), task.valid_gold)
    assert kept > right(taught.predict_proba(task.valid), task.valid_gold) + 0.1
    assert judged.gold_used == (trained(400, "clean labels and exemplars"), selected(200))


def test_the_rule_network_finds_the_source_that_is_often_wrong() -> None:
    task = planted_task()
    clean = np.where(np.arange(task.train.n) < 200, task.gold, -1)
    fitted = ImplyLoss().fit(TrainingData(task.train, clean=clean))
    held, voted = fitted.holding(task.test), task.test.votes.voted
    mean = held.sum(axis=0) / voted.sum(axis=0)
    assert mean[-1] < mean[:-2].min()  # the last is right at 30 %
    assert (held[~voted] == 0).all()


def test_exemplars_suffice() -> None:
    task = planted_task()
    assert task.accuracy(ImplyLoss()) > 0.65


def test_the_same_lesson_gives_the_same_answers() -> None:
    task, quick = planted_task(), ImplyLoss(Mlp(hidden=8, epochs=2, fewest_steps=4))
    one, two = (quick.fit(TrainingData(task.train)).predict_proba(task.test) for _ in range(2))
    other = quick.fit(TrainingData(task.train, seed=1)).predict_proba(task.test)
    assert one.tobytes() == two.tobytes()
    assert one.tobytes() != other.tobytes()
    assert np.allclose(one.sum(axis=1), 1)


def test_parameters_are_those_of_both_networks() -> None:
    task = planted_task()
    fitted = ImplyLoss(Mlp(hidden=8, epochs=1, fewest_steps=1)).fit(TrainingData(task.train))
    d, k = 24, task.train.votes.k
    assert fitted.parameters == (d * 8 + 8 + 8 * 2 + 2) + (d * 8 + k * 8 + 8 + 1)


@pytest.mark.parametrize("stand_ins", [False, True])
def test_the_loss_of_a_batch_by_hand(stand_ins: bool) -> None:
    """With all weights at zero but the classifier's last bias, every document gets the same answers."""
    documents = three_documents([[0, 1], [1, -1], [-1, 1]])
    exemplars = np.array([[True, False], [False, False], [False, False]])
    given = Labelled(np.array([0, -1, -1]), exemplars, gold=0 if stand_ins else 1)
    system = ImplyLoss(Mlp(hidden=2), gamma=0.5)
    parts = [torch.zeros(shape) for shape in system.shapes(3, 2, 2)]
    parts[3] = torch.tensor([math.log(4), 0.0])  # P_theta = (0.8, 0.2), P_j = 0.5
    label, exemplar, wrong = -math.log(0.8), math.log(2), math.log(2)
    says_0, says_1 = -math.log(1 - 0.5 * 0.2), -math.log(1 - 0.5 * 0.8)
    implied = (says_0 + 3 * says_1) / 4 if stand_ins else says_1
    by_hand = label + (exemplar + wrong) / 2 + 0.5 * implied
    assert float(system.loss(parts, Task.of(documents, given))) == pytest.approx(by_hand, abs=1e-6)


def test_documents_that_teach_nothing_are_left_out() -> None:
    documents = three_documents([[0, 1], [-1, -1], [-1, 0]])
    nothing = Labelled(np.full(3, -1), np.zeros((3, 2), np.bool_), gold=0)
    assert Task.of(documents, nothing).rows.tolist() == [0, 2]


def test_without_a_single_vote_it_says_so() -> None:
    silent = three_documents([[-1, -1]] * 3)
    with pytest.raises(InputError, match="nothing to learn from"):
        ImplyLoss().fit(TrainingData(silent))


def test_other_sources_are_refused() -> None:
    task = planted_task()
    fitted = ImplyLoss(Mlp(hidden=8, epochs=1, fewest_steps=1)).fit(TrainingData(task.train))
    fewer = Votes.from_array(task.test.votes.matrix[:, :2], classes=task.test.votes.classes)
    with pytest.raises(InputError, match=r"fitted on \d+ sources, but the votes are of 2"):
        fitted.predict_proba(replace(task.test, votes=fewer))

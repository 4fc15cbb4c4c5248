"""ImplyLoss on planted documents, and its loss on a batch small enough to count by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.peers.planted_task import planted_task, right

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.peers.exemplars import Labelled
from unruly.peers.implyloss import ImplyLoss, Task
from unruly.peers.mlp import Mlp
from unruly.peers.system import Documents, Lesson
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes


def three_documents(matrix: list[list[int]]) -> Documents:
    features = Features.from_array(np.eye(3, dtype=np.float32))
    return Documents(Corpus.from_texts(["a", "b", "c"]), Votes.from_array(matrix), features)


@pytest.mark.parametrize(("m", "bar"), [(2, 0.8), (3, 0.75)])
def test_it_learns_without_any_gold(m: int, bar: float) -> None:
    task = planted_task(m=m)
    fitted = ImplyLoss().fit(Lesson(task.train))
    assert fitted.gold_used == ()
    assert right(fitted.predict_proba(task.test), task.test_gold) > bar


def test_clean_labels_and_validation_are_owned_up_to() -> None:
    task = planted_task()
    clean = np.where(np.arange(task.train.n) < 40, task.gold, -1)
    lesson = Lesson(task.train, clean=clean, valid=(task.valid, task.valid_gold))
    fitted = ImplyLoss().fit(lesson)
    assert right(fitted.predict_proba(task.test), task.test_gold) > 0.8
    assert fitted.gold_used == (
        "training: 40 clean labels and exemplars",
        "choice of the epoch: 200 validation documents",
    )


def test_the_rule_network_finds_the_source_that_is_often_wrong() -> None:
    task = planted_task()
    clean = np.where(np.arange(task.train.n) < 200, task.gold, -1)
    fitted = ImplyLoss().fit(Lesson(task.train, clean=clean))
    held, voted = fitted.holding(task.test), task.test.votes.voted
    mean = held.sum(axis=0) / voted.sum(axis=0)
    assert mean[-1] < mean[:-2].min()  # the last is right at 30 %
    assert (held[~voted] == 0).all()


def test_exemplars_suffice() -> None:
    task = planted_task()
    assert task.accuracy(ImplyLoss()) > 0.65


def test_the_same_lesson_gives_the_same_answers() -> None:
    task, quick = planted_task(), ImplyLoss(Mlp(hidden=8, epochs=2, fewest_steps=4))
    one, two = (quick.fit(Lesson(task.train)).predict_proba(task.test) for _ in range(2))
    other = quick.fit(Lesson(task.train, seed=1)).predict_proba(task.test)
    assert one.tobytes() == two.tobytes()
    assert one.tobytes() != other.tobytes()
    assert np.allclose(one.sum(axis=1), 1)


def test_parameters_are_those_of_both_networks() -> None:
    task = planted_task()
    fitted = ImplyLoss(Mlp(hidden=8, epochs=1, fewest_steps=1)).fit(Lesson(task.train))
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
        ImplyLoss().fit(Lesson(silent))


def test_other_sources_are_refused() -> None:
    task = planted_task()
    fitted = ImplyLoss(Mlp(hidden=8, epochs=1, fewest_steps=1)).fit(Lesson(task.train))
    fewer = Votes.from_array(task.test.votes.matrix[:, :2], classes=task.test.votes.classes)
    with pytest.raises(InputError, match=r"fitted on \d+ sources, but the votes are of 2"):
        fitted.predict_proba(replace(task.test, votes=fewer))

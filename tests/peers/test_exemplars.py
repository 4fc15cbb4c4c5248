"""What ImplyLoss takes for labelled data: the user's, or the majority's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.peers.planted_task import planted_task

from unruly.errors import InputError
from unruly.peers.exemplars import clearest, labelled
from unruly.peers.system import Lesson
from unruly.votes.votes import Votes


def test_without_gold_the_majority_stands_in() -> None:
    task = planted_task()
    found = labelled(Lesson(task.train))
    counts = task.train.votes.counts()
    tied = counts.max(axis=1) == counts.min(axis=1)
    assert found.stand_ins
    assert ((found.labels == -1) == tied).all()
    assert (found.exemplars.sum(axis=0) == 1).all()
    assert (task.train.votes.voted | ~found.exemplars).all()


def test_exemplars_are_labels_too() -> None:
    task = planted_task()
    found = labelled(task.lesson)
    rows = task.exemplars.any(axis=1)
    assert ((found.labels >= 0) == rows).all()
    assert (found.labels[rows] == task.gold[rows]).all()
    assert found.gold == rows.sum()


def test_clean_labels_choose_exemplars_among_themselves() -> None:
    task = planted_task()
    clean = np.where(np.arange(task.train.n) < 30, task.gold, -1)
    found = labelled(Lesson(task.train, clean=clean))
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
        labelled(replace(task.lesson, exemplars=exemplars, clean=clean))

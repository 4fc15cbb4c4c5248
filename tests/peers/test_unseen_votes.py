"""Votes that were hidden: who reads texts finds them likelier than who does not."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.peers.planted_task import planted_task

from unruly.peers.bert_mlp import majority
from unruly.peers.system import Documents, Lesson
from unruly.peers.unseen_votes import hidden_rows, unseen_likelihood, without_votes
from unruly.peers.votes_only import majority_vote
from unruly.votes.votes import Votes


@dataclass(frozen=True)
class Says:
    """Always the same answers, and notes what it was asked."""

    proba: NDArray[np.float64]
    asked: list[Documents]
    parameters: int = 0
    gold_used: tuple[str, ...] = ()

    def predict_proba(self, documents: Documents) -> NDArray[np.float64]:
        self.asked.append(documents)
        return np.tile(self.proba, (documents.n, 1))


def test_hidden_are_covered_documents_and_a_small_part() -> None:
    documents = planted_task(n=600).train
    rows = hidden_rows(documents.features, documents.votes, seed=0)
    covered = documents.votes.covered
    assert not (rows & ~covered).any()
    assert 0.05 < rows[covered].mean() < 0.35
    other = hidden_rows(documents.features, documents.votes, seed=1)
    assert (rows != other).any()


def test_too_few_documents_hide_nothing() -> None:
    documents = planted_task(n=600).train.take(np.arange(30))
    assert not hidden_rows(documents.features, documents.votes, seed=0).any()


def test_the_system_does_not_see_the_hidden_votes() -> None:
    documents = planted_task().train
    rows = np.arange(documents.n) < 50
    system = Says(np.array([0.5, 0.5]), [])
    unseen_likelihood(system, documents, rows & documents.votes.covered)
    assert not system.asked[0].votes.voted.any()
    blind = without_votes(documents, rows)
    assert not blind.votes.voted[:50].any()
    assert (blind.votes.matrix[50:] == documents.votes.matrix[50:]).all()


def test_soft_votes_are_hidden_too() -> None:
    documents = planted_task().train
    soft = {documents.votes.sources[0]: np.full((documents.n, 2), [0.9, 0.1], np.float32)}
    votes = replace(documents.votes, soft=soft)
    rows = np.arange(documents.n) < 50
    blind = without_votes(replace(documents, votes=votes), rows).votes
    values = blind.soft[votes.sources[0]]
    assert (values[:50] == 0.5).all()
    assert (values[50:] == np.array([0.9, 0.1], np.float32)).all()


def test_one_source_alone_may_fall_silent() -> None:
    documents = planted_task().train
    soft = {name: np.full((documents.n, 2), 0.7, np.float32) for name in documents.votes.sources}
    votes = replace(documents.votes, soft=soft)
    first = np.arange(votes.k)[None, :] == 0
    blind = without_votes(replace(documents, votes=votes), first).votes
    assert not blind.voted[:, 0].any()
    assert (blind.matrix[:, 1:] == votes.matrix[:, 1:]).all()
    assert (blind.soft[votes.sources[0]] == 0.5).all()
    assert (blind.soft[votes.sources[1]] == np.float32(0.7)).all()


def test_knowing_nothing_gives_log_of_one_over_m() -> None:
    documents = planted_task().train
    found = unseen_likelihood(Says(np.array([0.5, 0.5]), []), documents, documents.votes.covered)
    assert found == pytest.approx(math.log(0.5), abs=1e-6)


def test_the_likelihood_by_hand() -> None:
    """Votes 3 to 1 and an answer that says 3 to 1: the entropy of (3/4, 1/4), negated."""
    documents = planted_task().train.take(np.arange(4))
    votes = Votes.from_array([[0], [0], [0], [1]], classes=documents.votes.classes)
    system = Says(np.array([0.75, 0.25]), [])
    found = unseen_likelihood(system, replace(documents, votes=votes), np.ones(4, np.bool_))
    assert found == pytest.approx(0.75 * math.log(0.75) + 0.25 * math.log(0.25), abs=1e-4)


def test_reading_texts_helps() -> None:
    documents = planted_task(n=600).train
    rows = hidden_rows(documents.features, documents.votes, seed=0)
    lesson = Lesson(without_votes(documents, rows))
    reader, label_model = majority().fit(lesson), majority_vote().fit(lesson)
    assert (
        unseen_likelihood(reader, documents, rows)
        > unseen_likelihood(label_model, documents, rows) + 0.03
    )

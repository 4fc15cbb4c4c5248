"""Scores of several fits, by hand; intervals hold what they should.

Votes that were hidden: who reads texts finds them likelier than who does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from lab.tests.peers.planted_task import planted_task
from numpy.typing import NDArray

from unruly.ledger import GoldUse
from unruly.votes.votes import Votes
from unruly_lab.compare.scores import gold_scores, hidden_rows, unseen_likelihood, without_votes
from unruly_lab.peers.bert_mlp import majority
from unruly_lab.peers.label_models import majority_vote
from unruly_lab.peers.systems import Documents, TrainingData


def test_the_mean_over_fits_by_hand() -> None:
    gold = np.array([0, 0, 1, 1])
    answers = np.array([[0, 0, 1, 1], [0, 1, 1, 1]])
    scores = gold_scores(gold, np.eye(2)[answers])
    assert scores.accuracy.value == pytest.approx(7 / 8)
    assert scores.f1[0].value == pytest.approx((1 + 2 / 3) / 2)
    assert scores.f1[1].value == pytest.approx((1 + 4 / 5) / 2)
    assert scores.macro_f1.value == pytest.approx((scores.f1[0].value + scores.f1[1].value) / 2)


def test_intervals_hold_the_value_and_shrink_with_more_documents() -> None:
    rng = np.random.default_rng(0)
    widths = []
    for n in (50, 5000):
        gold = rng.integers(0, 3, n)
        said = np.where(rng.random(n) < 0.8, gold, (gold + 1) % 3)
        scores = gold_scores(gold, np.eye(3)[said[None]])
        for share in (scores.accuracy, scores.macro_f1, *scores.f1):
            assert share.low <= share.value <= share.high
        widths.append(scores.macro_f1.high - scores.macro_f1.low)
    assert widths[1] < widths[0] / 5


def test_the_interval_covers_the_truth() -> None:
    """Of 60 samples about 57 should; fewer than 50 would be a broken interval."""
    rng = np.random.default_rng(1)
    truth = gold_scores(*_sample(200_000, rng)).macro_f1.value
    held = 0
    for _ in range(60):
        share = gold_scores(*_sample(150, rng)).macro_f1
        held += share.low <= truth <= share.high
    assert held >= 50


def test_a_class_that_never_occurs_has_no_score() -> None:
    scores = gold_scores(np.array([0, 1]), np.eye(3)[[[0, 1]]])
    assert math.isnan(scores.f1[2].value)
    assert scores.macro_f1.value == 1.0


def _sample(n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    gold = (rng.random(n) < 0.3).astype(np.int64)
    said = np.where(rng.random(n) < 0.8, gold, 1 - gold)
    return gold, np.eye(2)[said[None]]


@dataclass(frozen=True)
class Says:
    """Always the same answers, and notes what it was asked."""

    proba: NDArray[np.float64]
    asked: list[Documents]
    parameters: int = 0
    gold_used: tuple[GoldUse, ...] = ()

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
    shares = np.tile(np.array([0.7, 0.3], np.float32), (documents.n, 1))
    soft = dict.fromkeys(documents.votes.sources, shares)
    votes = replace(documents.votes, soft=soft)
    first = np.arange(votes.k)[None, :] == 0
    blind = without_votes(replace(documents, votes=votes), first).votes
    assert not blind.voted[:, 0].any()
    assert (blind.matrix[:, 1:] == votes.matrix[:, 1:]).all()
    assert (blind.soft[votes.sources[0]] == 0.5).all()
    assert (blind.soft[votes.sources[1]] == shares).all()


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
    data = TrainingData(without_votes(documents, rows))
    reader, label_model = majority().fit(data), majority_vote().fit(data)
    assert (
        unseen_likelihood(reader, documents, rows)
        > unseen_likelihood(label_model, documents, rows) + 0.03
    )

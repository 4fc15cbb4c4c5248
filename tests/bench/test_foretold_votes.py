"""Foretold votes: worked by hand, the vote in question hidden, each class counting the same."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from unruly.bench.foretold_votes import foretold_votes
from unruly.features.encoder import Features
from unruly.labelmodels.majority_vote import MajorityVote
from unruly.peers.system import Documents, Proba
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes


@dataclass
class Reader:
    """Reads the probability of spam off the features, and never a vote."""

    parameters: int = 0
    gold_used: tuple[str, ...] = ()

    def predict_proba(self, documents: Documents) -> Proba:
        p = documents.features.matrix()[:, 0].astype(np.float64)
        return np.stack([1 - p, p], axis=1)


@dataclass
class Echo:
    """Answers with the majority of the votes that it sees."""

    parameters: int = 0
    gold_used: tuple[str, ...] = ()

    def predict_proba(self, documents: Documents) -> Proba:
        soft = MajorityVote().fit(documents.votes).predict_proba(documents.votes)
        return np.asarray(soft, np.float64)


def documents(matrix: list[list[int]], p: list[float] | None = None) -> Documents:
    votes = Votes.from_array(matrix, classes=("ham", "spam"))
    given = p or [0.5] * len(matrix)
    features = Features.from_array(np.array(given, np.float32)[:, None])
    return Documents(Corpus.from_texts([f"text {i}" for i in range(len(given))]), votes, features)


def test_each_class_of_votes_counts_the_same() -> None:
    # Answers spam, spam, ham, spam. Votes for spam: 4, of which 4 agree; for ham: 2, of which 1 agrees.
    some = documents([[1, 1], [1, -1], [0, -1], [0, 1]], [0.9, 0.9, 0.1, 0.9])
    assert foretold_votes(Reader(), some) == pytest.approx((4 / 4 + 1 / 2) / 2)


def test_always_the_same_answer_is_worth_one_half() -> None:
    some = documents([[1], [1], [1], [0]], [0.9] * 4)
    assert foretold_votes(Reader(), some) == 0.5


def test_the_vote_in_question_is_hidden() -> None:
    # Two sources that contradict each other: whoever echoes the other one is always wrong.
    some = documents([[0, 1], [1, 0]])
    assert foretold_votes(Echo(), some) == 0.0
    agreeing = documents([[0, 0], [1, 1]])
    assert foretold_votes(Echo(), agreeing) == 1.0


def test_no_votes_no_score() -> None:
    assert math.isnan(foretold_votes(Reader(), documents([[-1, -1]])))

"""The likelihood of hidden votes: worked by hand, and blind to what it must not see."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from unruly.bench.vote_likelihood import vote_likelihood
from unruly.features.encoder import Features
from unruly.peers.system import Documents, Proba
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes


@dataclass
class Says:
    """A system that reads the probability of class 1 off the features."""

    parameters: int = 0
    gold_used: tuple[str, ...] = ()

    def predict_proba(self, documents: Documents) -> Proba:
        assert not documents.votes.voted.any(), "the votes are to be hidden"
        p = documents.features.matrix()[:, 0].astype(np.float64)
        return np.stack([1 - p, p], axis=1)


def documents(matrix: list[list[int]], p: list[float]) -> Documents:
    votes = Votes.from_array(matrix, classes=("ham", "spam"))
    features = Features.from_array(np.array(p, np.float32)[:, None])
    return Documents(Corpus.from_texts([f"text {i}" for i in range(len(p))]), votes, features)


def test_knowing_nothing_is_worth_one_over_m() -> None:
    some = documents([[0, 0], [1, -1], [-1, -1]], [0.5, 0.5, 0.5])
    assert vote_likelihood(Says(), some) == pytest.approx(math.log(0.5), abs=1e-6)


def test_three_right_of_four_at_the_best_sharpness() -> None:
    # Equal scores, right on three votes of four: the best sharpness makes them 0.75 sure.
    some = documents([[1], [1], [1], [0]], [0.9, 0.9, 0.9, 0.9])
    expected = 0.75 * math.log(0.75) + 0.25 * math.log(0.25)
    assert vote_likelihood(Says(), some) == pytest.approx(expected, abs=1e-4)


def test_better_readers_score_higher() -> None:
    votes = [[1, 1], [0, -1], [1, 0], [-1, 0]]
    good = vote_likelihood(Says(), documents(votes, [0.9, 0.1, 0.5, 0.1]))
    bad = vote_likelihood(Says(), documents(votes, [0.1, 0.9, 0.5, 0.9]))
    assert good > bad


def test_no_votes_no_score() -> None:
    assert math.isnan(vote_likelihood(Says(), documents([[-1]], [0.5])))

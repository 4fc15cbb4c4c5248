"""Which documents are asked about, and with what probability."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import InputError
from unruly.labelling.queue import ask, from_votes
from unruly.votes.votes import Votes

VOTES = Votes.from_array(
    [[0, -1], [1, 1], [-1, 1], [-1, -1], [0, 1], [1, -1]],
    classes=["ham", "spam"],
    sources=["links", "words"],
    ids=["a", "b", "c", "d", "e", "f"],
)
PROBA = np.array([[0.9, 0.1], [0.2, 0.8], [0.45, 0.55], [0.7, 0.3], [0.6, 0.4], [0.1, 0.9]])


@given(st.integers(1, 9), st.sampled_from(["balance", "random", "doubt"]), st.integers(0, 50))
def test_each_document_is_asked_about_once(n: int, by: str, seed: int) -> None:
    answered = np.array([True, False, False, False, False, False])
    asked = ask(VOTES, PROBA, n, by, answered=answered, seed=seed)
    assert len(asked) == min(n, 5)
    assert len(set(asked.ids)) == len(asked)
    assert "a" not in asked.ids
    assert answered.tolist() == [True] + [False] * 5
    for chance in asked.probabilities:
        assert (chance is None) == (by == "doubt")
        assert chance is None or 0 < chance <= 1


def test_the_most_doubtful_come_first() -> None:
    assert ask(VOTES, PROBA, 3, "doubt").ids == ["c", "e", "d"]


def test_a_source_or_a_class_is_checked() -> None:
    assert sorted(map(str, ask(VOTES, PROBA, 9, "source:words").ids)) == ["b", "c", "e"]
    assert sorted(map(str, ask(VOTES, PROBA, 9, "class:ham").ids)) == ["a", "d", "e"]


def test_without_a_model_the_votes_stand_for_it() -> None:
    assert from_votes(VOTES)[[0, 1, 4]].tolist() == [[1, 0], [0, 1], [0.5, 0.5]]
    assert len(ask(VOTES, None, 4)) == 4


def test_draws_that_follow_each_other_differ() -> None:
    votes = Votes.from_array(np.full((200, 1), -1))
    first = ask(votes, None, 20, "random")
    answered = np.zeros(200, np.bool_)
    answered[[question.row for question in first]] = True
    second = ask(votes, None, 20, "random", answered=answered)
    assert first.items[0].why != second.items[0].why
    assert {q.row for q in first}.isdisjoint({q.row for q in second})


@pytest.mark.parametrize("by", ["balance", "random"])
def test_probabilities_are_what_they_say(by: str) -> None:
    rounds, counts, said = 3000, np.zeros(6), np.zeros(6)
    for seed in range(rounds):
        for question in ask(VOTES, PROBA, 3, by, seed=seed):
            assert question.probability is not None
            counts[question.row] += 1
            said[question.row] = question.probability
    assert np.abs(counts / rounds - said).max() < 0.04


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("balanced", "did you mean 'balance'"),
        ("source", "must be one of|did you mean"),
        ("source:link", "there is no source 'link': did you mean 'links'"),
        ("class:eggs", "there is no class 'eggs'"),
        ("random:x", "must be one of|did you mean"),
    ],
)
def test_other_ways_to_draw_are_refused(by: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ask(VOTES, PROBA, 3, by)
    with pytest.raises(InputError, match="at least one"):
        ask(VOTES, PROBA, 0)

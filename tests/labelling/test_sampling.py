"""Which documents are asked about, with what probability, and that each answer is on disk before the next question."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import InputError
from unruly.labelling.answers import labelled
from unruly.labelling.label_file import CANNOT_TELL, SKIPPED, Answer, LabelFile
from unruly.labelling.sampling import Session, ask, draw, from_votes, inclusion
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


def test_votes_predict_no_class_where_there_are_none() -> None:
    votes = Votes.from_array([[0], [1], [-1], [1]], classes=["ham", "spam"])
    assert sorted(map(str, ask(votes, None, 9, "class:spam").ids)) == ["1", "3"]


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
        ("source", "which source\\? Name it, as in source:NAME"),
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


def predictions(n: int, m: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(m, 0.5), n)


@given(st.integers(1, 60), st.integers(2, 5), st.integers(0, 70), st.integers(0, 99))
def test_as_many_as_were_asked_for_and_each_once(n: int, m: int, size: int, seed: int) -> None:
    drawn = draw(predictions(n, m, seed), size, seed=seed)
    assert len(drawn.rows) == len(set(drawn.rows.tolist())) == min(n, size)
    assert ((drawn.probability > 0) & (drawn.probability <= 1 + 1e-12)).all()


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=30), st.integers(1, 30))
def test_probabilities_sum_to_the_size(sizes: list[float], n: int) -> None:
    n = min(n, len(sizes))
    chance = inclusion(np.array(sizes), n)
    assert abs(chance.sum() - n) < 1e-6
    assert (chance <= 1 + 1e-12).all()
    assert (np.diff(chance[np.argsort(sizes)]) >= -1e-12).all()


def test_each_is_drawn_with_its_probability() -> None:
    proba = predictions(40, 3, 1)
    counts, said, rounds = np.zeros(40), np.zeros(40), 6000
    for seed in range(rounds):
        drawn = draw(proba, 7, seed=seed)
        counts[drawn.rows] += 1
        said[drawn.rows] = drawn.probability
    assert np.abs(counts / rounds - said).max() < 0.03


def test_only_among_those_that_are_open() -> None:
    among = np.arange(30) % 3 == 0
    drawn = draw(predictions(30, 2, 0), 20, among=among)
    assert sorted(drawn.rows.tolist()) == np.flatnonzero(among).tolist()
    assert not len(draw(predictions(30, 2, 0), 5, among=np.zeros(30, np.bool_)).rows)


def test_a_rare_class_and_the_doubtful_are_looked_at_more_often() -> None:
    proba = np.tile([0.99, 0.01], (1000, 1))
    proba[:20] = [0.2, 0.8]
    proba[20:60] = [0.55, 0.45]
    drawn = draw(proba, 30)
    chance = dict(zip(drawn.rows.tolist(), drawn.probability.tolist(), strict=True))
    rare = [p for row, p in chance.items() if row < 20]
    doubtful = [p for row, p in chance.items() if 20 <= row < 60]
    sure = [p for row, p in chance.items() if row >= 60]
    assert len(rare) >= 5
    assert min(rare) > max(doubtful) > max(sure)


def test_shares_of_the_predictions_are_told_better_than_by_random_draws() -> None:
    rng = np.random.default_rng(3)
    proba = predictions(800, 2, 3)
    truth = rng.random(800) < proba[:, 1]
    errors, even = [], []
    for seed in range(200):
        drawn = draw(proba, 25, seed=seed)
        weights = 1 / drawn.probability
        errors.append(weights @ truth[drawn.rows] / weights.sum() - truth.mean())
        even.append(truth[np.random.default_rng(seed).permutation(800)[:25]].mean() - truth.mean())
    assert abs(np.mean(errors)) < 0.015
    assert np.std(errors) < 0.75 * np.std(even)  # what twice as many random ones give: 0.71


def test_the_same_seed_gives_the_same_draw() -> None:
    proba = predictions(50, 3, 0)
    assert draw(proba, 9, seed=4).rows.tolist() == draw(proba, 9, seed=4).rows.tolist()
    assert draw(proba, 9, seed=4).rows.tolist() != draw(proba, 9, seed=5).rows.tolist()


SILENT = Votes.from_array(np.full((9, 1), -1), classes=["ham", "spam"])


def begun(tmp_path: Path, n: int = 3) -> Session:
    return Session(LabelFile.open(tmp_path / "labels.csv"), ask(SILENT, n=n, by="random"), "ada")


def test_answers_are_on_disk_at_once_with_all_that_they_need(tmp_path: Path) -> None:
    session = begun(tmp_path)
    question = session.question
    assert question is not None
    session = session.answer("spam", "so funny")
    (answer,) = LabelFile.open(session.file.path).answers
    assert (answer.id, answer.label, answer.by) == (str(question.id), "spam", "ada")
    assert (answer.why, answer.probability, answer.note) == (question.why, 0.333333, "so funny")
    assert session.question is not None
    assert session.question.id != question.id


def test_undo_brings_the_document_back(tmp_path: Path) -> None:
    session = begun(tmp_path).answer("spam")
    second = session.question
    session = session.answer("ham").undo()
    assert session.question == second
    session = session.answer("spam")
    found = labelled(LabelFile.open(session.file.path), range(9), SILENT.classes)
    assert found.numbers[found.numbers >= 0].tolist() == [1, 1]
    session = session.undo().undo()
    assert labelled(LabelFile.open(session.file.path), range(9), SILENT.classes).labels == 0
    with pytest.raises(InputError, match="no answer to undo"):
        session.undo()


def test_a_session_ends(tmp_path: Path) -> None:
    session = begun(tmp_path).answer("spam").answer(SKIPPED).answer(CANNOT_TELL)
    assert session.question is None
    assert session.labels == 1
    with pytest.raises(InputError, match="nothing left"):
        session.answer("spam")


def test_what_somebody_else_labels_meanwhile_is_passed_over(tmp_path: Path) -> None:
    session = begun(tmp_path)
    second = session.questions.items[1]
    LabelFile.open(session.file.path).append(Answer(str(second.id), "ham", by="bob"))
    session = session.answer("spam")
    assert session.question == session.questions.items[2]
    assert [a.by for a in LabelFile.open(session.file.path).answers] == ["bob", "ada"]


def test_what_was_skipped_before_is_asked_again(tmp_path: Path) -> None:
    session = begun(tmp_path, 9)
    first = session.question
    session = session.answer(SKIPPED)
    again = Session(LabelFile.open(session.file.path), session.questions, "ada")
    assert again.question == first

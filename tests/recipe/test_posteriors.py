"""The loop: posteriors from votes and text together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.recipe.small_task import Task, small_task

from unruly.features.encoder import Features
from unruly.recipe.evidence import Evidence
from unruly.recipe.posteriors import WHOLE, Ingredients, Posteriors, posteriors, regressions
from unruly.settings import Settings
from unruly.training.compute import computing
from unruly.votes.votes import Votes


def loop(
    features: Features,
    votes: Votes,
    prior: list[float] | None = None,
    ingredients: Ingredients = WHOLE,
    clean: NDArray[np.int64] | None = None,
    rounds: int = 8,
) -> Posteriors:
    evidence = Evidence.of(votes, np.full(votes.n, -1) if clean is None else clean)
    pi = np.array(prior or [1 / votes.m] * votes.m)
    with computing(Settings()):
        texts = regressions(features, evidence.m, Settings())
        return posteriors(texts, evidence, pi, tau=3.0, rounds=rounds, ingredients=ingredients)


@pytest.fixture(scope="module")
def task() -> Task:
    return small_task()


def accuracy(found: Posteriors, task: Task) -> float:
    return float((found.q.argmax(axis=1) == task.gold).mean())


def test_text_and_votes_together_beat_either() -> None:
    weak = small_task(1500, signal=0.5)
    found = loop(weak.features, weak.votes)
    text = float((found.lp.argmax(axis=1) == weak.gold).mean())
    votes = float((found.ev.argmax(axis=1) == weak.gold).mean())
    assert accuracy(found, weak) > max(text, votes)


def test_it_finds_what_the_text_knows(task: Task) -> None:
    assert accuracy(loop(task.features, task.votes), task) > 0.94


@pytest.mark.parametrize("prior", [[0.5, 0.5], [0.3, 0.7]])
def test_the_class_balance_is_held(task: Task, prior: list[float]) -> None:
    found = loop(task.features, task.votes, prior)
    np.testing.assert_allclose(found.q.mean(axis=0), prior, atol=0.02)


def test_sources_in_another_order_give_the_same(task: Task) -> None:
    order = [3, 0, 5, 1, 4, 2]
    mixed = Votes.from_array(task.votes.matrix[:, order])
    one, other = loop(task.features, task.votes), loop(task.features, mixed)
    np.testing.assert_allclose(one.q, other.q, atol=1e-3)
    np.testing.assert_allclose(one.T[order], other.T, atol=1e-3)


def test_classes_in_another_order_give_the_same(task: Task) -> None:
    turned = Votes.from_array(np.where(task.votes.voted, 1 - task.votes.matrix, -1))
    one, other = (
        loop(task.features, task.votes, [0.4, 0.6]),
        loop(task.features, turned, [0.6, 0.4]),
    )
    np.testing.assert_allclose(one.q, other.q[:, ::-1], atol=1e-3)


def test_clean_labels_stay_as_they_are(task: Task) -> None:
    clean = np.where(np.arange(600) < 30, 1 - task.gold, -1)  # wrong on purpose
    found = loop(task.features, task.votes, clean=clean)
    np.testing.assert_array_equal(found.q[:30], np.eye(2)[clean[:30]])


@pytest.mark.parametrize("left_out", ["hold", "out_of_fold", "soft_labels", "redundancy"])
def test_each_ingredient_can_be_left_out(task: Task, left_out: str) -> None:
    whole = loop(task.features, task.votes, [0.4, 0.6])
    without = loop(task.features, task.votes, [0.4, 0.6], replace(WHOLE, **{left_out: False}))
    assert not np.allclose(whole.q, without.q, atol=1e-6)


def test_it_ends_when_the_posteriors_have_settled(task: Task) -> None:
    found = loop(task.features, task.votes, rounds=60)
    assert found.rounds < 60
    assert found.moved[-1] < 2e-3
    assert len(found.moved) == found.rounds


def test_an_inverted_source_is_read_the_other_way_round() -> None:
    task = small_task(1500)
    matrix = task.votes.matrix.copy()
    best = matrix[:, -1]
    matrix[:, -1] = np.where(best >= 0, 1 - best, -1)
    found = loop(task.features, Votes.from_array(matrix))
    assert found.T[-1, 0, 1] > found.T[-1, 0, 0]
    assert accuracy(found, task) > 0.93


def test_five_copies_of_a_poor_source_do_not_take_over() -> None:
    task = small_task(1500)
    loud = Votes.from_array(np.hstack([task.votes.matrix, task.votes.matrix[:, [0] * 5]]))
    one, other = loop(task.features, task.votes), loop(task.features, loud)
    assert accuracy(other, task) > accuracy(one, task) - 0.02


def test_the_loop_goes_back_to_where_it_foretold_votes_best(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = small_task(1500)
    evidence = Evidence.of(task.votes, np.full(task.votes.n, -1))
    told = iter([0.70, 0.75, 0.74, 0.71])  # falls by more than 0.03 in the fourth round
    monkeypatch.setattr("unruly.recipe.posteriors.left_out_agreement", lambda *_: next(told))
    with computing(Settings()):
        texts = regressions(task.features, 2, Settings())
        found = posteriors(texts, evidence, np.array([0.5, 0.5]), tau=3.0, rounds=8)
        said = texts[0].out_of_fold()
        plain = regressions(task.features, 2, Settings())
        two = posteriors(
            plain,
            evidence,
            np.array([0.5, 0.5]),
            tau=3.0,
            rounds=2,
            ingredients=replace(WHOLE, turn_back=False),
        )
    assert found.rounds == 2
    assert "from round 4 to round 2" in found.notes[0]
    assert two.notes == ()
    assert np.array_equal(found.q, two.q)
    assert np.array_equal(said, plain[0].out_of_fold()), "the regressions went back, too"


def test_few_documents_never_turn_the_loop_back(monkeypatch: pytest.MonkeyPatch) -> None:
    few = small_task(300)
    monkeypatch.setattr("unruly.recipe.posteriors.left_out_agreement", lambda *_: 1 / 0)
    assert loop(few.features, few.votes).rounds > 1

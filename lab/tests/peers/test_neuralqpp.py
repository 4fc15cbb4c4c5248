"""Boosting weights by hand, and their laws.

NeuralQPP on planted documents: it learns, weighs noise down, and boosts.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

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
from unruly_lab.peers.bert_mlp import Mlp, scaled
from unruly_lab.peers.networks import FlatNetwork
from unruly_lab.peers.neuralqpp import (
    NeuralQPP,
    Task,
    boosting_weight,
    component_shapes,
    components,
    network_proba,
    prediction,
    reweighted,
    source_errors,
    weighted_votes,
)
from unruly_lab.peers.systems import Documents, TrainingData


@pytest.mark.parametrize(
    ("error", "m", "by_hand"),
    [
        (0.2, 2, math.log(4)),
        (0.2, 4, math.log(4) + math.log(3)),
        (0.75, 4, 0.0),  # chance
        (0.95, 4, 0.0),  # worse than chance: no say
    ],
)
def test_weights_by_hand(error: float, m: int, by_hand: float) -> None:
    assert float(boosting_weight(error, m)) == pytest.approx(by_hand, abs=1e-12)


@given(st.lists(st.booleans(), min_size=2, max_size=20).filter(lambda w: 0 < sum(w) < len(w)))
def test_after_a_round_the_wrong_ones_weigh_half(wrong: list[bool]) -> None:
    """AdaBoost's law for two classes: what was just learnt is no better than chance afterwards."""
    mask = np.array(wrong)
    error = mask.mean()
    alpha = math.log((1 - error) / error)
    weights = reweighted(np.full(len(mask), 1 / len(mask)), mask, alpha)
    assert weights.sum() == pytest.approx(1)
    assert weights[mask].sum() == pytest.approx(0.5)


def test_source_errors_by_hand() -> None:
    votes = Votes.from_array([[0, 1, -1], [0, 0, -1], [1, 1, -1]], classes=["a", "b"])
    weights = np.array([0.5, 0.25, 0.25])
    errors = source_errors(votes, np.array([0, 0, -1]), weights)
    one = 1 / 3
    by_hand = [one / 2 / (0.75 + 2 * one), (0.5 + one / 2) / (0.75 + 2 * one), 0.25]
    assert errors.tolist() == pytest.approx(by_hand)


def test_a_source_that_cannot_be_judged_is_thought_useful() -> None:
    votes = Votes.from_array([[0, -1], [2, -1]], classes=["a", "b", "c"])
    errors = source_errors(votes, np.array([0, 2]), np.ones(2))
    assert errors[1] == pytest.approx(1 / 3)  # chance is wrong in 2 of 3
    assert boosting_weight(errors, 3)[1] > 0


QUICK = NeuralQPP(Mlp(hidden=16, epochs=2, fewest_steps=8), rounds=2)


@pytest.mark.parametrize(("m", "bar"), [(2, 0.75), (3, 0.65)])
def test_it_learns_without_any_gold(m: int, bar: float) -> None:
    task = planted_task(m=m)
    fitted = NeuralQPP(rounds=2).fit(TrainingData(task.train))
    assert fitted.gold_used == ()
    assert right(fitted.predict_proba(task.test), task.test_gold) > bar


def test_a_noisy_source_weighs_less_than_a_good_one() -> None:
    task = planted_task()
    rng = np.random.default_rng(5)
    noise = rng.integers(0, 2, (task.train.n, 1))
    good = np.where(rng.random((task.train.n, 1)) < 0.9, task.gold[:, None], 1 - task.gold[:, None])
    matrix = np.concatenate([task.train.votes.matrix, good, noise], axis=1)
    votes = Votes.from_array(matrix, classes=task.train.votes.classes)
    data = TrainingData(Documents(task.train.corpus, votes, task.train.features))
    fitted = NeuralQPP(rounds=2).fit(data)
    assert len(set(fitted.alphas[0].tolist())) == 1  # all begin equal
    assert fitted.alphas[1][-1] < fitted.alphas[1][-2] / 2


def test_documents_that_came_out_wrong_count_more_in_the_next_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task, seen = planted_task(), []
    made = NeuralQPP._network

    def watched(self: NeuralQPP, *args: Any) -> FlatNetwork:
        seen.append((args[0].targets.numpy(), args[2]))
        return made(self, *args)

    monkeypatch.setattr(NeuralQPP, "_network", watched)
    fitted = NeuralQPP(Mlp(hidden=16, epochs=10, fewest_steps=60), rounds=2).fit(task.data)
    (targets, even), (_, after) = seen
    said = fitted.first(1).predict_proba(task.train).argmax(axis=1)
    wrong = targets.any(axis=1) & (said != targets.argmax(axis=1))
    assert len(set(even.tolist())) == 1
    assert 0 < wrong.sum() < task.train.n
    np.testing.assert_allclose(after[wrong] / after[~wrong].mean(), np.exp(fitted.betas[0]))


def test_the_answer_is_the_networks_mean_by_their_weights() -> None:
    task = planted_task()
    both = replace(NeuralQPP(rounds=2).fit(task.data), betas=(3.0, 1.0))
    one, two = (
        network_proba(f, scaled(task.test.features, both.centre, both.scale)) for f in both.networks
    )
    np.testing.assert_allclose(both.predict_proba(task.test), (3 * one + two) / 4)


def test_validation_chooses_the_rounds_and_is_declared() -> None:
    task = planted_task()
    fitted = QUICK.fit(TrainingData(task.train, valid=(task.valid, task.valid_gold)))
    whole = QUICK.fit(TrainingData(task.train))
    assert fitted.gold_used == (selected(200),)
    scores = [
        right(whole.first(t).predict_proba(task.valid), task.valid_gold)
        for t in range(1, len(whole.networks) + 1)
    ]
    assert len(fitted.networks) == 1 + int(np.argmax(scores))


def test_clean_labels_are_taken_and_declared() -> None:
    task = planted_task()
    perverse = TrainingData(task.train, clean=1 - task.gold)
    fitted = NeuralQPP(rounds=1).fit(perverse)
    assert right(fitted.predict_proba(task.test), task.test_gold) < 0.35
    assert fitted.gold_used == (trained(task.train.n),)


def test_the_same_lesson_gives_the_same_answers() -> None:
    task = planted_task()
    one, two = (QUICK.fit(TrainingData(task.train)).predict_proba(task.test) for _ in range(2))
    other = QUICK.fit(TrainingData(task.train, seed=1)).predict_proba(task.test)
    assert one.tobytes() == two.tobytes()
    assert one.tobytes() != other.tobytes()
    assert np.allclose(one.sum(axis=1), 1)


def test_soft_labels_by_hand() -> None:
    votes = Votes.from_array([[0, 1, 1], [-1, -1, 1], [-1, 0, -1]])
    documents = Documents(
        Corpus.from_texts(["a", "b", "c"]), votes, Features.from_array(np.zeros((3, 1), np.float32))
    )
    labels = weighted_votes(TrainingData(documents), np.array([3.0, 1.0, 0.0]))
    assert labels.tolist() == [[0.75, 0.25], [0.0, 0.0], [1.0, 0.0]]


def test_component_dropout_silences_whole_components() -> None:
    parts = [torch.ones(shape) for shape in component_shapes(d=1, c=2, p=1, m=2)]
    hidden = components(parts, torch.tensor([[2.0]]))  # relu(2 * 1 + 1) in both
    assert hidden.tolist() == [[[3.0], [3.0]]]
    assert prediction(parts, hidden).tolist() == [[7.0, 7.0]]
    one = prediction(parts, hidden * torch.tensor([[[1.0], [9.0]]]), torch.tensor([True, False]))
    assert one.tolist() == [[7.0, 7.0]]  # the second is silent, the first counts twice
    none = prediction(parts, hidden, torch.tensor([False, False]))
    assert none.tolist() == [[7.0, 7.0]]


def test_the_loss_by_hand() -> None:
    """All weights at zero: every cross-entropy is log 2."""
    task = Task(
        torch.zeros(2, 1),
        torch.tensor([[0, 1], [1, -1]]),
        torch.tensor([[0.5, 0.5], [0.0, 1.0]]),
        torch.tensor([0.5, 1.5]),
    )
    parts = [torch.zeros(shape) for shape in component_shapes(d=1, c=2, p=1, m=2)]
    says, kept = torch.tensor([0.75, 0.25]), torch.tensor([True, True])
    loss = NeuralQPP(signal_weight=2.0).loss(parts, task, says, kept)
    signals = 0.5 * 0.75 + 0.5 * 0.25 + 1.5 * 0.75
    assert float(loss) == pytest.approx(np.log(2) * (2.0 + 2.0 * signals) / 2, abs=1e-6)


def test_parameters_count_networks_and_weights() -> None:
    task = planted_task()
    fitted = QUICK.fit(TrainingData(task.train))
    networks = sum(network.parameters for network in fitted.networks)
    assert fitted.parameters == networks + len(fitted.betas) * (1 + task.train.votes.k)


def test_a_single_source_still_teaches() -> None:
    task = planted_task()
    votes = Votes.from_array(task.gold[:, None], classes=task.train.votes.classes)
    data = TrainingData(Documents(task.train.corpus, votes, task.train.features))
    fitted = NeuralQPP(rounds=1).fit(data)
    assert right(fitted.predict_proba(task.test), task.test_gold) > 0.8


def test_a_source_that_never_votes_has_no_component() -> None:
    task = planted_task()
    silent = np.full((task.train.n, 1), -1)
    votes = Votes.from_array(
        np.concatenate([task.train.votes.matrix, silent], axis=1), classes=task.train.votes.classes
    )
    fitted = QUICK.fit(TrainingData(Documents(task.train.corpus, votes, task.train.features)))
    assert all(alpha[-1] == 0 for alpha in fitted.alphas)


def test_without_a_single_vote_it_says_so() -> None:
    task = planted_task()
    silent = Votes.from_array(np.full((task.train.n, 2), -1), classes=task.train.votes.classes)
    with pytest.raises(InputError, match="nothing to learn from"):
        QUICK.fit(TrainingData(Documents(task.train.corpus, silent, task.train.features)))

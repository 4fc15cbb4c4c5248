"""Sharpened targets: the formula, and what it is for.

WeSTClass on planted documents: it learns from seed words, and from nothing else.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lab.tests.peers.planted_task import (
    planted_task,
    right,
    same_bits_whatever_torch_drew_before,
    selected,
    trained,
)

from unruly.errors import InputError, SettingsError
from unruly.texts.corpus import Corpus
from unruly_lab.compare.scores import without_votes
from unruly_lab.peers.systems import Documents, TrainingData, entry
from unruly_lab.peers.westclass import TextCNN, WeSTClass, share_changed, sharpened


def test_the_formula_by_hand() -> None:
    p = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    f = [1.7, 1.3]
    for i in range(3):
        weights = [p[i, j] ** 2 / f[j] for j in range(2)]
        assert np.allclose(sharpened(p)[i], np.array(weights) / sum(weights))


@given(st.lists(st.floats(0.01, 0.99), min_size=2, max_size=20))
def test_with_balanced_classes_every_target_is_sharper(first: list[float]) -> None:
    p = np.array([[x, 1 - x] for x in first] + [[1 - x, x] for x in first])
    q = sharpened(p)
    assert np.allclose(q.sum(axis=1), 1)
    assert (q.max(axis=1) >= p.max(axis=1) - 1e-9).all()
    assert (q.argmax(axis=1) == p.argmax(axis=1))[np.abs(p[:, 0] - 0.5) > 1e-6].all()


def test_no_document_no_change() -> None:
    assert share_changed(np.empty(0, np.int64), np.empty(0, np.int64)) == 0.0


QUICK = WeSTClass(beta=100, gamma=10, pretrain_epochs=10, rounds=4, learning_rate=0.01, window=3)


@pytest.mark.parametrize(("m", "bar"), [(2, 0.75), (3, 0.6)])
def test_it_learns_from_seed_words_without_a_vote(m: int, bar: float) -> None:
    task = planted_task(m=m)
    silent = without_votes(task.train, np.ones(task.train.n, np.bool_))
    fitted = QUICK.fit(TrainingData(silent, keywords=task.keywords))
    assert fitted.gold_used == ()
    assert set(fitted.seeds_from) == {"rules"}
    assert right(fitted.predict_proba(task.test), task.test_gold) > bar


def test_without_keywords_the_votes_give_the_seeds_and_it_says_so() -> None:
    task = planted_task()
    fitted = QUICK.fit(TrainingData(task.train))
    assert fitted.seeds_from == ("votes", "votes")
    assert right(fitted.predict_proba(task.test), task.test_gold) > 0.75


def test_the_same_lesson_gives_the_same_bits_whatever_torch_drew_before() -> None:
    same_bits_whatever_torch_drew_before(replace(QUICK, pretrain_epochs=2, rounds=1))


def test_clean_labels_teach_in_self_training_and_are_declared() -> None:
    task = planted_task(n=200)
    perverse = replace(QUICK, rounds=20).fit(replace(task.data, clean=1 - task.gold))
    assert right(perverse.predict_proba(task.test), task.test_gold) < 0.35
    assert perverse.gold_used == (trained(200),)


def test_every_use_of_true_labels_is_declared() -> None:
    task = planted_task(n=100)
    clean = np.where(np.arange(100) < 30, task.gold, -1)
    data = replace(task.data, clean=clean, valid=(task.valid, task.valid_gold))
    fitted = replace(QUICK, rounds=2).fit(data)
    assert fitted.gold_used == (
        trained(30),
        selected(50),
    )


def test_the_best_round_on_validation_labels_is_kept() -> None:
    task = planted_task(n=100)
    wrong = 1 - task.valid_gold  # so judged, the round that is worst is best
    usual = replace(QUICK, rounds=3)
    bad = usual.fit(replace(task.data, valid=(task.valid, wrong)))
    good = usual.fit(replace(task.data, valid=(task.valid, task.valid_gold)))
    score = [right(f.predict_proba(task.valid), task.valid_gold) for f in (bad, good)]
    assert score[0] < score[1]


def test_the_learning_rate_is_chosen_by_unseen_pseudo_documents_and_not_by_gold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = planted_task(n=100)
    system = replace(QUICK, pretrain_epochs=4, self_train=False)
    monkeypatch.setattr("unruly_lab.peers.westclass.RATES", (1e-6, 0.01))  # the first hardly moves
    chosen = replace(system, learning_rate=None).fit(task.data)
    assert (chosen.rate, chosen.gold_used) == (0.01, ())
    fixed = replace(system, learning_rate=0.01).fit(task.data)
    assert np.array_equal(chosen.predict_proba(task.test), fixed.predict_proba(task.test))


def test_the_published_optimiser_lengths_and_rounds() -> None:
    published = WeSTClass.published()
    assert (published.optimiser, published.learning_rate, published.self_rate) == (
        "sgd",
        0.1,
        0.001,
    )
    assert (published.max_tokens, published.rounds, published.batches) == (500, 100, 50)
    task = planted_task()
    short = replace(
        published, beta=100, gamma=10, window=3, pretrain_epochs=15, rounds=2, batches=8
    )
    assert task.accuracy(replace(short, batch_size=32)) > 0.75


def test_a_small_corpus_is_gone_round_until_there_are_enough_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task, steps = planted_task(n=100), []

    def step(self: object, optimizer: object, ids: object, targets: object) -> None:
        steps.append(1)

    monkeypatch.setattr("unruly_lab.peers.westclass._Run._step", step)
    short = replace(QUICK, pretrain_epochs=0, rounds=1, batch_size=32, batches=10)
    for go_round, count in ((False, 4), (True, 10)):
        steps.clear()
        replace(short, go_round=go_round).fit(task.data)
        assert len(steps) == count


def test_empty_texts_get_an_answer_and_only_empty_texts_are_refused() -> None:
    task = planted_task(n=100)
    system = replace(QUICK, pretrain_epochs=1, self_train=False)
    fitted = system.fit(task.data)
    none = Documents(
        Corpus.from_texts(["", "..."]),
        task.test.votes.take([0, 1]),
        task.test.features.take(np.array([0, 1])),
    )
    assert np.allclose(fitted.predict_proba(none).sum(axis=1), 1)
    assert np.array_equal(*fitted.predict_proba(none))
    with pytest.raises(InputError, match="none of the texts has a word"):
        system.fit(TrainingData(none))


def test_the_registry_builds_it_and_nonsense_is_refused() -> None:
    assert entry("westclass").build() == WeSTClass()
    with pytest.raises(SettingsError, match="alpha = 1"):
        WeSTClass(alpha=1.0)
    with pytest.raises(SettingsError, match="gamma = 0"):
        WeSTClass(gamma=0)


def test_the_network_by_hand() -> None:
    """One filter of each width that sums its window: the answer is the largest sum of neighbours."""
    network = TextCNN(
        torch.tensor([[0.0], [1.0], [5.0]]),
        1,
        maps=1,
        hidden=1,
        generator=torch.Generator().manual_seed(0),
    )
    with torch.no_grad():
        for weight in network.parameters():
            weight.fill_(1.0)
        for offset in [*network.offsets, network.b1, network.b2]:
            offset.zero_()
        scores = network(torch.tensor([[1, 2, 2, 0, 1, 0]]))
    assert float(scores) == 10 + 11 + 11 + 12

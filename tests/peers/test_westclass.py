"""WeSTClass on planted documents: it learns from seed words, and from nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.peers.planted_task import planted_task, right
from tests.peers.same_bits import same_bits_whatever_torch_drew_before

from unruly.errors import InputError, SettingsError
from unruly.peers.system import Documents, Lesson
from unruly.peers.systems import entry
from unruly.peers.text_cnn import TextCNN
from unruly.peers.unseen_votes import without_votes
from unruly.peers.westclass import WeSTClass
from unruly.texts.corpus import Corpus

QUICK = WeSTClass(beta=100, gamma=10, pretrain_epochs=10, rounds=4, learning_rate=0.01, window=3)


@pytest.mark.parametrize(("m", "bar"), [(2, 0.75), (3, 0.6)])
def test_it_learns_from_seed_words_without_a_vote(m: int, bar: float) -> None:
    task = planted_task(m=m)
    silent = without_votes(task.train, np.ones(task.train.n, np.bool_))
    fitted = QUICK.fit(Lesson(silent, keywords=task.keywords))
    assert fitted.gold_used == ()
    assert set(fitted.seeds_from) == {"rules"}
    assert right(fitted.predict_proba(task.test), task.test_gold) > bar


def test_without_keywords_the_votes_give_the_seeds_and_it_says_so() -> None:
    task = planted_task()
    fitted = QUICK.fit(Lesson(task.train))
    assert fitted.seeds_from == ("votes", "votes")
    assert right(fitted.predict_proba(task.test), task.test_gold) > 0.75


def test_the_same_lesson_gives_the_same_bits_whatever_torch_drew_before() -> None:
    same_bits_whatever_torch_drew_before(replace(QUICK, pretrain_epochs=2, rounds=1))


def test_true_labels_are_owned_up_to() -> None:
    task = planted_task(n=100)
    clean = np.where(np.arange(100) < 30, task.gold, -1)
    lesson = replace(task.lesson, clean=clean, valid=(task.valid, task.valid_gold))
    fitted = replace(QUICK, rounds=2).fit(lesson)
    assert fitted.gold_used == (
        "training: 30 clean labels",
        "choice of the epoch: 50 validation documents",
    )


def test_the_best_round_on_validation_labels_is_kept() -> None:
    task = planted_task(n=100)
    wrong = 1 - task.valid_gold  # so judged, the round that is worst is best
    usual = replace(QUICK, rounds=3)
    bad = usual.fit(replace(task.lesson, valid=(task.valid, wrong)))
    good = usual.fit(replace(task.lesson, valid=(task.valid, task.valid_gold)))
    score = [right(f.predict_proba(task.valid), task.valid_gold) for f in (bad, good)]
    assert score[0] <= score[1]


def test_empty_texts_get_an_answer_and_only_empty_texts_are_refused() -> None:
    task = planted_task(n=100)
    system = replace(QUICK, pretrain_epochs=1, self_train=False)
    fitted = system.fit(task.lesson)
    none = Documents(
        Corpus.from_texts(["", "..."]),
        task.test.votes.take([0, 1]),
        task.test.features.take(np.array([0, 1])),
    )
    assert np.allclose(fitted.predict_proba(none).sum(axis=1), 1)
    assert np.array_equal(*fitted.predict_proba(none))
    with pytest.raises(InputError, match="none of the texts has a word"):
        system.fit(Lesson(none))


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

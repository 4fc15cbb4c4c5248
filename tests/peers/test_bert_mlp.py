"""BERT-MLP on majority votes, on denoised labels and on true ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.peers.planted_task import planted_task, right, same_twice

from unruly.errors import InputError
from unruly.peers.bert_mlp import BertMlp, denoised, majority, supervised
from unruly.peers.labels import hard_targets, majority_labels
from unruly.peers.mlp import Mlp
from unruly.peers.system import Documents
from unruly.settings import Settings
from unruly.training.clean_labels import share

QUICK = Mlp(hidden=16, epochs=5, fewest_steps=60)
PAPER = replace(Settings.paper(), epochs=60)


@pytest.mark.parametrize("m", [2, 3])
def test_majority_and_denoised_labels_beat_chance(m: int) -> None:
    task = planted_task(m=m)
    assert denoised() == BertMlp("denoised", Mlp(), Settings.paper())
    for system in (majority(), replace(denoised(), settings=replace(PAPER, epochs=150))):
        fitted = system.fit(task.lesson)
        assert right(fitted.predict_proba(task.test), task.test_gold) > 1 / m + 0.2
        assert fitted.gold_used == ()


def test_true_labels_are_the_best_lesson() -> None:
    task = planted_task()
    taught = task.accuracy(supervised(), replace(task.lesson, clean=task.gold))
    assert taught > 0.85
    assert taught > task.accuracy(majority())


def test_majority_is_the_shared_classifier_on_majority_votes() -> None:
    task = planted_task()
    targets = hard_targets(majority_labels(task.lesson), 2)
    plain = QUICK.fit(task.train.features, targets, seed=0).predict_proba(task.test)
    assert np.array_equal(BertMlp(mlp=QUICK).fit(task.lesson).predict_proba(task.test), plain)


@pytest.mark.parametrize("labels", ["majority", "denoised", "true"])
def test_it_is_repeatable_and_the_ledger_is_complete(labels: str) -> None:
    task = planted_task()
    system = BertMlp(labels, QUICK, PAPER)  # type: ignore[arg-type]
    clean = share(task.gold, 0.25, seed=0)
    lesson = replace(task.lesson, clean=clean, valid=(task.valid, task.valid_gold))
    assert same_twice(system, task, lesson)
    assert system.fit(lesson).gold_used == (
        "training: 100 clean labels",
        "choice of the epoch: 200 validation documents",
    )
    assert system.fit(replace(lesson, valid=None)).gold_used == ("training: 100 clean labels",)


def test_clean_labels_help() -> None:
    task = planted_task()
    wrong = Documents(
        task.train.corpus,
        replace(task.train.votes, matrix=np.where(task.train.votes.voted, 1, -1).astype(np.int8)),
        task.train.features,
    )
    lesson = replace(task.lesson, documents=wrong)
    lost = BertMlp(mlp=QUICK).fit(lesson).predict_proba(task.test)
    helped = BertMlp(mlp=QUICK).fit(replace(lesson, clean=task.gold)).predict_proba(task.test)
    assert right(helped, task.test_gold) > right(lost, task.test_gold) + 0.2


def test_no_true_labels_no_supervision() -> None:
    with pytest.raises(InputError, match="give clean labels"):
        supervised().fit(planted_task().lesson)

"""The default as a system: it is what `WeakClassifier` and `unruly fit` give, byte for byte."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lab.tests.peers.planted_task import planted_task, same_twice

import unruly
from unruly.ledger import Use
from unruly_lab.peers.default import Default
from unruly_lab.peers.label_models import majority_vote
from unruly_lab.peers.labels import share


@pytest.mark.parametrize("m", [2, 3])
def test_it_beats_chance_and_majority_vote_without_gold(m: int) -> None:
    task = planted_task(m=m)
    assert task.accuracy(Default()) > max(1 / m + 0.3, task.accuracy(majority_vote()))
    assert Default().fit(task.data).gold_used == ()


def test_validation_labels_are_never_looked_at() -> None:
    task = planted_task()
    with_valid = replace(task.data, valid=(task.valid, task.valid_gold))
    blind, seeing = Default().fit(task.data), Default().fit(with_valid)
    assert seeing.gold_used == ()
    assert np.array_equal(blind.predict_proba(task.test), seeing.predict_proba(task.test))


def test_it_is_repeatable_and_clean_labels_are_in_the_ledger() -> None:
    task = planted_task()
    data = replace(task.data, clean=share(task.gold, 0.25, seed=0))
    assert same_twice(Default(), task, data)
    used = Default().fit(data).gold_used
    assert [(one.labels) for one in used if one.use is Use.TRAINING] == [100]


def test_it_is_weak_classifier_with_the_prior_and_the_seed() -> None:
    task = planted_task()
    fitted = Default().fit(replace(task.data, prior=(0.6, 0.4), seed=5))
    model = unruly.WeakClassifier(class_prior=(0.6, 0.4), seed=5)
    model.fit(task.train.features, task.train.votes)
    theirs = model.predictions(task.test.features, task.test.votes).proba
    assert fitted.predict_proba(task.test).tobytes() == np.asarray(theirs, np.float64).tobytes()
    assert fitted.parameters > 24 * 2


def test_texts_are_read_where_there_is_an_encoder() -> None:
    task = planted_task(n=200)
    documents = replace(task.train, encoder=["lsa"])
    fitted = Default().fit(replace(task.data, documents=documents))
    model = unruly.WeakClassifier(["lsa"]).fit(task.train.corpus, task.train.votes)
    theirs = model.predict_proba(task.test.corpus, task.test.votes)
    ours = fitted.predict_proba(replace(task.test, encoder=["lsa"]))
    assert ours.tobytes() == np.asarray(theirs, np.float64).tobytes()

"""The paper's method and its ablations as systems."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.peers.planted_task import planted_task, right, same_twice

from unruly.peers import papers_method
from unruly.peers.papers_method import PapersMethod
from unruly.settings import ABLATIONS, Settings
from unruly.training.clean_labels import share
from unruly.training.cotraining import cotrain

FACTORIES = {
    "whole": papers_method.whole,
    "rule-only": papers_method.rule_only,
    "neural-only": papers_method.neural_only,
    "neural-self": papers_method.neural_self,
    "rule-neural": papers_method.rule_neural,
}
QUICK = replace(Settings.paper(), epochs=40)
every = pytest.mark.parametrize("ablation", ABLATIONS)


@every
def test_it_beats_chance_without_gold(ablation: str) -> None:
    task = planted_task()
    system = FACTORIES[ablation]()
    assert system.settings == replace(Settings.paper(), ablation=ablation)
    fitted = system.fit(task.lesson)
    assert right(fitted.predict_proba(task.test), task.test_gold) > 0.75
    assert fitted.gold_used == ()
    assert len(fitted.learner.history) == 500
    assert fitted.learner.history[-1].kept


@every
def test_it_is_repeatable_and_the_ledger_is_complete(ablation: str) -> None:
    task = planted_task()
    system = PapersMethod(replace(QUICK, ablation=ablation))
    lesson = replace(
        task.lesson, clean=share(task.gold, 0.25, seed=0), valid=(task.valid, task.valid_gold)
    )
    assert same_twice(system, task, lesson)
    fitted = system.fit(lesson)
    assert fitted.gold_used == (
        "training: 100 clean labels",
        "choice of the epoch: 200 validation documents",
    )
    best = max(epoch.score or 0.0 for epoch in fitted.learner.history)
    assert [e.score for e in fitted.learner.history if e.kept] == [best]


def test_it_is_cotraining_with_the_settings_given() -> None:
    task = planted_task()
    own = replace(QUICK, p=1, hidden=16)
    fitted = PapersMethod(own).fit(replace(task.lesson, seed=3))
    plain = cotrain(task.train.features, task.train.votes, replace(own, seed=3))
    said = plain.heads(task.test.features, task.test.votes).combined
    assert np.array_equal(fitted.predict_proba(task.test), said.astype(np.float64))


def test_parts_left_out_have_no_parameters() -> None:
    task = planted_task()  # 24 features, 2 classes
    count = {
        ablation: PapersMethod(replace(QUICK, ablation=ablation, epochs=1))
        .fit(task.lesson)
        .parameters
        for ablation in ABLATIONS
    }
    classifier = 24 * 128 + 128 + 128 * 2 + 2
    assert count["neural-only"] == count["neural-self"] == classifier
    assert count["whole"] == count["rule-neural"] == count["rule-only"] + classifier


def test_rule_only_favours_no_class_where_nobody_voted() -> None:
    task = planted_task()
    proba = (
        PapersMethod(replace(QUICK, ablation="rule-only")).fit(task.lesson).predict_proba(task.test)
    )
    uncovered = ~task.test.votes.covered
    assert np.allclose(proba[uncovered], 0.5, atol=1e-5)
    assert set(proba[uncovered].argmax(axis=1)) == {0, 1}

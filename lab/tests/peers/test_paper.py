"""The paper's method and its ablations as systems."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lab.tests.peers.planted_task import planted_task, right, same_twice, selected, trained

from unruly.paper.cotraining import cotrain
from unruly.settings import ABLATIONS, PaperSettings
from unruly_lab.peers import paper as papers_method
from unruly_lab.peers.labels import share
from unruly_lab.peers.paper import PapersMethod

FACTORIES = {
    "whole": papers_method.whole,
    "rule-only": papers_method.rule_only,
    "neural-only": papers_method.neural_only,
    "neural-self": papers_method.neural_self,
    "rule-neural": papers_method.rule_neural,
}
QUICK = PaperSettings(epochs=40)
every = pytest.mark.parametrize("ablation", ABLATIONS)


@every
def test_it_beats_chance_without_gold(ablation: str) -> None:
    task = planted_task()
    system = FACTORIES[ablation]()
    assert system.settings == PaperSettings(ablation=ablation)
    fitted = system.fit(task.data)
    assert right(fitted.predict_proba(task.test), task.test_gold) > 0.75
    assert fitted.gold_used == ()
    assert len(fitted.learner.history) == 500
    assert fitted.learner.history[-1].kept


@every
def test_it_is_repeatable_and_the_ledger_is_complete(ablation: str) -> None:
    task = planted_task()
    system = PapersMethod(replace(QUICK, ablation=ablation))
    data = replace(
        task.data, clean=share(task.gold, 0.25, seed=0), valid=(task.valid, task.valid_gold)
    )
    assert same_twice(system, task, data)
    fitted = system.fit(data)
    assert fitted.gold_used == (
        trained(100),
        selected(200),
    )
    best = max(epoch.score or 0.0 for epoch in fitted.learner.history)
    assert [e.score for e in fitted.learner.history if e.kept] == [best]


def test_it_is_cotraining_with_the_settings_given() -> None:
    task = planted_task()
    own = replace(QUICK, p=1, hidden=16)
    fitted = PapersMethod(own).fit(replace(task.data, seed=3))
    plain = cotrain(task.train.features, task.train.votes, own, seed=3)
    said = plain.heads(task.test.features, task.test.votes).combined
    assert np.array_equal(fitted.predict_proba(task.test), said.astype(np.float64))


def test_parts_left_out_have_no_parameters() -> None:
    task = planted_task()  # 24 features, 2 classes
    count = {
        ablation: PapersMethod(replace(QUICK, ablation=ablation, epochs=1))
        .fit(task.data)
        .parameters
        for ablation in ABLATIONS
    }
    classifier = 24 * 128 + 128 + 128 * 2 + 2
    assert count["neural-only"] == count["neural-self"] == classifier
    assert count["whole"] == count["rule-neural"] == count["rule-only"] + classifier


def test_rule_only_favours_no_class_where_nobody_voted() -> None:
    task = planted_task()
    proba = (
        PapersMethod(replace(QUICK, ablation="rule-only")).fit(task.data).predict_proba(task.test)
    )
    uncovered = ~task.test.votes.covered
    assert np.allclose(proba[uncovered], 0.5, atol=1e-5)
    assert set(proba[uncovered].argmax(axis=1)) == {0, 1}

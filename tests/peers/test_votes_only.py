"""Label models used alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.peers.planted_task import planted_task, right, same_twice

from unruly.labelmodels.denoiser_alone import DenoiserAlone
from unruly.labelmodels.label_model import LabelModel
from unruly.peers import votes_only
from unruly.peers.system import Documents, Lesson
from unruly.peers.systems import SYSTEMS, VOTES
from unruly.settings import Settings
from unruly.votes.votes import Votes

NAMES = tuple(entry.name for entry in SYSTEMS if entry.group == VOTES)
FACTORIES = {
    "majority-vote": votes_only.majority_vote,
    "weighted-vote": votes_only.weighted_vote,
    "one-coin": votes_only.one_coin,
    "dawid-skene": votes_only.dawid_skene,
    "matrix-completion": votes_only.matrix_completion,
    "denoiser": votes_only.denoiser,
}
# The same with fewer epochs, for laws that hold after any number of them.
QUICK: dict[str, Callable[[], votes_only.VotesOnly]] = {
    **FACTORIES,
    "denoiser": lambda: votes_only.VotesOnly(
        lambda prior, seed: DenoiserAlone(replace(Settings.paper(), epochs=30, seed=seed), prior),
        lambda model: 0,
    ),
}
every = pytest.mark.parametrize("name", FACTORIES)
quick = pytest.mark.parametrize("name", [name for name in FACTORIES if name != "denoiser"])


def test_the_registry_knows_them_all() -> None:
    assert tuple(FACTORIES) == NAMES


@pytest.mark.parametrize(
    ("name", "m"), [(name, m) for name in FACTORIES for m in (2, 3) if (name, m) != ("denoiser", 3)]
)
def test_it_beats_chance_without_gold(name: str, m: int) -> None:
    task = planted_task(m=m)
    fitted = FACTORIES[name]().fit(task.lesson)
    assert right(fitted.predict_proba(task.test), task.test_gold) > 1 / m + 0.2
    assert fitted.gold_used == ()
    assert isinstance(fitted.model, LabelModel)
    good, bad = fitted.model.accuracies_[: 2 * m], fitted.model.accuracies_[-1]
    assert good.mean() > bad  # the last source is right at 40 %


@every
def test_it_is_repeatable_and_looks_at_no_true_label(name: str) -> None:
    task = planted_task()
    lesson = replace(task.lesson, clean=task.gold, valid=(task.valid, task.valid_gold))
    assert same_twice(QUICK[name](), task)
    told, blind = QUICK[name]().fit(lesson), QUICK[name]().fit(task.lesson)
    assert np.array_equal(told.predict_proba(task.test), blind.predict_proba(task.test))


@every
def test_documents_without_votes_get_the_prior(name: str) -> None:
    task = planted_task()
    uncovered = ~task.test.votes.covered
    known = QUICK[name]().fit(replace(task.lesson, prior=(0.7, 0.3)))
    assert np.allclose(known.predict_proba(task.test)[uncovered], [0.7, 0.3], atol=1e-5)
    unknown = QUICK[name]().fit(task.lesson).predict_proba(task.test)[uncovered]
    assert np.allclose(unknown, 0.5, atol=1e-5)
    assert set(unknown.argmax(axis=1)) == {0, 1}  # drawn, not always the first


@quick
@settings(max_examples=5)
@given(seed=st.integers(0, 100))
def test_permuting_training_documents_permutes_predictions(name: str, seed: int) -> None:
    task = planted_task()
    order = np.random.default_rng(seed).permutation(task.train.n)
    here = QUICK[name]().fit(task.lesson).predict_proba(task.train)
    there = QUICK[name]().fit(Lesson(task.train.take(order))).predict_proba(task.train.take(order))
    assert np.allclose(here[order], there, atol=5e-3)


@every
def test_a_source_that_never_votes_changes_nothing(name: str) -> None:
    task = planted_task()

    def wider(documents: Documents) -> Documents:
        votes = documents.votes
        silent = np.full((votes.n, 1), -1, dtype=np.int8)
        more = Votes.from_array(
            np.hstack([silent, votes.matrix]),
            classes=votes.classes,
            sources=["silent", *votes.sources],
        )
        return Documents(documents.corpus, more, documents.features)

    here = QUICK[name]().fit(task.lesson)
    there = QUICK[name]().fit(Lesson(wider(task.train)))
    assert np.array_equal(here.predict_proba(task.test), there.predict_proba(wider(task.test)))
    assert np.isnan(there.model.accuracies_[0])
    assert np.array_equal(here.model.accuracies_, there.model.accuracies_[1:])


def test_parameters_are_counted() -> None:
    lesson = planted_task(m=3).lesson  # 8 sources, 3 classes
    counted = {name: make().fit(lesson).parameters for name, make in FACTORIES.items()}
    assert counted["majority-vote"] == 0
    assert counted["weighted-vote"] == counted["one-coin"] == 8
    assert counted["dawid-skene"] == counted["matrix-completion"] == 8 * 3 * 3
    pairs = len(
        np.unique(
            [(j, v) for row in lesson.documents.votes.matrix for j, v in enumerate(row) if v >= 0],
            axis=0,
        )
    )
    assert counted["denoiser"] == 128 + 128 + pairs * 128

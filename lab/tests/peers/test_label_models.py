"""Ties are drawn fairly, by text and seed.

Label models used alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from lab.tests.peers.planted_task import planted_task, right, same_twice

from unruly.labelmodels.label_model import LabelModel
from unruly.labelmodels.majority_vote import commonest_class
from unruly.settings import PaperSettings
from unruly.votes.votes import Votes
from unruly_lab.peers import label_models
from unruly_lab.peers.denoiser_alone import DenoiserAlone
from unruly_lab.peers.label_models import break_ties
from unruly_lab.peers.systems import SYSTEMS, VOTES, Documents, TrainingData

WORDS = [f"text {i}" for i in range(600)]


@given(
    hnp.arrays(np.int64, st.tuples(st.integers(0, 12), st.just(3)), elements=st.integers(1, 3)),
    st.integers(0, 50),
)
def test_one_of_the_leaders_wins_and_nothing_else_changes(counts: np.ndarray, seed: int) -> None:
    proba = counts / counts.sum(axis=1, keepdims=True)
    fair = break_ties(proba, WORDS[: len(proba)], seed)
    assert np.allclose(fair, proba, atol=2e-6)
    assert np.allclose(fair.sum(axis=1), 1)
    for before, after in zip(proba, fair, strict=True):
        assert before[after.argmax()] == before.max()
        assert np.sort(after)[-1] > np.sort(after)[-2]


def test_every_class_gets_its_part_and_seeds_differ() -> None:
    even = np.full((600, 3), 1 / 3)
    first, second = (break_ties(even, WORDS, seed).argmax(axis=1) for seed in (0, 1))
    for drawn in (first, second):
        assert np.bincount(drawn, minlength=3).min() > 160
    assert 150 < (first == second).sum() < 250  # a third, by chance


def test_the_order_of_documents_does_not_matter() -> None:
    even, order = np.full((600, 2), 0.5), np.random.default_rng(0).permutation(600)
    moved = break_ties(even, [WORDS[i] for i in order], seed=0)
    assert np.array_equal(moved, break_ties(even, WORDS, seed=0)[order])


def test_clear_winners_are_left_alone() -> None:
    clear = np.array([[0.9, 0.1], [0.2, 0.8]])
    assert break_ties(clear, WORDS[:2], seed=0) is clear


NAMES = tuple(entry.name for entry in SYSTEMS if entry.group == VOTES)
FACTORIES = {
    "majority-vote": label_models.majority_vote,
    "weighted-vote": label_models.weighted_vote,
    "one-coin": label_models.one_coin,
    "dawid-skene": label_models.dawid_skene,
    "matrix-completion": label_models.matrix_completion,
    "denoiser": label_models.denoiser,
}
# The same with fewer epochs, for laws that hold after any number of them.
QUICK: dict[str, Callable[[], label_models.VotesOnly]] = {
    **FACTORIES,
    "denoiser": lambda: label_models.VotesOnly(
        lambda prior, seed: DenoiserAlone(
            PaperSettings(epochs=30, attention="voters"), prior, seed
        ),
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
    fitted = FACTORIES[name]().fit(task.data)
    assert right(fitted.predict_proba(task.test), task.test_gold) > 1 / m + 0.2
    assert fitted.gold_used == ()
    assert isinstance(fitted.model, LabelModel)
    good, bad = fitted.model.accuracies_[: 2 * m], fitted.model.accuracies_[-1]
    assert good.mean() > bad  # the last source is right at 40 %


@every
def test_it_is_repeatable_and_looks_at_no_true_label(name: str) -> None:
    task = planted_task()
    data = replace(task.data, clean=task.gold, valid=(task.valid, task.valid_gold))
    assert same_twice(QUICK[name](), task)
    shown, blind = QUICK[name]().fit(data), QUICK[name]().fit(task.data)
    assert np.array_equal(shown.predict_proba(task.test), blind.predict_proba(task.test))


@every
def test_documents_without_votes_get_the_prior(name: str) -> None:
    task = planted_task()
    uncovered = ~task.test.votes.covered
    if name == "majority-vote":  # has one definition everywhere, whatever prior is stated
        said = QUICK[name]().fit(replace(task.data, prior=(0.7, 0.3))).predict_proba(task.test)
        commonest = commonest_class(task.train.votes)
        assert (said[uncovered].argmax(axis=1) == commonest).all()
        return
    known = QUICK[name]().fit(replace(task.data, prior=(0.7, 0.3)))
    assert np.allclose(known.predict_proba(task.test)[uncovered], [0.7, 0.3], atol=1e-5)
    unknown = QUICK[name]().fit(task.data).predict_proba(task.test)[uncovered]
    assert np.allclose(unknown, 0.5, atol=1e-5)
    assert set(unknown.argmax(axis=1)) == {0, 1}  # drawn, not always the first


@quick
@settings(max_examples=5)
@given(seed=st.integers(0, 100))
def test_permuting_training_documents_permutes_predictions(name: str, seed: int) -> None:
    task = planted_task()
    order = np.random.default_rng(seed).permutation(task.train.n)
    here = QUICK[name]().fit(task.data).predict_proba(task.train)
    there = (
        QUICK[name]()
        .fit(TrainingData(task.train.take(order)))
        .predict_proba(task.train.take(order))
    )
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

    here = QUICK[name]().fit(task.data)
    there = QUICK[name]().fit(TrainingData(wider(task.train)))
    assert np.array_equal(here.predict_proba(task.test), there.predict_proba(wider(task.test)))
    assert np.isnan(there.model.accuracies_[0])
    assert np.array_equal(here.model.accuracies_, there.model.accuracies_[1:])


def test_parameters_are_counted() -> None:
    data = planted_task(m=3).data  # 8 sources, 3 classes
    counted = {name: make().fit(data).parameters for name, make in FACTORIES.items()}
    assert counted["majority-vote"] == 0
    assert counted["weighted-vote"] == counted["one-coin"] == 8
    assert counted["dawid-skene"] == counted["matrix-completion"] == 8 * 3 * 3
    pairs = len(
        np.unique(
            [(j, v) for row in data.documents.votes.matrix for j, v in enumerate(row) if v >= 0],
            axis=0,
        )
    )
    assert counted["denoiser"] == 128 + 128 + pairs * 128

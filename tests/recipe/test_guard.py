"""The guard fires when and only when it should; what it falls back to is what it says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from unruly.features.encoder import Features
from unruly.labelmodels.planted import planted_votes
from unruly.model.evaluation import majority_shares as shares_of_votes
from unruly.model.fitted import commonest_vote
from unruly.recipe.balanced import class_balanced
from unruly.recipe.class_prior import HeldPrior
from unruly.recipe.evidence import Evidence
from unruly.recipe.fitting import fit_recipe
from unruly.recipe.guard import (
    BALANCED,
    MAJORITY,
    RECIPE,
    Verdict,
    agreement,
    clear_majority,
    contradicted,
    guard,
    majority_shares,
)
from unruly.recipe.planted_features import planted_features
from unruly.recipe.posteriors import Ingredients, posteriors, regressions
from unruly.recipe.recipe import Recipe
from unruly.recipe.text_signal import text_signal
from unruly.settings import Settings
from unruly.votes.votes import Votes

QUICK = Ingredients(networks=False)
Task = tuple[Features, Votes, NDArray[np.int64]]


def task(
    n: int = 600,
    accuracies: tuple[float, ...] = (0.8,) * 6,
    coverage: float = 0.3,
    *,
    classes: int = 2,
    signal: float = 1.0,
    prior: tuple[float, ...] | None = None,
    seed: int = 0,
) -> Task:
    votes, gold = planted_votes(n, accuracies, coverage, classes=classes, prior=prior, seed=seed)
    truth = gold.astype(np.int64)
    return planted_features(votes, truth, signal=signal, width=24, seed=seed), votes, truth


def fitted(given_task: Task, prior: tuple[float, ...] | None = None) -> Recipe:
    return fit_recipe(given_task[0], given_task[1], Settings(), prior=prior, ingredients=QUICK)


def accuracies(recipe: Recipe, given_task: Task) -> tuple[float, float]:
    """Of the recipe, and of majority vote."""
    features, votes, truth = given_task
    ours = float((recipe.heads(features, votes).predicted == truth).mean())
    shares = shares_of_votes(votes, commonest_vote(votes))
    return ours, float(shares[np.arange(votes.n), truth].mean())


GRID: dict[str, tuple[Task, str]] = {
    "healthy": (task(), RECIPE),
    "no text": (task(signal=0.0, seed=2), MAJORITY),
    "no text, good votes": (task(accuracies=(0.95,) * 6, coverage=0.5, signal=0.0), MAJORITY),
    "one inverted": (task(accuracies=(0.15, *(0.8,) * 6)), RECIPE),
    "an adversary": (task(accuracies=(0.05, *(0.8,) * 8)), RECIPE),
    "13 % positives": (task(1000, prior=(0.87, 0.13)), RECIPE),
    "30 % positives": (task(1000, prior=(0.7, 0.3)), RECIPE),
    "four classes": (task(1000, (0.75,) * 8, classes=4), RECIPE),
    "few documents, no text": (task(60, signal=0.0), MAJORITY),
}


@pytest.mark.parametrize("name", GRID)
def test_it_fires_when_and_only_when_it_should(name: str) -> None:
    given_task, should = GRID[name]
    recipe = fitted(given_task)
    assert recipe.answers == should
    assert any(note.startswith("The guard: ") for note in recipe.notes) == (should != RECIPE)
    ours, majority = accuracies(recipe, given_task)
    assert ours >= majority - 0.02
    if should == RECIPE:
        assert ours > majority + 0.05


def test_the_fallback_is_majority_vote_document_by_document() -> None:
    features, votes, _ = given_task = task(signal=0.0, seed=2)
    heads = fitted(given_task).heads(features, votes)
    shares = shares_of_votes(votes, commonest_vote(votes))
    chosen = shares[np.arange(votes.n), heads.predicted]
    assert (chosen > 0).all()  # one of those with most votes
    assert (heads.predicted[~votes.covered] == commonest_vote(votes)).all()
    assert np.allclose(heads.combined.sum(axis=1), 1, atol=1e-5)


def test_a_fallback_survives_being_written_down() -> None:
    features, votes, _ = given_task = task(signal=0.0, seed=2)
    recipe = fitted(given_task)
    again = Recipe.restore(recipe.arrays(), recipe.facts())
    assert again.answers == MAJORITY
    assert (again.heads(features, votes).combined == recipe.heads(features, votes).combined).all()


def test_a_source_contradicted_by_everything_else_is_named() -> None:
    recipe = fitted(task(accuracies=(0.8, 0.8, 0.1, 0.8, 0.8, 0.8, 0.8)))
    named = [note for note in recipe.notes if "is contradicted by texts" in note]
    assert len(named) == 1
    assert "'source_2'" in named[0]
    assert not [n for n in fitted(task()).notes if "is contradicted" in n]


def test_low_coverage_under_a_guessed_prior_is_told() -> None:
    sparse = task(2000, coverage=0.05)
    assert any("votes cover only" in note for note in fitted(sparse).notes)
    known = fitted(sparse, prior=(0.5, 0.5))
    assert not any("votes cover only" in note for note in known.notes)


def test_a_given_prior_is_believed_but_doubted_aloud() -> None:
    recipe = fitted(task(1500, (0.85,) * 8), prior=(0.95, 0.05))
    assert recipe.answers == RECIPE
    assert recipe.prior == pytest.approx((0.95, 0.05))
    assert any("check the prior" in note for note in recipe.notes)


def _judged(answers: NDArray[np.float64] | None = None, trusted: bool = False) -> Verdict:
    """The verdict on a healthy fit whose posteriors have been tampered with."""
    features, votes, _ = task(accuracies=(0.85,) * 6, coverage=0.5)
    evidence = Evidence.of(votes, np.full(votes.n, -1))
    texts = regressions(features, 2, Settings())
    balanced = class_balanced(texts, evidence)
    even = np.array([0.5, 0.5])
    sound = posteriors(texts, evidence, even, tau=3.0, rounds=4)
    tampered = sound if answers is None else replace(sound, q=answers)
    return guard(
        tampered, balanced, evidence, HeldPrior(even, "guessed", trusted), 20.0, votes.classes
    )


def test_each_check_by_itself() -> None:
    assert _judged().answers == RECIPE
    _, votes, truth = task(accuracies=(0.85,) * 6, coverage=0.5)
    turned = np.eye(2)[1 - truth]
    assert _judged(turned).answers == MAJORITY
    assert "contradicts" in _judged(turned).notes[0]
    one = np.tile([0.1, 0.9], (votes.n, 1))
    swallowed = _judged(one, trusted=True)
    assert swallowed.answers == BALANCED
    assert "swallowed 0" in swallowed.notes[0]
    half = np.where(np.arange(votes.n)[:, None] % 3 == 0, turned, 1 - turned)
    doubted = _judged(half)
    assert doubted.answers == BALANCED
    assert "guessed class prior" in doubted.notes[0]
    assert _judged(half, trusted=True).answers == RECIPE


def test_votes_for_one_class_only_are_no_reason_to_fire() -> None:
    features, votes, _ = task(100)
    only = Votes.from_array(np.where(votes.matrix == 1, 1, -1), classes=["a", "b"])
    recipe = fit_recipe(features, only, Settings(), ingredients=QUICK)
    assert recipe.answers == RECIPE
    assert (recipe.heads(features, only).predicted == 1).all()


@given(
    st.integers(2, 4).flatmap(
        lambda m: st.lists(
            st.lists(st.integers(-1, m - 1), min_size=3, max_size=3), min_size=4, max_size=30
        )
    )
)
def test_majority_shares_are_those_of_the_evaluation(rows: list[list[int]]) -> None:
    matrix = np.array(rows)
    if (matrix < 0).all():
        return
    votes = Votes.from_array(matrix)
    evidence = Evidence.of(votes, np.full(votes.n, -1))
    ours = np.zeros((votes.n, votes.m))
    ours[:, evidence.classes] = majority_shares(evidence)
    assert np.allclose(ours, shares_of_votes(votes, commonest_vote(votes)))
    named = clear_majority(evidence)
    assert ((ours.max(axis=1) == 1) & votes.covered == (named >= 0)).all()
    best = majority_shares(evidence).argmax(axis=1)
    assert contradicted(best, evidence)[0] == 0
    assert 0 <= agreement(best, evidence) <= 1


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_the_text_signal_of_noise_is_small_and_knows_no_order(seed: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    proba, named = rng.random((200, m)), rng.integers(-1, m, 200)
    z = text_signal(proba, named)
    assert abs(z) < 6
    order = rng.permutation(200)
    assert text_signal(proba[order], named[order]) == pytest.approx(z, abs=1e-6)
    relabel = rng.permutation(m)
    back = np.append(np.argsort(relabel), -1)
    assert text_signal(proba[:, relabel], back[named]) == pytest.approx(z, abs=1e-6)


def test_the_variance_of_the_text_signal_is_that_of_all_deals() -> None:
    rng = np.random.default_rng(0)
    proba, named = rng.random((40, 3)), rng.integers(0, 3, 40)
    dealt = [text_signal(proba, rng.permutation(named)) for _ in range(2000)]
    assert np.mean(dealt) == pytest.approx(0, abs=0.08)
    assert np.std(dealt) == pytest.approx(1, abs=0.08)

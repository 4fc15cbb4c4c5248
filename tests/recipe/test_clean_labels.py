"""A few clean labels help, and do not hurt; what they say of the prior."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.labelmodels.planted import planted_votes
from unruly.model.ledger import Ledger, Use
from unruly.recipe.clean_labels import clean_weight, corrected_prior, counted_prior
from unruly.recipe.fitting import fit_recipe
from unruly.recipe.hand_labels import fit_hand_labels
from unruly.recipe.planted_features import planted_features
from unruly.recipe.posteriors import Ingredients
from unruly.settings import Settings

QUICK = Ingredients(networks=False)


def accuracy(count: int, prior: tuple[float, float], good: float, seed: int) -> float:
    """On 500 new documents, after so many clean labels."""
    votes, gold = planted_votes(1000, [good] * 6, 0.2, prior=prior, seed=seed)
    features = planted_features(votes, gold.astype(np.int64), signal=0.6, width=24, seed=seed)
    train, test = np.arange(500), np.arange(500, 1000)
    clean = np.full(500, -1)
    rows = np.random.default_rng(seed).permutation(500)[:count]
    clean[rows] = gold[rows]
    recipe = fit_recipe(
        features.take(train),
        votes.take(train),
        Settings(seed=seed),
        clean=clean if count else None,
        ingredients=QUICK,
    )
    heads = recipe.heads(features.take(test), votes.take(test))
    return float((heads.predicted == gold[test]).mean())


@pytest.mark.parametrize(
    ("prior", "good"), [((0.5, 0.5), 0.75), ((0.85, 0.15), 0.7)], ids=["balanced", "skewed"]
)
def test_they_help_and_do_not_hurt_on_average(prior: tuple[float, float], good: float) -> None:
    seeds = range(3)
    scores = {
        count: np.mean([accuracy(count, prior, good, seed) for seed in seeds])
        for count in (0, 20, 150, 500)
    }
    assert scores[20] > scores[0] - 0.01
    assert scores[150] > scores[20] - 0.01
    assert scores[500] > scores[0]
    assert scores[500] > scores[150] - 0.005


def test_twenty_labels_mend_a_prior_that_is_badly_wrong() -> None:
    labels = np.array([0] * 18 + [1] * 2)
    sure_but_wrong = np.tile([0.4, 0.6], (20, 1))
    prior, words = corrected_prior(np.array([0.5, 0.5]), sure_but_wrong, labels)
    assert prior[0] > 0.8
    assert "corrected by 20 clean labels" in words


def test_a_good_guess_is_left_alone() -> None:
    rng = np.random.default_rng(0)
    moved = 0
    for _ in range(300):
        labels = rng.integers(0, 2, 20)
        q = np.where(rng.random((20, 1)) < 0.9, np.eye(2)[labels], np.eye(2)[1 - labels])
        guess = np.array([0.5, 0.5])
        moved += bool((corrected_prior(guess, q, labels)[0] != guess).any())
    assert moved < 0.05 * 300


@given(st.integers(1, 50), st.integers(2, 5), st.integers(0, 10_000))
def test_a_corrected_prior_is_a_prior(n: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    guess, q = rng.dirichlet(np.ones(m)), rng.dirichlet(np.ones(m), n)
    labels = rng.integers(0, m, n)
    for prior in (corrected_prior(guess, q, labels)[0], counted_prior(labels, m)[0]):
        assert (prior > 0).all()
        assert prior.sum() == pytest.approx(1)
    assert 1 <= clean_weight(n, m) <= clean_weight(n + 1, m) <= 10


def test_they_are_in_the_ledger_and_in_the_words() -> None:
    votes, gold = planted_votes(300, [0.8] * 4, 0.4)
    features = planted_features(votes, gold.astype(np.int64), width=16)
    clean = np.where(np.arange(300) < 30, gold, -1).astype(np.int64)
    recipe = fit_recipe(features, votes, Settings(), clean=clean, ingredients=QUICK)
    ledger = Ledger().add_words(recipe.gold_used)
    assert ledger.used_for(Use.TRAINING) == 30
    assert ledger.used_for(Use.PRIOR) == 30
    given_prior = fit_recipe(
        features, votes, Settings(), clean=clean, prior=(0.5, 0.5), ingredients=QUICK
    )
    assert Ledger().add_words(given_prior.gold_used).used_for(Use.PRIOR) == 0
    assert recipe.answers == "recipe"


def test_clean_labels_overrule_a_recipe_that_is_wrong() -> None:
    """Every source is right, text knows nothing, and the prior that is given is nonsense."""
    votes, gold = planted_votes(400, [0.95] * 5, 0.6)
    features = planted_features(votes, gold.astype(np.int64), signal=0.0, width=16)
    clean = np.where(np.arange(400) < 100, gold, -1).astype(np.int64)
    recipe = fit_recipe(
        features, votes, Settings(), clean=clean, prior=(0.999, 0.001), ingredients=QUICK
    )
    heads = recipe.heads(features, votes)
    assert (heads.predicted == gold).mean() > 0.9


def test_hand_labels_alone_learn_too() -> None:
    votes, gold = planted_votes(900, [0.8])
    features = planted_features(votes, gold.astype(np.int64), width=16)
    model = fit_hand_labels(features.take(np.arange(300)), gold[:300].astype(np.int64), 2)
    rest = np.arange(300, 900)
    assert (model.log_proba(features.take(rest)).argmax(axis=1) == gold[rest]).mean() > 0.85

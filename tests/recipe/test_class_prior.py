"""The prior that is held: where it comes from, and when the user is warned of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.labelmodels.planted import planted_votes
from unruly.recipe.class_prior import (
    HeldPrior,
    held_prior,
    leaning,
    neighbours,
    prior_notes,
)
from unruly.recipe.evidence import Evidence, vote_prior
from unruly.recipe.foretold_prior import Foretold
from unruly.recipe.planted_features import planted_features
from unruly.recipe.posteriors import regressions
from unruly.settings import Settings

EVEN = np.array([0.5, 0.5])


def shares_of(weights: list[float]) -> np.ndarray:
    return np.asarray(np.asarray(weights) / np.sum(weights))


WEIGHTS = st.lists(st.floats(0.05, 1.0), min_size=3, max_size=3)


def held_on(prior: tuple[float, ...], asked: object = None) -> tuple[HeldPrior, Evidence]:
    votes, gold = planted_votes(2000, [0.85] * 8, 0.4, prior=prior, seed=3)
    features = planted_features(votes, gold, seed=3)
    evidence = Evidence.of(votes, np.full(votes.n, -1))
    texts = regressions(features, evidence.m, Settings())
    return held_prior(asked, texts, evidence, Settings()), evidence  # type: ignore[arg-type]


def test_skewed_data_are_seen_to_be_skewed() -> None:
    held, evidence = held_on((0.87, 0.13))
    assert held.origin.startswith("estimated")
    assert held.shares[1] == pytest.approx(0.13, abs=0.06)
    voted = vote_prior(evidence)
    assert voted[1] > held.shares[1], (
        "noise pulls the votes' shares to the middle; the guess goes beyond"
    )


def test_balanced_data_stay_uniform() -> None:
    held, _ = held_on((0.5, 0.5))
    assert held.shares.tolist() == [0.5, 0.5]
    assert not held.trusted


def test_numbers_are_held_as_given() -> None:
    held, _ = held_on((0.5, 0.5), asked=(0.8, 0.2))
    assert held.shares == pytest.approx([0.8, 0.2])
    assert held.trusted


def test_a_warning_needs_something_against_the_guess() -> None:
    guess = HeldPrior(EVEN, "uniform", False)
    assert len(prior_notes(guess, 0.15, 1.2)) == 1
    assert "15% of the answers would change" in prior_notes(guess, 0.15, 1.2)[0]
    assert prior_notes(guess, 0.05, 3.0) == ("Class prior: uniform.",)
    warned = prior_notes(guess, 0.15, 3.0)
    assert warned[1].startswith("Warning:")
    assert "factor of 3.0" in warned[1]
    assert prior_notes(HeldPrior(EVEN, "given", True), 0.5, 9.0) == ("Class prior: given.",)


@given(WEIGHTS)
def test_a_guess_does_not_lean_away_from_itself(weights: list[float]) -> None:
    shares = shares_of(weights)
    assert leaning(shares, [shares]) == pytest.approx(1.0)


@given(WEIGHTS, WEIGHTS)
def test_leaning_is_mutual(one: list[float], two: list[float]) -> None:
    a, b = shares_of(one), shares_of(two)
    assert leaning(a, [b]) == pytest.approx(leaning(b, [a]))
    assert leaning(a, [b]) >= 1


def test_one_class_alone_cannot_lean() -> None:
    assert leaning(np.ones(1), [np.ones(1)]) == 1.0


@given(WEIGHTS)
def test_neighbours_are_shares(weights: list[float]) -> None:
    found = list(neighbours(shares_of(weights)))
    assert len(found) == 6
    assert all(near.sum() == pytest.approx(1) and (near > 0).all() for near in found)


def test_the_user_is_told_where_votes_cannot_tell_the_rare_class(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rivals = (np.array([0.88, 0.12]), np.array([0.27, 0.73]))
    monkeypatch.setattr(
        "unruly.recipe.class_prior.foretold_prior", lambda *_: Foretold(EVEN, rivals)
    )
    held, _ = held_on((0.5, 0.5))
    assert held.shares.tolist() == [0.5, 0.5]
    assert "which class is the rare one (88/12 and 27/73" in held.origin

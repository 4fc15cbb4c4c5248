"""A run with nothing held: what it says of the shares of the classes, and when that is believed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.labelmodels.planted import planted_votes
from unruly.recipe.class_prior import held_prior
from unruly.recipe.evidence import Evidence
from unruly.recipe.planted_features import planted_features
from unruly.recipe.posteriors import regressions
from unruly.recipe.released_run import Drift, believed, released
from unruly.settings import Settings


@pytest.mark.parametrize(
    ("mass", "balanced", "voted", "answer"),
    [
        ((0.9, 0.1), (0.8, 0.2), (0.8, 0.2), True),
        ((0.7, 0.3), (0.66, 0.34), (0.6, 0.4), True),  # all three agree
        ((0.34, 0.66), (0.38, 0.62), (0.23, 0.77), False),  # votes lean, text hardly follows
        ((0.15, 0.85), (0.28, 0.72), (0.48, 0.52), False),  # votes do not support it
        ((0.98, 0.02), (0.5, 0.5), (0.5, 0.5), False),  # nothing supports it
        ((0.02, 0.98), (0.6, 0.4), (0.7, 0.3), False),  # turned round
        ((0.55, 0.45), (0.55, 0.45), (0.55, 0.45), False),  # not far enough
    ],
)
def test_when_a_drift_of_the_prior_is_believed(
    mass: tuple[float, ...], balanced: tuple[float, ...], voted: tuple[float, ...], answer: bool
) -> None:
    shares = [np.array(part) for part in (mass, balanced, voted)]
    assert believed(Drift(shares[0], shares[1], shares[2], 0.8)) is answer
    turned = [part[::-1] for part in shares]
    assert believed(Drift(turned[0], turned[1], turned[2], 0.8)) is answer


def test_the_same_drift_needs_surer_text() -> None:
    mass, named, voted = np.array([0.69, 0.31]), np.array([0.66, 0.34]), np.array([0.69, 0.31])
    assert believed(Drift(mass, named, voted, 0.87))
    assert not believed(Drift(mass, named, voted, 0.75))


SHARE = st.floats(0.02, 0.98)


def pairs(one: float, two: float, three: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.array([one, 1 - one]), np.array([two, 1 - two]), np.array([three, 1 - three])


@given(SHARE, SHARE, st.floats(0, 1))
def test_the_estimate_lies_between_drift_and_votes(mass: float, voted: float, sure: float) -> None:
    drift = Drift(*pairs(mass, 0.5, voted), sure)
    low, high = sorted((mass, voted))
    assert low - 1e-9 <= drift.estimate[0] <= high + 1e-9


def test_sure_text_decides_and_doubt_leaves_it_to_the_votes() -> None:
    mass, voted = np.array([0.9, 0.1]), np.array([0.6, 0.4])
    assert Drift(mass, mass, voted, sure=1.0).estimate == pytest.approx(mass)
    assert Drift(mass, mass, voted, sure=0.0).estimate == pytest.approx(voted)


@pytest.mark.parametrize("coverage", [0.02, 0.006])
def test_rare_classes_are_found_from_few_good_one_class_sources(coverage: float) -> None:
    """Many keyword sources on 13 % spam: votes alone would say a third, the text knows better."""
    only = {j: j % 2 for j in range(40)}
    votes, gold = planted_votes(
        5000, [0.95] * 40, coverage, prior=(0.87, 0.13), one_class=only, seed=1
    )
    evidence = Evidence.of(votes, np.full(votes.n, -1))
    texts = regressions(planted_features(votes, gold, seed=1), 2, Settings())
    drift = released(texts, evidence, Settings())
    held = held_prior(None, texts, evidence, Settings())
    assert held.shares == pytest.approx(drift.estimate), "the estimate is what is held"
    assert abs(held.shares[1] - 0.13) < 0.05 < abs(drift.voted[1] - 0.13)

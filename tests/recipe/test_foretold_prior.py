"""The prior under which votes are foretold best."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.labelmodels.planted import planted_votes
from unruly.recipe.class_prior import held_prior
from unruly.recipe.evidence import Evidence, vote_prior
from unruly.recipe.foretold_prior import Foretold, Tried, best, foretold_prior, two
from unruly.recipe.planted_features import planted_features
from unruly.recipe.posteriors import WHOLE, regressions
from unruly.settings import Settings
from unruly.votes.votes import Votes

GAINS = st.lists(st.floats(0, 1), min_size=7, max_size=7)
PLACES = np.arange(-3.0, 4.0)


def tried(gains: list[float]) -> list[Tried]:
    return [Tried(two(x), gain) for x, gain in zip(PLACES, gains, strict=True)]


def found_in(votes: Votes, gold: np.ndarray, signal: float = 1.0) -> tuple[Foretold, Evidence]:
    evidence = Evidence.of(votes, np.full(votes.n, -1))
    features = planted_features(votes, gold, signal=signal, seed=1)
    texts = regressions(features, evidence.m, Settings())
    return foretold_prior(texts, evidence, Settings(), WHOLE), evidence


@pytest.mark.parametrize("share", [0.07, 0.13, 0.3, 0.7, 0.87])
def test_a_planted_balance_is_found(share: float) -> None:
    votes, gold = planted_votes(1500, [0.8] * 8, 0.3, prior=(1 - share, share), seed=2)
    found, _ = found_in(votes, gold, 0.7)
    assert found.prior[1] == pytest.approx(share, abs=0.06)


def test_biased_votes_do_not_make_a_bias() -> None:
    """Balanced documents; the sources for one class speak three times as often."""
    only = {j: int(j >= 6) for j in range(8)}
    votes, gold = planted_votes(2000, [0.8] * 8, 0.15, one_class=only, seed=2)
    found, evidence = found_in(votes, gold)
    assert vote_prior(evidence)[0] > 0.6
    assert found.prior.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("coverage", [0.02, 0.006])
def test_rare_classes_are_found_from_few_good_one_class_sources(coverage: float) -> None:
    """Many keyword sources on 13 % spam: votes alone would say a third, the text knows better."""
    only = {j: j % 2 for j in range(40)}
    votes, gold = planted_votes(
        5000, [0.95] * 40, coverage, prior=(0.87, 0.13), one_class=only, seed=1
    )
    found, evidence = found_in(votes, gold)
    assert abs(found.prior[1] - 0.13) < 0.05 < abs(vote_prior(evidence)[1] - 0.13)


def test_skewed_shares_of_four_classes_are_nearer_than_uniform() -> None:
    prior = np.array([0.6, 0.25, 0.1, 0.05])
    votes, gold = planted_votes(2000, [0.8] * 12, 0.2, classes=4, prior=prior.tolist(), seed=3)
    found, evidence = found_in(votes, gold)
    assert np.abs(found.prior - prior).max() < 0.08 < np.abs(vote_prior(evidence) - prior).max()


def test_votes_on_a_few_documents_are_hearsay() -> None:
    votes, gold = planted_votes(60, [0.9] * 3, 0.2, prior=(0.8, 0.2), seed=1)
    evidence = Evidence.of(votes, np.full(votes.n, -1))
    assert evidence.covered.sum() < 50
    texts = regressions(planted_features(votes, gold), evidence.m, Settings())
    held = held_prior(None, texts, evidence, Settings())
    assert held.shares.tolist() == [0.5, 0.5]
    assert "too few documents" in held.origin


def test_a_class_that_may_be_rare_or_common_is_said_to_be_either() -> None:
    found = best(tried([0.1, 0.5, 0.3, 0.1, 0.3, 0.48, 0.1]), two(0.0), 500)
    assert found.prior.tolist() == [0.5, 0.5]
    assert [rival.round(2).tolist() for rival in found.rivals] == [[0.88, 0.12], [0.12, 0.88]]


@given(GAINS, st.floats(-3, 3))
def test_turning_the_classes_round_turns_the_prior_round(gains: list[float], lean: float) -> None:
    one = best(tried(gains), two(lean), 500)
    other = best(tried(gains[::-1]), two(-lean), 500)
    assert len(one.rivals) == len(other.rivals)
    if len(set(gains)) == len(gains):  # of equals, which one comes first would matter
        assert one.prior == pytest.approx(other.prior[::-1])


@given(GAINS)
def test_where_nothing_is_foretold_it_is_uniform(gains: list[float]) -> None:
    found = best(tried([gain / 1000 for gain in gains]), two(0.0), 500)
    assert found.prior.tolist() == [0.5, 0.5]

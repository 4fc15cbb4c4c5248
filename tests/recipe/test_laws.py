"""Laws that must hold whatever the data: planted truth, the default recipe from end to end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from unruly.features.encoder import Block, Features
from unruly.labelmodels.planted import planted_votes
from unruly.recipe.evidence import Evidence
from unruly.recipe.fitting import fit_recipe
from unruly.recipe.planted_features import planted_features
from unruly.recipe.posteriors import Ingredients, posteriors, regressions
from unruly.recipe.recipe import Recipe
from unruly.settings import Settings
from unruly.votes.votes import Votes

QUICK = Ingredients(networks=False)
Labels = NDArray[np.int64]


def drawn(
    n: int, accuracies: list[float], coverage: float = 0.3, m: int = 2, seed: int = 0
) -> tuple[Features, Votes, Labels]:
    votes, gold = planted_votes(n, accuracies, coverage, classes=m, seed=seed)
    truth = gold.astype(np.int64)
    return planted_features(votes, truth, width=24, signal=0.7, seed=seed), votes, truth


def fitted(features: Features, votes: Votes, ingredients: Ingredients = QUICK) -> Recipe:
    return fit_recipe(features, votes, Settings(), ingredients=ingredients)


def test_better_sources_get_higher_reliability() -> None:
    accuracies = [0.55, 0.65, 0.75, 0.85, 0.95]
    features, votes, _ = drawn(2500, accuracies)
    recipe = fitted(features, votes)
    assert (np.diff(recipe.reliability) > 0).all()
    assert recipe.accuracy[:, 0] == pytest.approx(accuracies, abs=0.1)


@pytest.mark.parametrize("networks", [False, True])
def test_permuting_sources_permutes_results(networks: bool) -> None:
    features, votes, _ = drawn(500, [0.6, 0.7, 0.8, 0.9])
    order = [2, 0, 3, 1]
    moved = Votes.from_array(
        votes.matrix[:, order], classes=votes.classes, sources=[votes.sources[j] for j in order]
    )
    # The attention network starts at an even split with random vectors for each vote, by their order.
    close = 1e-4 if not networks else 0.05
    parts = Ingredients(networks=networks)
    before, after = fitted(features, votes, parts), fitted(features, moved, parts)
    assert after.reliability == pytest.approx(before.reliability[order], abs=1e-5)
    ours, theirs = (
        before.heads(features, votes).combined,
        after.heads(features, moved).combined,
    )
    assert np.abs(ours - theirs).max() < close


def test_permuting_classes_permutes_results() -> None:
    features, votes, _ = drawn(600, [0.7, 0.75, 0.8, 0.85], m=3)
    to = np.array([2, 0, 1, -1])  # class c becomes to[c]; -1 stays
    moved = Votes.from_array(to[votes.matrix], classes=votes.classes)
    before, after = fitted(features, votes), fitted(features, moved)
    ours = before.heads(features, votes).combined
    theirs = after.heads(features, moved).combined[:, to[:3]]
    assert np.abs(ours - theirs).max() < 1e-4
    assert after.reliability == pytest.approx(before.reliability, abs=1e-5)


def test_permuting_documents_permutes_results_up_to_the_folds() -> None:
    features, votes, _ = drawn(800, [0.7, 0.75, 0.8, 0.85])
    order = np.random.default_rng(3).permutation(800)
    mixed = Features(tuple(Block(b.name, b.values[order]) for b in features.blocks))
    ours = fitted(features, votes).heads(features, votes).predicted
    theirs = fitted(mixed, votes.take(order)).heads(mixed, votes.take(order)).predicted
    assert (ours[order] == theirs).mean() > 0.97


def _say(features: Features, votes: Votes, sources: slice) -> float:
    """How far these sources together move the log-odds of the documents they vote on, on average."""
    evidence = Evidence.of(votes, np.full(votes.n, -1))
    texts = regressions(features, evidence.m, Settings())
    after = posteriors(texts, evidence, np.array([0.5, 0.5]), tau=3.0, rounds=6)
    logs = np.log(after.T[sources]) * after.r[sources, None, None]
    return float(np.abs(logs[:, 0] - logs[:, 1]).max(axis=1).sum())


@pytest.mark.parametrize("times", [2, 6])
def test_duplicating_a_source_does_not_multiply_its_say(
    times: int, record_property: Callable[[str, object], None]
) -> None:
    features, votes, _ = drawn(2000, [0.8, 0.75, 0.75, 0.7], coverage=0.5)
    copied = np.concatenate([votes.matrix[:, :1]] * (times - 1) + [votes.matrix], axis=1)
    once = _say(features, votes, slice(0, 1))
    together = _say(features, Votes.from_array(copied), slice(0, times))
    record_property("say of the copies together, beside the source alone", together / once)
    assert 0.8 < together / once < 1.3  # without the discount it would be `times`


def test_a_source_that_always_abstains_changes_nothing() -> None:
    features, votes, _ = drawn(400, [0.7, 0.8, 0.9], m=3)
    silent = np.full((votes.n, 1), -1)
    padded = Votes.from_array(
        np.concatenate([votes.matrix[:, :1], silent, votes.matrix[:, 1:]], axis=1),
        classes=votes.classes,
    )
    before = fitted(features, votes, Ingredients())
    after = fitted(features, padded, Ingredients())
    assert (after.heads(features, padded).combined == before.heads(features, votes).combined).all()
    assert after.reliability[1] == 0
    assert (np.delete(after.reliability, 1) == before.reliability).all()


def test_an_inverted_source_is_caught_and_used_the_other_way_round() -> None:
    features, votes, truth = drawn(1500, [0.1, 0.8, 0.8, 0.8, 0.8])
    recipe = fitted(features, votes)
    assert recipe.accuracy[0, 0] < 0.25
    assert recipe.reliability[0] == recipe.reliability.min()
    assert any("'source_0' is contradicted" in note for note in recipe.notes)
    opinion = recipe.pool.opinion[0]  # (c, y)
    assert opinion[0, 1] > opinion[0, 0]
    assert opinion[1, 0] > opinion[1, 1]
    assert (recipe.heads(features, votes).predicted == truth).mean() > 0.9


def test_more_data_never_hurts_on_average() -> None:
    sizes, seeds = (100, 400, 1600), range(3)
    means = []
    for size in sizes:
        scores = []
        for seed in seeds:
            features, votes, truth = drawn(size + 500, [0.65, 0.7, 0.75, 0.8], seed=seed)
            train, test = np.arange(size), np.arange(size, size + 500)
            recipe = fitted(features.take(train), votes.take(train))
            heads = recipe.heads(features.take(test), votes.take(test))
            scores.append((heads.predicted == truth[test]).mean())
        means.append(float(np.mean(scores)))
    assert means[1] > means[0] - 0.01
    assert means[2] > means[1] - 0.01
    assert means[2] > means[0]

"""The classifier is made as loud as the regressions, and keeps its mind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from unruly.labelmodels.planted import planted_votes
from unruly.recipe.fitting import fit_recipe
from unruly.recipe.log_odds import log_softmax
from unruly.recipe.loudness import loudness, lowered
from unruly.recipe.planted_features import planted_features
from unruly.recipe.softmax_regression import pooled, side_by_side
from unruly.settings import Settings

VOTES, GOLD = planted_votes(600, [0.8] * 6, 0.5, seed=2)
FEATURES = planted_features(VOTES, GOLD, signal=0.7, seed=2)
RECIPE = fit_recipe(FEATURES, VOTES, Settings(), prior="uniform")


def opinions(factor: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities of the regressions and of the classifier made louder by a factor."""
    assert RECIPE.classifier is not None
    blocks = [block.values for block in FEATURES.blocks]
    pairs = zip(RECIPE.texts, blocks, strict=True)
    lp = pooled([t.log_proba(v) for t, v in pairs], [t.say for t in RECIPE.texts])
    louder = replace(
        RECIPE.classifier,
        w2=RECIPE.classifier.w2 * np.float32(factor),
        b2=RECIPE.classifier.b2 * np.float32(factor),
    )
    again = lowered(louder, RECIPE.texts, FEATURES)
    return lp, log_softmax(again.logits(side_by_side(RECIPE.texts, blocks)).astype(np.float64))


def test_a_fitted_classifier_is_not_louder_than_the_regressions() -> None:
    lp, z = opinions()
    assert loudness(z) <= loudness(lp) * 1.001


@pytest.mark.parametrize("factor", [2.0, 5.0, 40.0])
def test_a_loud_classifier_is_lowered_to_the_same_voice(factor: float) -> None:
    lp, z = opinions(factor)
    assert loudness(z) == pytest.approx(loudness(lp), rel=0.01)


def test_its_answers_stay() -> None:
    _, one = opinions()
    _, two = opinions(7.0)
    assert (one.argmax(axis=1) == two.argmax(axis=1)).all()


def test_a_quiet_classifier_is_left_alone() -> None:
    assert RECIPE.classifier is not None
    quiet = replace(RECIPE.classifier, w2=RECIPE.classifier.w2 * np.float32(0.1))
    quiet = replace(quiet, b2=quiet.b2 * np.float32(0.1))
    assert np.array_equal(lowered(quiet, RECIPE.texts, FEATURES).w2, quiet.w2)

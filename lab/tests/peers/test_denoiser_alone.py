"""The paper's denoiser as a label model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from tests.planted_votes import planted_votes

from unruly.errors import InputError, SettingsError
from unruly.features.encoder import Features
from unruly.labelmodels.label_model import LabelModel
from unruly.labelmodels.majority_vote import majority_vote
from unruly.paper.cotraining import cotrain
from unruly.settings import PaperSettings
from unruly.votes.votes import Votes
from unruly_lab.peers.denoiser_alone import DenoiserAlone

QUICK = PaperSettings(epochs=60, attention="voters")


@pytest.mark.parametrize("m", [2, 4])
def test_soft_labels_are_distributions_and_beat_chance(m: int) -> None:
    votes, gold = planted_votes(600, [0.9, 0.8, 0.75, 0.65], 0.5, classes=m, seed=1)
    model = DenoiserAlone(QUICK).fit(votes)
    assert isinstance(model, LabelModel)
    soft = model.predict_proba(votes)
    assert np.allclose(soft.sum(axis=1), 1, atol=1e-6)
    covered = votes.covered
    assert (model.predict(votes) == gold)[covered].mean() > 1 / m + 0.2
    assert ((model.accuracies_ >= 0) & (model.accuracies_ <= 1)).all()
    assert model.reliability_.sum() == pytest.approx(1)


def test_it_is_mostly_more_right_than_majority_where_good_sources_stand_against_poor_ones() -> None:
    """Mostly: it ends with a strict order of sources, and a poor one may have come to head it."""
    gains = []
    for seed in range(3):
        votes, gold = planted_votes(300, [0.95, 0.9, 0.55, 0.55, 0.55], 0.7, seed=seed)
        ours = (DenoiserAlone(QUICK).fit(votes).predict(votes) == gold).mean()
        gains.append(ours - (majority_vote(votes, ties="random") == gold).mean())
    assert np.mean(gains) > 0.02


def test_equal_rows_get_equal_labels_without_features() -> None:
    votes, _ = planted_votes(200, [0.9, 0.8, 0.7], 0.5, seed=3)
    model = DenoiserAlone(QUICK).fit(votes)
    twice = Votes.concat([votes, replace(votes, ids=votes.ids + 1000)])
    soft = model.predict_proba(twice)
    assert np.allclose(soft[: votes.n], soft[votes.n :], atol=1e-6)
    single = votes.voted.sum(axis=1) == 1
    assert np.allclose(soft[: votes.n][single].max(axis=1), np.e / (1 + np.e), atol=1e-6)


def test_with_features_it_is_the_rule_only_ablation() -> None:
    votes, _ = planted_votes(200, [0.9, 0.8, 0.7], 0.8, seed=4)
    features = Features.from_array(np.random.default_rng(0).normal(size=(200, 5)).astype("f4"))
    model = DenoiserAlone(QUICK).fit(votes, features)
    plain = cotrain(features, votes, replace(QUICK, ablation="rule-only"))
    covered = votes.covered
    assert np.array_equal(
        model.predict_proba(votes, features)[covered],
        plain.heads(features, votes).combined.astype(np.float64)[covered],
    )
    with pytest.raises(InputError, match="fitted with features and is asked without"):
        model.predict_proba(votes)
    with pytest.raises(InputError, match="fitted without features and is asked with"):
        DenoiserAlone(QUICK).fit(votes).predict_proba(votes, features)


def test_a_prior_is_given_or_estimated_and_answers_where_nobody_voted() -> None:
    votes, _ = planted_votes(800, [0.9, 0.85, 0.8, 0.8], 0.3, prior=[0.8, 0.2], seed=5)
    few = replace(QUICK, epochs=5)
    uncovered = ~votes.covered
    known = DenoiserAlone(few, class_prior=[0.7, 0.3]).fit(votes)
    assert np.allclose(known.predict_proba(votes)[uncovered], [0.7, 0.3])
    learnt = DenoiserAlone(few, class_prior="learn").fit(votes)
    assert abs(learnt.class_prior_[0] - 0.8) < 0.1
    assert np.allclose(learnt.predict_proba(votes)[uncovered], learnt.class_prior_)
    assert DenoiserAlone(few).fit(votes).class_prior_.tolist() == [0.5, 0.5]


def test_a_silent_source_has_no_accuracy_and_changes_nothing() -> None:
    votes, _ = planted_votes(200, [0.9, 0.8, 0.7], 0.6, seed=6)
    more = Votes.from_array(np.insert(votes.matrix, 1, -1, axis=1))
    here, there = DenoiserAlone(QUICK).fit(votes), DenoiserAlone(QUICK).fit(more)
    assert np.array_equal(here.predict_proba(votes), there.predict_proba(more))
    assert np.isnan(there.accuracies_[1])
    assert np.array_equal(np.delete(there.accuracies_, 1), here.accuracies_)


def test_nonsense_is_refused_in_one_line() -> None:
    votes, _ = planted_votes(50, [0.9, 0.8, 0.7], 0.5)
    with pytest.raises(NotFittedError, match=r"call fit\(votes\) first"):
        DenoiserAlone().predict_proba(votes)
    with pytest.raises(SettingsError, match=r"add up to 1\.1, not to 1"):
        DenoiserAlone(class_prior=[0.5, 0.6]).fit(votes)
    with pytest.raises(InputError, match="no source votes"):
        DenoiserAlone().fit(Votes.from_array(np.full((4, 3), -1)))
    with pytest.raises(InputError, match="no votes: 0 documents"):
        DenoiserAlone().fit(votes.take([]))
    fitted = DenoiserAlone(replace(QUICK, epochs=2)).fit(votes)
    with pytest.raises(InputError, match="the model knows the sources"):
        fitted.predict_proba(Votes.from_array(votes.matrix[:, :2]))
    assert fitted.predict_proba(votes.take([])).shape == (0, 2)

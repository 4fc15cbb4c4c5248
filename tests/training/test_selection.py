"""The choice of the epoch: by hidden votes, by gold when asked, or the last."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.settings import Settings
from unruly.training.cotraining import cotrain
from unruly.training.selection import Best, hide_votes
from unruly.votes.votes import Votes


def noisy(n: int = 400, seed: int = 0) -> tuple[Features, Votes, NDArray[np.int64]]:
    """Many features and bad votes: a network that trains on learns the noise by heart."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 2, n)
    values = rng.normal(size=(n, 60)).astype(np.float32)
    values[:, 0] += 2 * gold
    votes = np.where(rng.random((n, 3)) < 0.68, gold[:, None], 1 - gold[:, None])
    votes[rng.random((n, 3)) < 0.5] = -1
    return Features.from_array(values), Votes.from_array(votes), gold


SETTINGS = replace(
    Settings.paper(), epochs=80, hidden=32, learning_rate=0.005, selection="votes", patience=15
)


def test_hidden_votes_stop_training_early_and_do_better() -> None:
    features, votes, _ = noisy(n=1500)
    fresh, fresh_votes, fresh_gold = noisy(n=2000, seed=1)
    stopped = cotrain(features, votes, SETTINGS)
    last = cotrain(features, votes, replace(SETTINGS, selection="last"))
    assert len(stopped.history) < 80
    kept = [epoch for epoch in stopped.history if epoch.kept]
    assert len(kept) == 1
    scores = [epoch.score for epoch in stopped.history]
    assert kept[0].score == max(score for score in scores if score is not None)
    assert kept[0].number == len(stopped.history) - 15
    assert stopped.gold_used == ()

    def right(learner: object) -> float:
        heads = learner.heads(fresh, fresh_votes)  # type: ignore[attr-defined]
        return float((heads.classifier.argmax(1) == fresh_gold).mean())

    assert right(stopped) > right(last)


def test_last_keeps_all_epochs_and_scores_none() -> None:
    features, votes, _ = noisy()
    learner = cotrain(features, votes, replace(SETTINGS, selection="last", epochs=20))
    assert len(learner.history) == 20
    assert learner.history[-1].kept
    assert {epoch.score for epoch in learner.history} == {None}


def test_gold_is_used_only_when_asked_for_and_then_declared() -> None:
    features, votes, _ = noisy()
    valid = noisy(seed=2)
    by_gold = cotrain(features, votes, replace(SETTINGS, selection="gold"), valid=valid)
    assert by_gold.gold_used == ("choice of the epoch: 400 validation documents",)
    best = max(epoch.score or 0 for epoch in by_gold.history)
    assert (by_gold.heads(valid[0], valid[1]).predicted == valid[2]).mean() == pytest.approx(best)
    ignored = cotrain(features, votes, SETTINGS, valid=valid)
    assert ignored.gold_used == ()
    assert ignored.history == cotrain(features, votes, SETTINGS).history
    with pytest.raises(InputError, match='selection = "gold" needs validation documents'):
        cotrain(features, votes, replace(SETTINGS, selection="gold"))
    with pytest.raises(InputError, match="none of the validation documents"):
        cotrain(
            features,
            votes,
            replace(SETTINGS, selection="gold"),
            valid=(valid[0], valid[1], np.full(400, -1)),
        )


def test_about_a_tenth_of_the_matched_documents_is_hidden() -> None:
    features, votes, _ = noisy(n=3000)
    hidden = hide_votes(features, votes, SETTINGS)
    assert not hidden[~votes.covered].any()
    assert 0.07 < hidden.sum() / votes.covered.sum() < 0.13
    assert not np.array_equal(hidden, hide_votes(features, votes, replace(SETTINGS, seed=1)))


def test_repeated_documents_are_hidden_together() -> None:
    features, votes, _ = noisy(n=1600)
    twice = np.tile(np.arange(1600), 2)
    hidden = hide_votes(features.take(twice), Votes.from_array(votes.matrix[twice]), SETTINGS)
    np.testing.assert_array_equal(hidden[:1600], hidden[1600:])
    np.testing.assert_array_equal(hidden[:1600], hide_votes(features, votes, SETTINGS))


def test_too_few_documents_to_judge_by_keeps_the_last() -> None:
    features, votes, _ = noisy(n=60)
    learner = cotrain(features, votes, replace(SETTINGS, epochs=10))
    assert learner.history[-1].kept


def test_patience_zero_never_stops() -> None:
    best = Best(patience=0)
    assert not best.enough(10**6)
    best = Best(patience=3, epoch=4)
    assert [best.enough(t) for t in (5, 6, 7)] == [False, False, True]

"""The choice of the epoch: by held votes, by gold when asked, or the last."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.ledger import GoldUse, Use
from unruly.paper.cotraining import cotrain
from unruly.paper.selection import Best, hold_out
from unruly.settings import PaperSettings
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


SETTINGS = PaperSettings(
    epochs=80,
    hidden=32,
    learning_rate=0.005,
    attention="voters",
    selection="votes",
    patience=15,
)


def test_held_out_votes_stop_training_early_and_do_better() -> None:
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
    assert by_gold.gold_used == (GoldUse(Use.SELECTION, 400, "validation documents"),)
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


def test_about_a_tenth_of_the_matched_documents_is_held_out() -> None:
    features, votes, _ = noisy(n=3000)
    held = hold_out(features, votes, SETTINGS, 0)
    assert not held[~votes.covered].any()
    assert 0.07 < held.sum() / votes.covered.sum() < 0.13
    assert not np.array_equal(held, hold_out(features, votes, SETTINGS, 1))


def test_repeated_documents_are_held_out_together() -> None:
    features, votes, _ = noisy(n=1600)
    twice = np.tile(np.arange(1600), 2)
    held = hold_out(features.take(twice), Votes.from_array(votes.matrix[twice]), SETTINGS, 0)
    np.testing.assert_array_equal(held[:1600], held[1600:])
    np.testing.assert_array_equal(held[:1600], hold_out(features, votes, SETTINGS, 0))


def test_too_few_documents_to_judge_by_keeps_the_last() -> None:
    features, votes, _ = noisy(n=60)
    learner = cotrain(features, votes, replace(SETTINGS, epochs=10))
    assert learner.history[-1].kept


def test_patience_zero_never_stops() -> None:
    best = Best(patience=0)
    assert not best.enough(10**6)
    best = Best(patience=3, epoch=4)
    assert [best.enough(t) for t in (5, 6, 7)] == [False, False, True]


def test_of_equal_epochs_the_earliest_is_kept() -> None:
    best = Best(patience=0)
    for epoch, score in enumerate([0.5, 0.8, 0.8, 0.7, 0.8], 1):
        best.offer(epoch, score, np.array([float(epoch)], np.float32))
    assert (best.epoch, best.score) == (2, 0.8)
    assert best.weights is not None
    assert best.weights.tolist() == [2.0]


def test_the_best_epoch_is_kept_and_not_the_last() -> None:
    features, votes, _ = noisy()
    valid = noisy(seed=2)
    learner = cotrain(features, votes, replace(SETTINGS, selection="gold", patience=0), valid=valid)
    scores = [epoch.score or 0.0 for epoch in learner.history]
    kept = [epoch.number for epoch in learner.history if epoch.kept]
    assert kept == [int(np.argmax(scores)) + 1]
    assert kept != [len(scores)]
    assert scores[-1] < max(scores)
    right = float((learner.heads(valid[0], valid[1]).predicted == valid[2]).mean())
    assert right == pytest.approx(max(scores))

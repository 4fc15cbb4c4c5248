"""How loudly text speaks: as loudly as left-out votes bear out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.recipe.small_task import small_task

from unruly.labelmodels.planted import planted_votes
from unruly.recipe.evidence import Evidence
from unruly.recipe.loudness import heard_posteriors
from unruly.recipe.planted_features import planted_features
from unruly.recipe.posteriors import WHOLE, Ingredients, Posteriors, posteriors, regressions
from unruly.settings import Settings
from unruly.training.compute import computing
from unruly.votes.votes import Votes


def weak_text() -> tuple[Votes, np.ndarray, np.ndarray]:
    """Eight classes, good votes, text that knows little."""
    votes, gold = planted_votes(2000, [0.75] * 24, 0.08, classes=8, seed=4)
    return votes, gold, np.full(8, 1 / 8)


def heard(
    votes: Votes, gold: np.ndarray, prior: np.ndarray, signal: float, parts: Ingredients = WHOLE
) -> Posteriors:
    evidence = Evidence.of(votes, np.full(votes.n, -1))
    with computing(Settings()):
        texts = regressions(
            planted_features(votes, gold, signal=signal, seed=4), votes.m, Settings()
        )
        return heard_posteriors(texts, evidence, prior, Settings(), parts)


def test_weak_text_is_lowered_and_strong_text_is_not() -> None:
    votes, gold, prior = weak_text()
    weak, strong = heard(votes, gold, prior, 0.3), heard(votes, gold, prior, 1.0)
    assert weak.tau < 4 == strong.tau
    loud = heard(votes, gold, prior, 0.3, replace(WHOLE, loudness=False))
    assert loud.tau == 4
    assert (weak.q.argmax(axis=1) == gold).mean() > (loud.q.argmax(axis=1) == gold).mean() + 0.03


def test_what_is_not_kept_leaves_no_trace() -> None:
    """Where tau stays, posteriors and regressions are those of a single run."""
    task = small_task(1500)
    evidence, even = Evidence.of(task.votes, np.full(1500, -1)), np.array([0.5, 0.5])
    with computing(Settings()):
        texts, plain = (regressions(task.features, 2, Settings()) for _ in range(2))
        one = heard_posteriors(texts, evidence, even, Settings())
        other = posteriors(plain, evidence, even, tau=4.0, rounds=8)
        said = [text.out_of_fold() for text in texts]
        alike = [text.out_of_fold() for text in plain]
    assert one.tau == 4
    assert np.array_equal(one.q, other.q)
    assert all(np.array_equal(a, b) for a, b in zip(said, alike, strict=True))


def test_few_documents_cannot_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unruly.recipe.loudness.gain", lambda *_: 1 / 0)
    task = small_task(250)
    evidence = Evidence.of(task.votes, np.full(250, -1))
    with computing(Settings()):
        texts = regressions(task.features, 2, Settings())
        assert heard_posteriors(texts, evidence, np.array([0.5, 0.5]), Settings(rounds=4)).tau == 4


def test_text_is_never_lowered_below_its_own_word(monkeypatch: pytest.MonkeyPatch) -> None:
    told = iter(range(100))
    monkeypatch.setattr("unruly.recipe.loudness.gain", lambda *_: 1 / (1 + next(told)))
    task = small_task(1500)
    evidence = Evidence.of(task.votes, np.full(1500, -1))
    with computing(Settings()):
        texts = regressions(task.features, 2, Settings())
        assert heard_posteriors(texts, evidence, np.array([0.5, 0.5]), Settings(rounds=2)).tau == 1

"""Scores of several fits, by hand; intervals hold what they should."""

from __future__ import annotations

import math

import numpy as np
import pytest

from unruly.peers.gold_scores import gold_scores


def test_the_mean_over_fits_by_hand() -> None:
    gold = np.array([0, 0, 1, 1])
    answers = np.array([[0, 0, 1, 1], [0, 1, 1, 1]])
    scores = gold_scores(gold, answers, m=2)
    assert scores.accuracy.value == pytest.approx(7 / 8)
    assert scores.f1[0].value == pytest.approx((1 + 2 / 3) / 2)
    assert scores.f1[1].value == pytest.approx((1 + 4 / 5) / 2)
    assert scores.macro_f1.value == pytest.approx((scores.f1[0].value + scores.f1[1].value) / 2)


def test_intervals_hold_the_value_and_shrink_with_more_documents() -> None:
    rng = np.random.default_rng(0)
    widths = []
    for n in (50, 5000):
        gold = rng.integers(0, 3, n)
        said = np.where(rng.random(n) < 0.8, gold, (gold + 1) % 3)
        scores = gold_scores(gold, said[None], m=3)
        for share in (scores.accuracy, scores.macro_f1, *scores.f1):
            assert share.low <= share.value <= share.high
        widths.append(scores.macro_f1.high - scores.macro_f1.low)
    assert widths[1] < widths[0] / 5


def test_the_interval_covers_the_truth() -> None:
    """Of 60 samples about 57 should; fewer than 50 would be a broken interval."""
    rng = np.random.default_rng(1)
    truth = gold_scores(*_sample(200_000, rng), m=2).macro_f1.value
    held = 0
    for _ in range(60):
        share = gold_scores(*_sample(150, rng), m=2).macro_f1
        held += share.low <= truth <= share.high
    assert held >= 50


def test_a_class_that_never_occurs_has_no_score() -> None:
    scores = gold_scores(np.array([0, 1]), np.array([[0, 1]]), m=3)
    assert math.isnan(scores.f1[2].value)
    assert scores.macro_f1.value == 1.0


def _sample(
    n: int, rng: np.random.Generator
) -> tuple[
    np.ndarray[tuple[int], np.dtype[np.int64]], np.ndarray[tuple[int, int], np.dtype[np.int64]]
]:
    gold = (rng.random(n) < 0.3).astype(np.int64)
    said = np.where(rng.random(n) < 0.8, gold, 1 - gold)
    return gold, said[None]

"""Estimated source accuracies: near the truth, never by the source's own vote, wider where less is known."""

from __future__ import annotations

import numpy as np
import pytest
from tests.denoising.planted import drawn, skewed

from unruly.denoising.fit import denoise
from unruly.prior import StatedBalance


def true_accuracy(matrix: np.ndarray, truth: np.ndarray) -> np.ndarray:
    voted = matrix >= 0
    return np.asarray(((matrix == truth[:, None]) & voted).sum(axis=0) / voted.sum(axis=0))


def test_intervals_hold_the_truth() -> None:
    held, total = 0, 0
    for seed in range(6):
        features, votes, truth = drawn(800, [0.55, 0.65, 0.75, 0.85, 0.9], seed=seed)
        _, low, high = denoise(features, votes).accuracy.T
        true = true_accuracy(votes.matrix, truth)
        held += int(((low <= true) & (true <= high)).sum())
        total += len(true)
    assert held / total > 0.85


def test_intervals_narrow_as_the_balance_is_known() -> None:
    features, votes, _ = skewed(900, 0.15, [0.7, 0.75, 0.8], signal=0.5)

    def width(balance: StatedBalance | None) -> float:
        _, low, high = denoise(features, votes, balance=balance).accuracy.T
        return float((high - low).mean())

    rough, exact = StatedBalance((0.85, 0.15)), StatedBalance((0.85, 0.15), exact=True)
    assert width(None) > width(rough) > width(exact)


def test_few_votes_leave_wide_intervals() -> None:
    features, votes, _ = drawn(1500, [0.8, 0.8, 0.8])
    matrix = votes.matrix.copy()
    matrix[np.flatnonzero(matrix[:, 0] >= 0)[8:], 0] = -1
    rare = type(votes).from_array(matrix, classes=votes.classes)
    _, low, high = denoise(features, rare).accuracy.T
    assert (high - low)[0] > 1.5 * (high - low)[1]


def test_a_source_is_not_judged_by_its_own_vote() -> None:
    # Two sources on disjoint documents with blank text: nothing else speaks about either.
    from unruly.features.encoder import Features
    from unruly.votes.votes import Votes

    rng = np.random.default_rng(0)
    matrix = np.full((400, 2), -1)
    matrix[:200, 0] = rng.integers(0, 2, 200)
    matrix[200:, 1] = rng.integers(0, 2, 200)
    blank = Features.from_array(rng.normal(size=(400, 3)).astype(np.float32))
    estimate = denoise(blank, Votes.from_array(matrix)).accuracy[:, 0]
    assert estimate == pytest.approx(0.5, abs=0.12)

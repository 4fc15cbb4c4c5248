"""Estimated accuracies of sources and their intervals."""

from __future__ import annotations

import numpy as np
from tests.recipe.small_task import small_task
from tests.recipe.test_posteriors import loop

from unruly.recipe.evidence import Evidence
from unruly.recipe.intervals import source_accuracies


def test_the_true_accuracy_lies_inside_and_the_order_is_right() -> None:
    inside = []
    for seed in range(4):
        task = small_task(800, seed=seed)
        found = source_accuracies(
            loop(task.features, task.votes), Evidence.of(task.votes, np.full(800, -1))
        )
        voted = task.votes.voted
        truth = ((task.votes.matrix == task.gold[:, None]) & voted).sum(axis=0) / voted.sum(axis=0)
        inside.append((found.low <= truth) & (truth <= found.high))
        assert (found.low <= found.estimate).all()
        assert (found.estimate <= found.high).all()
        assert np.corrcoef(found.estimate, truth)[0, 1] > 0.9
    assert np.mean(inside) > 0.9


def test_a_source_heard_rarely_has_a_wide_interval() -> None:
    task = small_task(800)
    matrix = task.votes.matrix.copy()
    heard = np.flatnonzero(matrix[:, -1] >= 0)
    matrix[heard[4:], -1] = -1
    votes = type(task.votes).from_array(matrix)
    found = source_accuracies(loop(task.features, votes), Evidence.of(votes, np.full(800, -1)))
    width = found.high - found.low
    assert width[-1] > 2 * width[-2]


def test_sources_that_never_voted_have_none() -> None:
    task = small_task(200, k=2)
    found = source_accuracies(
        loop(task.features, task.votes), Evidence.of(task.votes, np.full(200, -1))
    ).spread_over(np.array([0, 2]), 4)
    assert np.isnan(found.estimate[[1, 3]]).all()
    assert np.isfinite(found.estimate[[0, 2]]).all()

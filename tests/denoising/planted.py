"""A task with a planted truth: votes, features and the true classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from tests.planted_features import planted_features
from tests.planted_votes import planted_votes

from unruly.features.encoder import Features
from unruly.votes.votes import Votes

Labels = NDArray[np.int64]


def drawn(
    n: int,
    accuracies: list[float],
    coverage: float = 0.3,
    m: int = 2,
    seed: int = 0,
    signal: float = 0.7,
) -> tuple[Features, Votes, Labels]:
    """Features, votes and true classes of n documents."""
    votes, gold = planted_votes(n, accuracies, coverage, classes=m, seed=seed)
    truth = gold.astype(np.int64)
    return planted_features(votes, truth, width=24, signal=signal, seed=seed), votes, truth


def skewed(
    n: int, share: float, accuracies: list[float], seed: int = 0, signal: float = 0.7
) -> tuple[Features, Votes, Labels]:
    """The same with a second class of this share."""
    features, votes, truth = drawn(3 * n, accuracies, seed=seed, signal=signal)
    rng = np.random.default_rng(seed)
    second = rng.permutation(np.flatnonzero(truth == 1))[: round(n * share)]
    first = rng.permutation(np.flatnonzero(truth == 0))[: n - len(second)]
    rows = np.sort(np.concatenate([first, second]))
    return features.take(rows), votes.take(rows), truth[rows]

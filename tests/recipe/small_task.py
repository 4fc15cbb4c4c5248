"""A small planted task, made once for each module that asks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.features.encoder import Features
from unruly.labelmodels.planted import planted_votes
from unruly.recipe.planted_features import planted_features
from unruly.votes.votes import Votes


@dataclass(frozen=True, eq=False)
class Task:
    """Votes and features of documents whose classes are known."""

    features: Features
    votes: Votes
    gold: NDArray[np.int64]


def small_task(n: int = 600, m: int = 2, k: int = 6, seed: int = 0, signal: float = 1.0) -> Task:
    """Sources from poor to good, each voting on a third of the documents."""
    accuracies = np.linspace(0.6, 0.9, k).tolist()
    votes, gold = planted_votes(n, accuracies, 0.35, classes=m, seed=seed)
    features = planted_features(votes, gold, signal=signal, seed=seed)
    return Task(features, votes, gold.astype(np.int64))

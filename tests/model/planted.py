"""Documents with a planted truth: features and votes that lean towards it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.model.weak_classifier import WeakClassifier
from unruly.settings import PaperSettings
from unruly.votes.votes import Votes

WORDS = (("lovely", "song", "great", "voice"), ("subscribe", "channel", "click", "link"))
FILLER = ("the", "a", "to", "my", "this", "of", "video", "please", "and", "it")


@dataclass(frozen=True, eq=False)
class Planted:
    """n documents in m classes; sources are right four times in five."""

    features: NDArray[np.float32]  # (n, d)
    votes: Votes
    gold: NDArray[np.int64]  # (n,)

    @property
    def matrix(self) -> NDArray[np.int8]:
        return self.votes.matrix


def planted(n: int = 200, k: int = 5, m: int = 2, coverage: float = 0.4, seed: int = 0) -> Planted:
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, m, n)
    centres = rng.normal(size=(m, 8)) * 2
    features = (centres[gold] + rng.normal(size=(n, 8))).astype(np.float32)
    other = (gold[:, None] + rng.integers(1, m, (n, k))) % m
    said = np.where(rng.random((n, k)) < 0.8, gold[:, None], other)
    matrix = np.where(rng.random((n, k)) < coverage, said, -1)
    classes = [f"c{r}" for r in range(m)]
    return Planted(features, Votes.from_array(matrix, classes=classes), gold)


def texts(n: int = 120, seed: int = 0) -> tuple[list[str], NDArray[np.int64]]:
    """Short texts of two classes, with words that give them away."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 2, n)
    made = []
    for label in gold:
        telling = rng.choice(WORDS[label], size=2)
        words = [*rng.choice(FILLER, size=5), *telling]
        made.append(" ".join(rng.permutation(words).tolist()))
    return made, gold


def quick(epochs: int = 40, **changes: object) -> WeakClassifier:
    """The paper's method with fewer epochs, so that tests are quick."""
    settings = PaperSettings.from_plain({"attention": "voters", "epochs": epochs, **changes})
    return WeakClassifier(method="paper", settings=settings)

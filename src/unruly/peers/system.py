"""What a system to compare is: it is given documents with votes, and gives back a classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.progress import SILENT, Progress
from unruly.texts.corpus import Corpus
from unruly.training.clean_labels import Gold
from unruly.votes.votes import Votes

Proba = NDArray[np.float64]  # (n, m): the probability of each class


@dataclass(frozen=True, eq=False)
class Documents:
    """n documents as every system sees them: texts, votes and frozen features, and never a true label."""

    corpus: Corpus
    votes: Votes
    features: Features

    def __post_init__(self) -> None:
        sizes = (len(self.corpus), self.votes.n, self.features.n)
        if len(set(sizes)) > 1:
            raise InputError(
                f"{sizes[0]} texts, {sizes[1]} rows of votes and {sizes[2]} rows of features: "
                "they must be of the same documents"
            )

    @property
    def n(self) -> int:
        """How many documents."""
        return self.votes.n

    def take(self, rows: NDArray[np.intp]) -> Documents:
        """Some of the documents only."""
        return Documents(self.corpus.take(rows), self.votes.take(rows), self.features.take(rows))


@dataclass(frozen=True, eq=False)
class Lesson:
    """All that a system may learn from. True labels are in `clean` and `valid`, and nowhere else."""

    documents: Documents
    seed: int = 0
    prior: tuple[float, ...] | None = None  # the share of each class, if the user knows it
    clean: Gold | None = None  # (n,): true classes where they are known, else -1
    valid: tuple[Documents, Gold] | None = None  # to keep the best epoch by; None: the last is kept
    keywords: tuple[tuple[str, ...], ...] | None = None  # of each class, from the rules
    exemplars: NDArray[np.bool_] | None = (
        None  # (n, k): document i is what source j was written for
    )


class Fitted(Protocol):
    """A trained system."""

    @property
    def parameters(self) -> int:
        """How many numbers it has learnt."""

    @property
    def gold_used(self) -> tuple[str, ...]:
        """What true labels were used for, in words; empty if none were."""

    def predict_proba(self, documents: Documents) -> Proba:
        """(n, m): the probability of each class."""


class System(Protocol):
    """A way to a classifier. Its fields are its hyper-parameters; `fit` leaves it unchanged."""

    def fit(self, lesson: Lesson, progress: Progress = SILENT) -> Fitted:
        """Learn from a lesson; the same lesson gives the same classifier."""

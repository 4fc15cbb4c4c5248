"""What the two heads say of documents, and what a trained learner offers to the rest of the house."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from unruly.features.encoder import Features
from unruly.votes.votes import Votes

BOTH, DENOISER, CLASSIFIER = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Heads:
    """What the denoiser and the classifier say of n documents, and who had the last word."""

    denoiser: NDArray[np.float32]  # (n, m); uniform where no source voted
    classifier: NDArray[np.float32]  # (n, m)
    combined: NDArray[np.float32]  # (n, m): the final probabilities
    decided_by: NDArray[np.int8]  # (n,): BOTH (they agree), DENOISER, or CLASSIFIER
    conditional: NDArray[np.float32]  # (n, k): a_ij, 0 where the source abstained

    @property
    def predicted(self) -> NDArray[np.intp]:
        """(n,): the final class of each document."""
        return np.asarray(self.combined.argmax(axis=1))

    @property
    def agreement(self) -> float:
        """The share of documents on which both heads name the same class."""
        return float((self.decided_by == BOTH).mean()) if len(self.decided_by) else 1.0


@dataclass(frozen=True)
class Epoch:
    """One pass over the training documents, as the history keeps it."""

    number: int  # from 1
    l1: float  # the denoiser's loss, mean over D_L (Eq. 5)
    l2: float  # the classifier's loss, mean over D_L (Eq. 6)
    l3: float  # the self-training loss, mean over D_U (Eq. 7)
    total: float  # what Adam saw (Eq. 8), for each document
    changed: int  # pseudo-labels that differ from the epoch before
    score: float | None = None  # what the epoch was selected by; higher is better
    kept: bool = False  # the epoch whose weights the learner carries

    def to_plain(self) -> dict[str, Any]:
        """The same as JSON can hold it; `Epoch(**plain)` reads it back."""
        return asdict(self)


class Learner(Protocol):
    """A trained pair of heads: what the saved model stores and asks."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes, in the order of the columns."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources that it was trained on, in their order."""

    @property
    def reliability(self) -> NDArray[np.float64]:
        """(k,): each source's global reliability, summing to 1 (0 for one that never voted)."""

    @property
    def history(self) -> tuple[Epoch, ...]:
        """The epochs, first to last."""

    @property
    def gold_used(self) -> tuple[str, ...]:
        """What true labels were used for, in words; empty if none were."""

    def heads(self, features: Features, votes: Votes) -> Heads:
        """What both heads say of these documents."""

    def soft_labels(self, votes: Votes, features: Features) -> NDArray[np.float32]:
        """(n, m): the denoised labels of these documents."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything numeric, for safetensors."""

    def facts(self) -> dict[str, Any]:
        """Everything else, for JSON."""

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> Self:
        """The learner again, from its arrays and facts."""

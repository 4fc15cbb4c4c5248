"""The trained pair of networks: what it says of documents, and how it is written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unruly.features.encoder import Features
from unruly.training.heads import Epoch, Heads
from unruly.votes.votes import Votes


@dataclass(frozen=True, eq=False)
class CoTrained:
    """The denoiser and the classifier after co-training: a `Learner`."""

    classes: tuple[str, ...]
    sources: tuple[str, ...]
    reliability: NDArray[np.float64]  # (k,): A
    history: tuple[Epoch, ...]
    gold_used: tuple[str, ...]

    def heads(self, features: Features, votes: Votes) -> Heads:
        raise NotImplementedError

    def soft_labels(self, votes: Votes, features: Features) -> NDArray[np.float32]:
        raise NotImplementedError

    def arrays(self) -> dict[str, NDArray[Any]]:
        raise NotImplementedError

    def facts(self) -> dict[str, Any]:
        raise NotImplementedError

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> Self:
        raise NotImplementedError

"""Algorithm 1: the denoiser and the classifier, trained together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.features.encoder import Features
from unruly.progress import SILENT, Progress
from unruly.settings import Settings
from unruly.training.cotrained import CoTrained
from unruly.votes.votes import Votes


def cotrain(
    features: Features,
    votes: Votes,
    settings: Settings,
    *,
    clean: NDArray[np.int64] | None = None,  # (n,): the true class, or -1 where it is not known
    valid: tuple[Features, Votes, NDArray[np.int64]] | None = None,  # gold, for selection="gold"
    targets: NDArray[np.floating[Any]] | None = None,  # (n, m): soft labels instead of pseudo-labels
    weights: NDArray[np.floating[Any]] | None = None,  # (n,): how much each document counts
    progress: Progress = SILENT,
) -> CoTrained:
    """Train both networks on the votes and features of the same n documents."""
    raise NotImplementedError

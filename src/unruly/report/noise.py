"""How many labels are wrong before denoising, and how many after."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.model.evaluation import majority_shares
from unruly.model.metrics import Share, wilson
from unruly.training.heads import Heads
from unruly.votes.votes import Votes


@dataclass(frozen=True)
class Noise:
    """The share of wrong labels among some covered documents."""

    name: str  # 'all', or the true class
    before: Share  # majority vote; a tie of t classes counts as 1 - 1/t wrong
    denoised: Share  # the denoiser alone: the votes, weighed
    after: Share  # the final labels: votes and text together


def noise(votes: Votes, heads: Heads, gold: NDArray[np.int64]) -> tuple[Noise, ...]:
    """All covered documents with gold, then those of each class; empty when there are none."""
    rows = votes.covered & (gold >= 0)
    if not rows.any():
        return ()
    truth = gold[rows]
    at = np.arange(len(truth))
    wrong = np.stack(
        [
            1 - majority_shares(votes)[rows][at, truth],
            heads.denoiser[rows].argmax(axis=1) != truth,
            heads.predicted[rows] != truth,
        ]
    )  # (3, documents)
    lines = [_line("all", wrong)]
    for r, name in enumerate(votes.classes):
        if (truth == r).any():
            lines.append(_line(name, wrong[:, truth == r]))
    return tuple(lines)


def _line(name: str, wrong: NDArray[np.float64]) -> Noise:
    before, denoised, after = (wilson(float(row.sum()), len(row)) for row in wrong)
    return Noise(name, before, denoised, after)

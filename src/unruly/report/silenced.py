"""What each source adds: it is silenced, and the model asked again. Nothing is trained anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unruly.features.encoder import Features
from unruly.model.metrics import Share, paired_gain
from unruly.progress import SILENT, Progress, stage
from unruly.training.heads import Learner
from unruly.votes.votes import ABSTAIN, Votes

MOST_DOCUMENTS = 2000
MOST_SOURCES = 60  # the rest, with the fewest votes, are not asked about


@dataclass(frozen=True)
class Silenced:
    """One source: the answers that change without it, and with gold the accuracy that it adds."""

    changed: float  # share of documents
    adds: Share | None  # accuracy with it minus accuracy without it


def silenced(
    learner: Learner,
    features: Features,
    votes: Votes,
    gold: NDArray[np.int64] | None = None,
    progress: Progress = SILENT,
) -> Mapping[str, Silenced]:
    """By source name; on a sample where there are many documents."""
    rows = _rows(votes, gold)
    features, votes = features.take(rows), votes.take(rows)
    truth = None if gold is None else gold[rows]
    whole = learner.heads(features, votes).predicted
    asked = np.argsort(-votes.voted.sum(axis=0), kind="stable")[:MOST_SOURCES]
    found = {}
    with stage(progress, "silencing sources", len(asked), "sources"):
        for j in sorted(asked.tolist()):
            without = learner.heads(features, without_source(votes, j)).predicted
            adds = None
            if truth is not None:
                right = (whole == truth).astype(np.float64) - (without == truth)
                adds = paired_gain(right[truth >= 0])
            found[votes.sources[j]] = Silenced(float((whole != without).mean()), adds)
            progress.advance(1)
    return found


def without_source(votes: Votes, j: int) -> Votes:
    """The same votes, but source j abstains everywhere."""
    matrix = votes.matrix.copy()
    matrix[:, j] = ABSTAIN
    soft = {name: values for name, values in votes.soft.items() if name != votes.sources[j]}
    return replace(votes, matrix=matrix, soft=soft)


def _rows(votes: Votes, gold: NDArray[np.int64] | None) -> NDArray[np.int64]:
    rows = np.arange(votes.n) if gold is None else np.flatnonzero(gold >= 0)
    if len(rows) <= MOST_DOCUMENTS:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, MOST_DOCUMENTS, replace=False))

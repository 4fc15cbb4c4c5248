"""A score that needs no gold: how likely a system, reading texts alone, finds votes that it was not shown."""

from __future__ import annotations

import math

import numpy as np

from unruly.peers.system import Documents, Fitted
from unruly.training.confidence import sharpness
from unruly.votes.votes import ABSTAIN, Votes

_TINY = 1e-12


def vote_likelihood(fitted: Fitted, documents: Documents) -> float:
    """The mean log-likelihood of the votes on documents that the system did not learn from; NaN without votes.

    The votes are hidden, the system answers from the texts, and its probabilities, at the sharpness that
    suits it best, are held against the share of each class among the votes. This is what `selection =
    "votes"` judges an epoch by; higher is better, and log(1/m) is what knowing nothing gives.
    """
    rows = np.flatnonzero(documents.votes.covered)
    if not len(rows):
        return math.nan
    asked = documents.take(rows)
    counts = asked.votes.counts().astype(np.float64)  # (n, m)
    proba = fitted.predict_proba(Documents(asked.corpus, _silent(asked.votes), asked.features))
    scores = np.log(np.maximum(proba, _TINY)).astype(np.float32)  # (n, m)
    return sharpness(scores, counts / counts.sum(axis=1, keepdims=True))[1]


def _silent(votes: Votes) -> Votes:
    return Votes(np.full_like(votes.matrix, ABSTAIN), votes.sources, votes.classes, votes.ids)

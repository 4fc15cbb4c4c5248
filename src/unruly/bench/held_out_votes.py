"""A score that needs no gold: how often a system foretells a vote that it was not shown."""

from __future__ import annotations

import math

import numpy as np

from unruly.peers.system import Documents, Fitted
from unruly.votes.votes import ABSTAIN, Votes


def held_out_agreement(fitted: Fitted, documents: Documents) -> float:
    """The share of votes that agree with the answer given without them; NaN where there are none.

    Each source in turn falls silent, the documents on which it had voted are answered from their texts
    and the other votes, and the answers are held against what it had said.
    """
    votes = documents.votes
    hits = total = 0
    for j in range(votes.k):
        rows = np.flatnonzero(votes.voted[:, j])
        if not len(rows):
            continue
        asked = documents.take(rows)
        answers = fitted.predict_proba(
            Documents(asked.corpus, _silenced(asked.votes, j), asked.features)
        ).argmax(axis=1)
        hits += int((answers == votes.matrix[rows, j]).sum())
        total += len(rows)
    return hits / total if total else math.nan


def _silenced(votes: Votes, j: int) -> Votes:
    matrix = votes.matrix.copy()
    matrix[:, j] = ABSTAIN
    soft = {name: values for name, values in votes.soft.items() if name != votes.sources[j]}
    return Votes(matrix, votes.sources, votes.classes, votes.ids, soft)

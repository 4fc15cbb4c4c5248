"""A score that needs no gold: how likely a system finds votes that it was not shown.

The votes of some covered documents are hidden while a system learns, and while it answers. Its answers,
at the sharpness that suits it best, are held against the share of each class among the hidden votes, as
`selection = "votes"` does with epochs. Knowing nothing gives log(1/m); systems that do not read texts can
say no more than how common each class is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unruly.features.encoder import Features
from unruly.peers.system import Documents, Fitted
from unruly.settings import Settings
from unruly.training.confidence import sharpness
from unruly.training.selection import hide_votes
from unruly.votes.votes import ABSTAIN, Votes

_TINY = 1e-12


def hidden_rows(features: Features, votes: Votes, seed: int) -> NDArray[np.bool_]:
    """(n,): the documents whose votes are hidden, about a tenth of the covered ones; none if they are few."""
    return hide_votes(features, votes, replace(Settings(), selection="votes", p=0, seed=seed))


def without_votes(documents: Documents, hidden: NDArray[np.bool_]) -> Documents:
    """The same documents without some votes: all on some documents (n,), or some cells (n, k), (1, k)."""
    votes = documents.votes
    cells = np.broadcast_to(hidden if hidden.ndim == 2 else hidden[:, None], votes.matrix.shape)
    matrix = np.where(cells, ABSTAIN, votes.matrix).astype(np.int8)
    soft = {
        name: np.where(cells[:, [votes.sources.index(name)]], np.float32(1 / votes.m), values)
        for name, values in votes.soft.items()
    }
    silenced = Votes(matrix, votes.sources, votes.classes, votes.ids, soft)
    return Documents(documents.corpus, silenced, documents.features)


def unseen_likelihood(fitted: Fitted, documents: Documents, rows: NDArray[np.bool_]) -> float:
    """The mean log-likelihood of the votes on the hidden documents, given their texts; higher is likelier."""
    asked = without_votes(documents, rows).take(np.flatnonzero(rows))
    proba = fitted.predict_proba(asked)  # (r, m)
    counts = documents.votes.take(rows).counts().astype(np.float64)  # (r, m)
    scores = np.log(np.maximum(proba, _TINY)).astype(np.float32)
    return sharpness(scores, counts / counts.sum(axis=1, keepdims=True))[1]

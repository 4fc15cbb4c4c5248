"""Two kinds of score: accuracy and F1 with 95 % intervals, and without gold the likelihood of held-out votes.

The votes of some covered documents are hidden while a system learns, and while it predicts. Its predictions,
at the temperature that suits them best, are compared with the share of each class among the hidden votes, as
`selection = "votes"` does with epochs. Knowing nothing gives log(1/m); systems that do not read texts can
give no more than how common each class is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unruly.features.encoder import Features
from unruly.model.evaluation import f1_scores
from unruly.paper.selection import hold_out, sharpness
from unruly.settings import PaperSettings
from unruly.statistics import Share, wilson
from unruly.votes.votes import ABSTAIN, Votes
from unruly_lab.peers.label_models import TIE
from unruly_lab.peers.systems import Documents, Fitted, Proba

Labels = NDArray[np.int64]
_BOOTSTRAPS = 400


@dataclass(frozen=True)
class GoldScores:
    """Each a mean over the fits."""

    accuracy: Share
    macro_f1: Share
    f1: tuple[Share, ...]  # of each class


def answer_shares(proba: Proba) -> Proba:
    """(n, m): 1 for the likeliest class, shared out where several tie, however the tie was broken.

    Scoring the shares gives the expected figure of breaking ties by chance, as `unruly evaluate` does.

    >>> answer_shares(np.array([[0.5 + TIE, 0.5 - TIE], [0.9, 0.1]])).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    leading = proba >= proba.max(axis=1, keepdims=True) - 2 * TIE
    return np.asarray(leading / leading.sum(axis=1, keepdims=True))


def gold_scores(gold: Labels, shares: Proba, seed: int = 0) -> GoldScores:
    """Score the answers of s fits, (s, n, m) shares of each class, against gold, (n,).

    The interval of accuracy is Wilson's; that of F1 holds 95 % of 400 bootstrap samples of the documents.

    >>> answers = np.eye(2)[[[0, 0, 1, 0]]]
    >>> scores = gold_scores(np.array([0, 0, 1, 1]), answers)
    >>> print(scores.accuracy, round(scores.f1[0].value, 2))
    75.0% (30.1% to 95.4%) 0.8
    """
    s, n, m = shares.shape
    hits = float(shares[:, np.arange(n), gold].mean(axis=0).sum())
    # Documents with the same label and the same answers are alike: a sample of the documents is a sample
    # of these kinds.
    rows = np.column_stack([gold, shares.transpose(1, 0, 2).reshape(n, s * m)])  # (n, 1 + s·m)
    kinds, counts = np.unique(rows, axis=0, return_counts=True)  # (u, 1 + s·m)
    truth, said = kinds[:, 0].astype(np.int64), kinds[:, 1:].reshape(-1, s, m)
    drawn = np.random.default_rng(seed).multinomial(n, counts / n, _BOOTSTRAPS)  # (b, u)
    whole, *samples = (_class_f1(truth, said, count) for count in (counts, *drawn))  # each (m,)
    spread = np.stack(samples)  # (b, m)
    return GoldScores(
        wilson(hits, n),
        _share(_mean(whole[None])[0], _mean(spread), n),
        tuple(_share(whole[r], spread[:, r], n) for r in range(m)),
    )


def _class_f1(truth: Labels, said: Proba, counts: Labels) -> NDArray[np.float64]:
    """(m,): F1 of each class, the mean over fits; `counts` documents of each of u kinds, said (u, s, m)."""
    m = said.shape[2]
    of_class = np.eye(m)[truth] * counts[:, None]  # (u, m)
    tables = np.einsum("ur,usc->src", of_class, said)  # rows: true class
    return _mean(np.stack([f1_scores(table) for table in tables]).T)


def _mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of each row over what is known in it; NaN where nothing is."""
    known = np.isfinite(values)
    total = np.where(known, values, 0).sum(axis=1)
    count = known.sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _share(value: float, samples: NDArray[np.float64], n: int) -> Share:
    known = samples[np.isfinite(samples)]
    if not len(known):
        return Share(float(value), 0.0, 1.0, n)
    low, high = np.percentile(known, [2.5, 97.5])
    return Share(float(value), float(low), float(high), n)


_TINY = 1e-12


def hidden_rows(features: Features, votes: Votes, seed: int) -> NDArray[np.bool_]:
    """(n,): the documents whose votes are hidden, about a tenth of the covered ones; none if they are few."""
    return hold_out(features, votes, PaperSettings(selection="votes"), seed)


def without_votes(documents: Documents, hidden: NDArray[np.bool_]) -> Documents:
    """The same documents without some votes: all on some documents (n,), or some cells (n, k), (1, k)."""
    votes = documents.votes
    cells = np.broadcast_to(hidden if hidden.ndim == 2 else hidden[:, None], votes.matrix.shape)
    matrix = np.where(cells, ABSTAIN, votes.matrix).astype(np.int8)
    soft = {
        name: np.where(cells[:, [votes.sources.index(name)]], np.float32(1 / votes.m), values)
        for name, values in votes.soft.items()
    }
    return replace(documents, votes=replace(votes, matrix=matrix, soft=soft))


def unseen_likelihood(fitted: Fitted, documents: Documents, rows: NDArray[np.bool_]) -> float:
    """The mean log-likelihood of the votes on the hidden documents, given their texts; higher is likelier."""
    asked = without_votes(documents, rows).take(np.flatnonzero(rows))
    proba = fitted.predict_proba(asked)  # (r, m)
    counts = documents.votes.take(rows).counts().astype(np.float64)  # (r, m)
    scores = np.log(np.maximum(proba, _TINY)).astype(np.float32)
    return sharpness(scores, counts / counts.sum(axis=1, keepdims=True))[1]

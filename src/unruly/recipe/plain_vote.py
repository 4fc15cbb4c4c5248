"""Majority vote in the recipe's own form, for when the guard has it answer.

    ev_iy = strength * (votes of i for y),   centred over y;     text says nothing

Ties and documents without votes go to the class with most votes, by a nudge too small to turn a
majority round. The strength is the log-odds of a vote's being right if sources are as good as they agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unruly.recipe.evidence import Evidence
from unruly.recipe.log_odds import Real64
from unruly.recipe.opinion_pool import OpinionPool
from unruly.recipe.shades import Shades
from unruly.recipe.softmax_regression import SoftmaxRegression

_NUDGE = 0.01  # of a vote


@dataclass(frozen=True, eq=False)
class PlainVote:
    """What the recipe needs to answer by majority vote."""

    pool: OpinionPool  # every vote counts the same
    texts: tuple[SoftmaxRegression, ...]  # which say nothing
    b: Real64  # (m,): the nudge


def plain_vote(evidence: Evidence, texts: Sequence[SoftmaxRegression]) -> PlainVote:
    """Majority vote among the classes that were named."""
    m, k = evidence.m, evidence.k
    strength = _strength(evidence)
    opinion = strength * (np.eye(m) - 1 / m)  # (c, y)
    pool = OpinionPool(
        opinion=np.tile(opinion, (k, 1, 1)).astype(np.float32),
        shades=Shades.plain(k),
        sources=evidence.sources.astype(np.int64),
        classes=evidence.classes.astype(np.int64),
        attention=None,
    )
    silent = tuple(
        replace(text, weights=np.zeros_like(text.weights), bias=np.zeros_like(text.bias))
        for text in texts
    )
    return PlainVote(pool, silent, _NUDGE * strength * np.eye(m)[commonest(evidence)])


def _strength(evidence: Evidence) -> float:
    """log(a (m - 1) / (1 - a)), where two independent sources of accuracy a agree as often as ours do."""
    counts = evidence.counts()
    total = counts.sum(axis=1)
    pairs = float((total * (total - 1)).sum())
    m = max(evidence.m, 2)
    if pairs < 1:
        return float(np.log(3))
    agree = float((counts * (counts - 1)).clip(0).sum()) / pairs
    # agree = a^2 + (1 - a)^2 / (m - 1), solved for the larger a
    root = max((agree - 1 / m) * (m - 1) / m, 0.0) ** 0.5
    a = min(max(1 / m + root, 0.55), 0.95)
    return float(np.log(a * (m - 1) / (1 - a)))


def commonest(evidence: Evidence) -> int:
    """The class with most votes, counting each document's majority once."""
    counts = evidence.counts()[evidence.covered]
    if not len(counts):
        return 0
    top = counts >= counts.max(axis=1, keepdims=True) - 1e-6
    return int((top / top.sum(axis=1, keepdims=True)).sum(axis=0).argmax())

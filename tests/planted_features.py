"""Features with a planted truth, to go with planted votes: how much text knows is known beforehand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.features.encoder import Block, Features
from unruly.votes.votes import Votes

_TOPICS = 3  # of each class
_NOISE = 0.35


def planted_features(
    votes: Votes,
    gold: NDArray[np.integer],
    *,
    signal: float = 1.0,
    echo: float = 0.0,
    width: int = 64,
    encoders: int = 2,
    seed: int = 0,
) -> Features:
    """Features (n, width) of documents with these true classes and votes, shared out over the encoders.

        x_i = signal (centre[y_i] + 0.7 topic[y_i, t_i]) + echo sum over the voters j of i of trace_j + noise

    `signal` is what text knows of the class: 0 is nothing, 1 about 97 % accuracy for a regression on gold
    labels of two classes. `echo` is how loudly the words that fired a source can be heard in the text,
    right or wrong.

    >>> from tests.planted_votes import planted_votes
    >>> votes, gold = planted_votes(100, [0.8, 0.7])
    >>> [block.values.shape for block in planted_features(votes, gold).blocks]
    [(100, 32), (100, 32)]
    """
    if len(gold) != votes.n:
        raise InputError(f"{votes.n} documents have votes, but {len(gold)} a true class")
    if not 1 <= encoders <= width:
        raise InputError(f"{width} features cannot be shared out over {encoders} encoders")
    rng = np.random.default_rng([seed, 1])
    scale = 1 / np.sqrt(width)
    centres = rng.normal(0, scale, (votes.m, width))
    topics = rng.normal(0, 0.7 * scale, (votes.m, _TOPICS, width))
    traces = rng.normal(0, scale, (votes.k, width))
    topic = rng.integers(_TOPICS, size=votes.n)
    values = signal * (centres[gold] + topics[gold, topic]) + echo * (votes.voted @ traces)
    values += rng.normal(0, _NOISE, values.shape)
    parts = np.array_split(values.astype(np.float32), encoders, axis=1)
    return Features(tuple(Block(f"planted {e}", part) for e, part in enumerate(parts)))

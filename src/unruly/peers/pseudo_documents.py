"""Pseudo-documents: bags of words that a class's distribution of directions would write.

Meng et al. (2018), section 4. Around the seeds of each class a von Mises-Fisher distribution is
fitted on the sphere of word vectors. For each pseudo-document a direction d is drawn from it; its words
are drawn from the gamma words nearest to d and from the corpus at large:

    p(w | d) = alpha p_B(w) + (1 - alpha) exp(d'v_w) / sum_{u in V_d} exp(d'v_u)    for w in V_d
    p(w | d) = alpha p_B(w)                                                        for all others

and its label gives every class alpha / m and its own class 1 - alpha besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.peers.vocabulary import PAD
from unruly.peers.von_mises_fisher import VonMisesFisher

Vectors = NDArray[np.float32]  # (V, p), unit length, or zeros for tokens that are no words


@dataclass(frozen=True, eq=False)
class PseudoDocuments:
    """Documents that were made up, with soft labels."""

    ids: NDArray[np.int64]  # (n, length), filled up with PAD
    labels: NDArray[np.float32]  # (n, m)


def expand_seeds(
    vectors: Vectors, seeds: Sequence[Sequence[int]], most: int = 50
) -> list[list[int]]:
    """The seeds of each class, and the words nearest to them.

    As many words t for every class as possible, up to `most`, without two classes sharing one. Words
    are ranked by the sum of their cosines with the seeds; the seeds themselves always stay.

    >>> v = np.array([[0, 0], [1, 0], [0.9, 0.1], [0.1, 0.9], [0, 1]], dtype=np.float32)
    >>> expand_seeds(v, [[1], [4]])
    [[1, 2], [4, 3]]
    """
    ranked = []
    for own in seeds:
        closeness = vectors @ vectors[list(own)].sum(axis=0)  # (V,)
        closeness[list(own)] = np.inf
        closeness[~vectors.any(axis=1)] = -np.inf
        order = np.argsort(-closeness, kind="stable")
        ranked.append([int(w) for w in order[: max(most, len(own))] if closeness[w] > 0])
    t = 0
    while t < most and not _shared([words[: t + 1] for words in ranked]):
        t += 1
    return [words[: max(t, len(own))] for words, own in zip(ranked, seeds, strict=True)]


def _shared(lists: list[list[int]]) -> bool:
    return sum(len(words) for words in lists) > len(set().union(*lists))


def pseudo_documents(
    vectors: Vectors,
    expanded: Sequence[Sequence[int]],
    background: NDArray[np.float64],
    lengths: NDArray[np.int64],
    *,
    count: int = 500,
    gamma: int = 50,
    alpha: float = 0.2,
    rng: np.random.Generator,
) -> PseudoDocuments:
    """`count` documents of each class, as long as those of the corpus (a normal of their lengths)."""
    m, longest = len(expanded), int(lengths.max())
    ids = np.full((m * count, longest), PAD, dtype=np.int64)
    real = np.flatnonzero(vectors.any(axis=1))  # tokens that are words
    for r, own in enumerate(expanded):
        directions = VonMisesFisher.fit(vectors[list(own)]).sample(count, rng)  # (count, p)
        closeness = directions @ vectors[real].T.astype(np.float64)  # (count, words)
        near = np.argsort(-closeness, axis=1, kind="stable")[:, :gamma]
        for i in range(count):
            length = round(float(rng.normal(lengths.mean(), lengths.std())))
            length = min(max(length, 1), longest)
            words = _written(real[near[i]], closeness[i, near[i]], background, length, alpha, rng)
            ids[r * count + i, :length] = words
    own_class = np.repeat(np.arange(m), count)
    return PseudoDocuments(ids, smoothed_labels(own_class, m, alpha))


def smoothed_labels(own: NDArray[np.int64], m: int, alpha: float) -> NDArray[np.float32]:
    """(n, m): 1 - alpha + alpha/m for the own class, alpha/m for the others.

    >>> print(smoothed_labels(np.array([1]), 2, 0.2))
    [[0.1 0.9]]
    """
    return np.asarray(alpha / m + (1 - alpha) * np.eye(m)[own], dtype=np.float32)


def _written(
    near: NDArray[np.int64],
    closeness: NDArray[np.float64],
    background: NDArray[np.float64],
    length: int,
    alpha: float,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """(length,): words from the mixture of the nearest ones and the background."""
    weight = np.exp(closeness)
    common = rng.choice(len(background), size=length, p=background)
    special = rng.choice(near, size=length, p=weight / weight.sum())
    return np.where(rng.random(length) < alpha, common, special)

"""Word vectors from the corpus, and pseudo-documents that a class's distribution of directions would write.

Word vectors. Levy and Goldberg (2014), Neural word embedding as implicit matrix factorization, show that
skip-gram with s negative samples factorises, at its optimum, the matrix of

    M_wc = PMI(w, c) - log s,      PMI(w, c) = log( #(w, c) N / (#(w) #(c)) )

over the pairs of a word and a word near it. Here its positive part is factorised directly, which is
much faster on a processor than stochastic training and gives the same bits every time:
M ~ U S V', and a word's vector is its row of U sqrt(S) (Levy, Goldberg and Dagan, 2015), at unit
length. As there, near words count more than far ones, and the frequency of contexts is smoothed by the
power 0.75.

Pseudo-documents. Meng et al. (2018), section 4. Around the seeds of each class a von Mises-Fisher
distribution f(x; mu, kappa) = c_p(kappa) exp(kappa mu'x) is fitted on the sphere of word vectors (kappa as in
Banerjee et al., 2005, Clustering on the unit hypersphere; samples by Wood, 1994). For each pseudo-document a
direction d is drawn from it; its words are drawn from the gamma words nearest to d and from the corpus at
large:

    p(w | d) = alpha p_B(w) + (1 - alpha) exp(d'v_w) / sum_{u in V_d} exp(d'v_u)    for w in V_d
    p(w | d) = alpha p_B(w)                                                        for all others

and its label gives every class alpha / m and its own class 1 - alpha besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_matrix, csr_matrix

from unruly.errors import InputError
from unruly_lab.peers.vocabulary import PAD, UNKNOWN, TokenIds

MOST_RESULTANT = 0.99  # a single direction would have kappa without bound
Real = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class VonMisesFisher:
    """A mean direction and how closely directions gather around it."""

    mean: Real  # (p,), of length 1
    kappa: float

    @classmethod
    def fit(cls, directions: NDArray[np.floating[Any]]) -> VonMisesFisher:
        """From n unit vectors, (n, p): the maximum-likelihood mean, and kappa approximately.

            mu = s / |s|,  s = sum_i x_i,   r = |s| / n,   kappa = r (p - r^2) / (1 - r^2)

        >>> around = VonMisesFisher.fit(np.array([[1.0, 0.0], [0.0, 1.0]]))
        >>> around.mean.round(3).tolist(), round(around.kappa, 3)
        ([0.707, 0.707], 2.121)
        """
        x = np.asarray(directions, dtype=np.float64)
        total = x.sum(axis=0)  # (p,)
        length = float(np.linalg.norm(total))
        if not len(x) or length < 1e-9:
            raise InputError("the directions cancel out: there is no mean direction to fit")
        r = min(length / len(x), MOST_RESULTANT)
        p = x.shape[1]
        return cls(total / length, r * (p - r**2) / (1 - r**2))

    def sample(self, n: int, rng: np.random.Generator) -> Real:
        """(n, p): independent directions.

        x = w mu + sqrt(1 - w^2) v, with v uniform among the directions at right angles to mu, and w
        drawn by rejection from its density exp(kappa w) (1 - w^2)^((p - 3) / 2).
        """
        w = self._along(n, rng)  # (n,)
        aside = rng.standard_normal((n, len(self.mean)))
        aside -= (aside @ self.mean)[:, None] * self.mean
        aside /= np.linalg.norm(aside, axis=1, keepdims=True)
        return np.asarray(w[:, None] * self.mean + np.sqrt(1 - w**2)[:, None] * aside)

    def _along(self, n: int, rng: np.random.Generator) -> Real:
        """(n,): the cosines between samples and the mean direction, by Wood's envelope."""
        q, k = len(self.mean) - 1, self.kappa
        b = q / (2 * k + np.sqrt(4 * k**2 + q**2))
        x0 = (1 - b) / (1 + b)
        c = k * x0 + q * np.log(1 - x0**2)
        found = np.empty(0)
        while len(found) < n:
            z = rng.beta(q / 2, q / 2, size=n)
            w = (1 - (1 + b) * z) / (1 - (1 - b) * z)
            accepted = k * w + q * np.log(1 - x0 * w) - c >= np.log(rng.random(n))
            found = np.concatenate([found, w[accepted]])
        return found[:n]


Vectors = NDArray[np.float32]
SMOOTHING = 0.75  # of the context distribution, as in word2vec
_OVERSAMPLING, _POWER_ITERATIONS = 10, 4


def word_vectors(
    corpus: TokenIds,
    words: int,
    *,
    size: int = 100,
    window: int = 5,
    negatives: int = 1,
    generator: torch.Generator,
) -> Vectors:
    """(words, size): a vector of length 1 for every word; zeros for words that stand alone.

    >>> ids = np.array([3, 4, 5] * 4 + [6, 7, 8] * 4)
    >>> corpus = TokenIds(ids, np.array([0, 12, 24]))
    >>> v = word_vectors(corpus, 9, size=2, generator=torch.Generator().manual_seed(0))
    >>> bool(v[3] @ v[4] > 0.9), bool(abs(v[3] @ v[6]) < 0.1)
    (True, True)
    """
    matrix = shifted_ppmi(near_pairs(corpus, words, window), negatives)  # (words, words)
    left, strength = leading_singular(matrix, size, generator)
    vectors = np.zeros((words, size), dtype=np.float32)
    vectors[:, : left.shape[1]] = left * np.sqrt(strength)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(length, 1e-12) * (length > 1e-6), dtype=np.float32)


def near_pairs(corpus: TokenIds, words: int, window: int) -> csr_matrix:
    """(words, words): how often two words stand near each other, nearer ones counting more.

    At distance d a pair counts (window + 1 - d) / window, the chance that word2vec's random window
    reaches it. Unknown words keep their place but make no pairs.
    """
    document = np.repeat(np.arange(corpus.n), corpus.lengths)  # (T,)
    total = csr_matrix((words, words), dtype=np.float64)
    for distance in range(1, min(window, len(corpus.ids) - 1) + 1):
        left, right = corpus.ids[:-distance], corpus.ids[distance:]
        real = (document[:-distance] == document[distance:]) & (left > UNKNOWN) & (right > UNKNOWN)
        weight = np.full(int(real.sum()), (window + 1 - distance) / window)
        pairs = coo_matrix((weight, (left[real], right[real])), shape=(words, words))
        total = total + pairs.tocsr()
    return (total + total.T).tocsr()


def shifted_ppmi(pairs: csr_matrix, negatives: int = 1) -> csr_matrix:
    """max(0, PMI - log negatives) of every pair that was seen."""
    counts = pairs.tocoo()
    of_word = np.asarray(pairs.sum(axis=1)).ravel()  # (words,)
    of_context = of_word**SMOOTHING
    share = of_context / max(of_context.sum(), 1e-12)
    pmi = np.log(counts.data / np.maximum(of_word[counts.row] * share[counts.col], 1e-12))
    value = pmi - np.log(negatives)
    keep = value > 0
    return csr_matrix((value[keep], (counts.row[keep], counts.col[keep])), shape=pairs.shape)


def leading_singular(
    matrix: csr_matrix, size: int, generator: torch.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(words, r), (r,): the leading left singular vectors and values, r <= size.

    By random projection with power iterations (Halko, Martinsson and Tropp, 2011).
    """
    n = matrix.shape[0]
    wide = min(n, size + _OVERSAMPLING)
    start = torch.randn(n, wide, generator=generator, dtype=torch.float64).numpy()
    basis = _orthogonal(matrix @ start)  # (n, wide)
    for _ in range(_POWER_ITERATIONS):
        basis = _orthogonal(matrix @ _orthogonal(matrix.T @ basis))
    small = torch.from_numpy(np.ascontiguousarray((matrix.T @ basis).T))  # (wide, n)
    u, s, _ = torch.linalg.svd(small, full_matrices=False)
    left = (torch.from_numpy(basis) @ u).numpy()  # (n, wide)
    return left[:, :size], s.numpy()[:size]


def _orthogonal(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    q: NDArray[np.float64] = torch.linalg.qr(torch.from_numpy(np.ascontiguousarray(columns)))[
        0
    ].numpy()
    return q


@dataclass(frozen=True, eq=False)
class PseudoDocuments:
    """Documents that were made up, with soft labels."""

    ids: NDArray[np.int64]  # (n, length), filled up with PAD
    labels: NDArray[np.float32]  # (n, m)

    def take(self, rows: NDArray[np.bool_]) -> PseudoDocuments:
        """Some of them only."""
        return PseudoDocuments(self.ids[rows], self.labels[rows])


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

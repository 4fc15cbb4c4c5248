"""Word vectors from the corpus itself: a factorisation of shifted positive PMI.

Levy and Goldberg (2014), Neural word embedding as implicit matrix factorization, show that skip-gram
with s negative samples factorises, at its optimum, the matrix of

    M_wc = PMI(w, c) - log s,      PMI(w, c) = log( #(w, c) N / (#(w) #(c)) )

over the pairs of a word and a word near it. Here its positive part is factorised directly, which is
much faster on a processor than stochastic training and gives the same bits every time:
M ~ U S V', and a word's vector is its row of U sqrt(S) (Levy, Goldberg and Dagan, 2015), at unit
length. As there, near words count more than far ones, and the frequency of
contexts is smoothed by the power 0.75.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_matrix, csr_matrix

from unruly.peers.vocabulary import UNKNOWN, TokenIds

Real = NDArray[np.float32]
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
) -> Real:
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

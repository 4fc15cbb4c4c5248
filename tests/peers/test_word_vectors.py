"""Vectors of words: neighbours alike, strangers not, by the matrix that skip-gram factorises."""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import csr_matrix

from unruly.peers.vocabulary import TokenIds, Vocabulary
from unruly.peers.word_vectors import leading_singular, near_pairs, shifted_ppmi, word_vectors


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_pairs_by_hand() -> None:
    corpus = TokenIds(np.array([3, 4, 5, 1, 3, 3]), np.array([0, 3, 6]))
    pairs = near_pairs(corpus, 6, window=2).toarray()
    assert pairs[3, 4] == pairs[4, 3] == 1.0
    assert pairs[3, 5] == 0.5  # two words apart: half
    assert pairs[3, 3] == 2.0  # both ways
    assert not pairs[1].any()  # unknown words make no pairs
    assert pairs[5, 3] == 0.5  # the next document is not near


def test_ppmi_by_hand() -> None:
    pairs = csr_matrix(np.array([[0.0, 4.0], [4.0, 8.0]]))
    found = shifted_ppmi(pairs).toarray()
    share = np.array([4.0, 12.0]) ** 0.75
    share /= share.sum()
    assert np.isclose(found[0, 1], np.log(4 / (4 * share[1])))
    assert np.isclose(found[1, 0], np.log(4 / (12 * share[0])))
    assert found[1, 1] == max(0, np.log(8 / (12 * share[1])))
    assert (shifted_ppmi(pairs, 5).toarray() <= found).all()


def test_the_factorisation_is_the_exact_one() -> None:
    dense = np.random.default_rng(0).random((30, 30))
    left, strength = leading_singular(csr_matrix(dense), 5, generator())
    u, s, _ = np.linalg.svd(dense)
    assert np.allclose(strength[:1], s[:1])
    assert np.isclose(abs(left[:, 0] @ u[:, 0]), 1)


def test_words_of_one_topic_are_near_and_the_bits_are_the_same_each_time() -> None:
    rng = np.random.default_rng(0)
    topics = (("goal", "team", "coach", "cup"), ("song", "voice", "tune", "choir"))
    lists = [rng.choice(topics[i % 2], 8).tolist() for i in range(200)]
    vocabulary = Vocabulary.learn(lists)
    corpus = vocabulary.encode(lists)
    v = word_vectors(corpus, len(vocabulary), size=4, generator=generator())
    at = vocabulary.numbers
    assert v[at["goal"]] @ v[at["team"]] > 0.8
    assert v[at["goal"]] @ v[at["song"]] < 0.2
    again = word_vectors(corpus, len(vocabulary), size=4, generator=generator())
    assert v.tobytes() == again.tobytes()

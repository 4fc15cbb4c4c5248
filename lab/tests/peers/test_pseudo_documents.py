"""Directions: fitted ones by hand, sampled ones by their law.

Vectors of words: neighbours alike, strangers not, by the matrix that skip-gram factorises.

Pseudo-documents: the mixture that they are drawn from, their labels, their lengths.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from scipy.special import ive

from unruly.errors import InputError
from unruly_lab.peers.pseudo_documents import (
    VonMisesFisher,
    expand_seeds,
    leading_singular,
    near_pairs,
    pseudo_documents,
    shifted_ppmi,
    smoothed_labels,
    word_vectors,
)
from unruly_lab.peers.vocabulary import PAD, TokenIds, Vocabulary


def mean_cosine(p: int, kappa: float) -> float:
    """The law's resultant length: A_p(kappa) = I_{p/2}(kappa) / I_{p/2-1}(kappa)."""
    return float(ive(p / 2, kappa) / ive(p / 2 - 1, kappa))


@pytest.mark.parametrize(
    ("p", "kappa"), [(3, 1.0), (3, 20.0), (10, 5.0), (100, 66.0), (100, 400.0)]
)
def test_samples_gather_around_the_mean_as_kappa_says(p: int, kappa: float) -> None:
    mean = np.ones(p) / np.sqrt(p)
    x = VonMisesFisher(mean, kappa).sample(20_000, np.random.default_rng(0))
    assert np.allclose(np.linalg.norm(x, axis=1), 1)
    total = x.mean(axis=0)
    assert np.linalg.norm(total) == pytest.approx(mean_cosine(p, kappa), abs=0.01)
    assert total @ mean / np.linalg.norm(total) > 0.99


@pytest.mark.parametrize(("p", "kappa"), [(10, 8.0), (50, 60.0), (100, 66.0)])
def test_a_fit_finds_kappa_again(p: int, kappa: float) -> None:
    mean = np.eye(p)[0]
    x = VonMisesFisher(mean, kappa).sample(20_000, np.random.default_rng(1))
    found = VonMisesFisher.fit(x)
    assert found.kappa == pytest.approx(kappa, rel=0.05)
    assert found.mean @ mean > 0.99


def test_banerjees_formula() -> None:
    x = np.array([[1.0, 0, 0], [0.6, 0.8, 0], [0.6, -0.8, 0]])
    r = (1 + 0.6 + 0.6) / 3
    assert VonMisesFisher.fit(x).kappa == pytest.approx(r * (3 - r**2) / (1 - r**2))


def test_a_single_direction_has_a_bounded_kappa() -> None:
    assert np.isfinite(VonMisesFisher.fit(np.eye(5)[:1]).kappa)


def test_directions_that_cancel_out_are_refused() -> None:
    with pytest.raises(InputError, match="cancel out"):
        VonMisesFisher.fit(np.array([[1.0, 0], [-1.0, 0]]))


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_pairs_by_hand() -> None:
    corpus = TokenIds(np.array([3, 4, 5, 1, 3, 3]), np.array([0, 3, 6]))
    pairs = near_pairs(corpus, 6, window=2).toarray()
    assert pairs[3, 4] == pairs[4, 3] == 1.0
    assert pairs[3, 5] == 0.5  # two words apart: half
    assert pairs[3, 3] == 2.0  # both variants
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


def circle(words: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Three special tokens without a direction, then words around half a circle."""
    angle = np.linspace(0, np.pi, words)
    return np.concatenate([np.zeros((3, 2)), np.stack([np.cos(angle), np.sin(angle)], 1)]).astype(
        np.float32
    )


@pytest.mark.parametrize(("alpha", "near_share"), [(0.0, 1.0), (0.2, 0.8), (0.8, 0.2)])
def test_words_come_from_the_nearest_and_from_the_background(
    alpha: float, near_share: float
) -> None:
    vectors = circle(20)
    background = np.zeros(23)
    background[12] = 1.0  # in the middle: near to neither class
    made = pseudo_documents(
        vectors,
        [[3, 4], [21, 22]],
        background,
        np.full(50, 30),
        count=40,
        gamma=4,
        alpha=alpha,
        rng=np.random.default_rng(0),
    )
    assert made.ids.shape == (80, 30)
    assert np.mean(made.ids == 12) == pytest.approx(1 - near_share, abs=0.04)
    own = made.ids[:40][made.ids[:40] != 12]
    assert (np.abs(own - 3.5) < 6).mean() > 0.95
    assert np.allclose(made.labels.sum(axis=1), 1)
    assert made.labels[0, 0] == pytest.approx(1 - alpha + alpha / 2)


def test_lengths_follow_those_of_the_corpus() -> None:
    lengths = np.random.default_rng(1).integers(5, 40, 300)
    made = pseudo_documents(
        circle(20),
        [[3], [22]],
        np.full(23, 1 / 23),
        lengths,
        count=200,
        gamma=5,
        alpha=0.0,
        rng=np.random.default_rng(0),
    )
    found = (made.ids != PAD).sum(axis=1)
    assert found.mean() == pytest.approx(lengths.mean(), rel=0.1)
    assert found.max() <= lengths.max()
    assert found.min() >= 1


def test_seeds_grow_until_two_classes_would_share_a_word() -> None:
    first, second = expand_seeds(circle(9), [[3], [11]])
    assert not set(first) & set(second)
    assert first[0] == 3
    assert second[0] == 11
    assert len(first) == len(second) > 1
    assert expand_seeds(circle(9), [[3], [11]], most=0) == [[3], [11]]


def test_smoothing_by_hand() -> None:
    assert smoothed_labels(np.array([2]), 4, 0.2)[0].tolist() == pytest.approx(
        [0.05, 0.05, 0.85, 0.05]
    )

"""Pseudo-documents: the mixture that they are drawn from, their labels, their lengths."""

from __future__ import annotations

import numpy as np
import pytest

from unruly.peers.pseudo_documents import expand_seeds, pseudo_documents, smoothed_labels
from unruly.peers.vocabulary import PAD


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

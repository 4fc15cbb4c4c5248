"""How sure the predictions are: learnt from labels, from a prior around tau."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.denoising.planted import drawn

from unruly.denoising.fit import denoise
from unruly.denoising.temperature import _SIGMA, learnt_temperature
from unruly.statistics import softmax


def planted(n: int, temperature: float, m: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Scores whose probabilities mean what they say at this temperature, and labels drawn by them."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 3 * temperature, (n, m))
    sums = softmax(scores / temperature).cumsum(axis=1)
    return scores, (sums > rng.random((n, 1))).argmax(axis=1)


@pytest.mark.parametrize("true", [1.5, 3.0, 5.0])
def test_many_labels_find_it(true: float) -> None:
    scores, labels = planted(4000, true)
    assert learnt_temperature(scores, labels, np.ones(4000), 3.0) == pytest.approx(true, rel=0.08)


@given(st.integers(0, 10_000))
def test_it_is_the_best_of_all(seed: int) -> None:
    """Against a grid; weights count by their shares alone, and together as Kish's effective size."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    scores, labels = planted(n, float(rng.uniform(0.5, 8)), seed=seed)
    weights = rng.random(n) * 7
    found = learnt_temperature(scores, labels, weights, 3.0)
    share = weights / weights.sum()

    def objective(t: float) -> float:
        p = softmax(scores / t)[np.arange(n), labels]
        by_labels = share @ np.log(p) / (share @ share)
        return float(by_labels - np.log(t / 3) ** 2 / (2 * _SIGMA**2))

    best = max(objective(t) for t in np.geomspace(0.3, 30, 400))
    assert objective(found) > best - 1e-3
    assert learnt_temperature(scores, labels, weights * 5, 3.0) == pytest.approx(found, rel=1e-4)


@given(st.integers(0, 10_000), st.floats(-30, 30))
def test_what_is_added_to_all_scores_of_a_document_changes_nothing(seed: int, added: float) -> None:
    scores, labels = planted(30, 3.0, seed=seed)
    alone = learnt_temperature(scores, labels, np.ones(30), 3.0)
    scores[::2] += added
    assert learnt_temperature(scores, labels, np.ones(30), 3.0) == pytest.approx(alone, rel=1e-4)


@given(st.integers(0, 10_000), st.integers(0, 60))
def test_one_label_more_moves_it_a_little(seed: int, n: int) -> None:
    scores, labels = planted(n + 1, 3.0, seed=seed)
    scores = np.clip(scores, -6, 6)
    fewer = learnt_temperature(scores[:n], labels[:n], np.ones(n), 3.0)
    more = learnt_temperature(scores, labels, np.ones(n + 1), 3.0)
    assert abs(np.log(more / fewer)) < 0.4


def test_labels_change_how_sure_it_is_by_posteriors_that_have_not_seen_them() -> None:
    """Text and votes are clear, and right: with labels it is surer, and its errors of calibration are smaller."""
    features, votes, truth = drawn(400, [0.85, 0.85, 0.9], signal=1.2)
    clean = np.where(np.arange(400) < 60, truth, -1)
    plain, taught = denoise(features, votes), denoise(features, votes, clean=clean)
    assert plain.temperature == plain.tau
    assert taught.temperature < 0.9 * taught.tau

    def off(temperature: float) -> float:
        answered = taught.heads(features, votes)
        sharp = np.log(answered.combined[60:].astype(float)) * taught.temperature
        q = softmax(sharp / temperature)
        right = q.argmax(axis=1) == truth[60:]
        return float(abs(q.max(axis=1).mean() - right.mean()))

    assert off(taught.temperature) < off(taught.tau)
    noise = np.random.default_rng(0).integers(0, 2, 400)
    wrong = np.where(np.arange(400) < 60, noise, -1)
    assert denoise(features, votes, clean=wrong).temperature > taught.tau

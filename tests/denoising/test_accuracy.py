"""Estimated source accuracies: near the truth, never by the source's own vote, wider where less is known."""

from __future__ import annotations

import numpy as np
import pytest
from tests.denoising.planted import drawn, skewed

from unruly.denoising.fit import denoise
from unruly.prior import StatedBalance


def true_accuracy(matrix: np.ndarray, truth: np.ndarray) -> np.ndarray:
    voted = matrix >= 0
    return np.asarray(((matrix == truth[:, None]) & voted).sum(axis=0) / voted.sum(axis=0))


def test_intervals_hold_the_truth_and_are_not_everything() -> None:
    held, total, widths = 0, 0, []
    for seed in range(6):
        features, votes, truth = drawn(800, [0.55, 0.65, 0.75, 0.85, 0.9], seed=seed)
        _, low, high = denoise(features, votes).accuracy.T
        true = true_accuracy(votes.matrix, truth)
        held += int(((low <= true) & (true <= high)).sum())
        total += len(true)
        widths.append((high - low).mean())
    assert held / total > 0.85
    assert np.mean(widths) < 0.42  # under an assumed balance: 0 to 1 would hold every truth


def test_intervals_narrow_as_the_balance_is_known() -> None:
    features, votes, _ = skewed(900, 0.15, [0.7, 0.75, 0.8], signal=0.5)

    nothing = denoise(features, votes)
    rough = denoise(features, votes, balance=StatedBalance((0.85, 0.15)))
    exact = denoise(features, votes, balance=StatedBalance((0.85, 0.15), exact=True))
    # Widths have other parts too, which differ from fit to fit; the balance's own part is the spread.
    assert np.trace(nothing.spread) > 2 * np.trace(rough.spread) > 0
    assert np.trace(exact.spread) == 0
    widths = [float((m.accuracy[:, 2] - m.accuracy[:, 1]).mean()) for m in (nothing, rough, exact)]
    assert widths[0] > 1.2 * max(widths[1:])


def test_few_votes_leave_wide_intervals() -> None:
    features, votes, _ = drawn(1500, [0.8, 0.8, 0.8])
    matrix = votes.matrix.copy()
    matrix[np.flatnonzero(matrix[:, 0] >= 0)[8:], 0] = -1
    rare = type(votes).from_array(matrix, classes=votes.classes)
    _, low, high = denoise(features, rare).accuracy.T
    assert (high - low)[0] > 1.5 * (high - low)[1]


def test_a_source_is_not_judged_by_its_own_vote() -> None:
    # Two sources on disjoint documents with blank text: nothing else speaks about either.
    from unruly.features.encoder import Features
    from unruly.votes.votes import Votes

    rng = np.random.default_rng(0)
    matrix = np.full((400, 2), -1)
    matrix[:200, 0] = rng.integers(0, 2, 200)
    matrix[200:, 1] = rng.integers(0, 2, 200)
    blank = Features.from_array(rng.normal(size=(400, 3)).astype(np.float32))
    estimate = denoise(blank, Votes.from_array(matrix)).accuracy[:, 0]
    assert estimate == pytest.approx(0.5, abs=0.12)


def test_no_number_of_votes_makes_an_estimate_without_labels_exact() -> None:
    def width(n: int) -> float:
        features, votes, _ = drawn(n, [0.8, 0.8, 0.8])
        exact = StatedBalance((0.5, 0.5), exact=True)
        _, low, high = denoise(features, votes, balance=exact).accuracy.T
        return float((high - low).mean())

    small, large = width(400), width(6400)
    assert large > 0.6 * small
    assert large > 2 * 1.96 * (0.8 * 0.2 * 0.03) ** 0.5 * 0.8


def test_some_votes_of_a_source_are_judged_as_all_of_them_are() -> None:
    held, total, widths = 0, 0, []
    for seed in range(4):
        features, votes, truth = drawn(800, [0.55, 0.65, 0.75, 0.85, 0.9], seed=seed)
        model = denoise(features, votes)
        combined = model.heads(features, votes).combined
        for j, name in enumerate(votes.sources):
            rows = np.flatnonzero(votes.voted[:, j])
            earned = np.eye(2)[votes.matrix[rows, j]]
            whole = model.vote_accuracy(combined, votes, name, rows, earned)
            assert whole.value == pytest.approx(model.accuracy[j, 0], abs=0.02)  # text is in-sample
            some = np.arange(len(rows)) % 7 == 0
            part = model.vote_accuracy(combined, votes, name, rows[some], earned[some])
            right = float((votes.matrix[rows[some], j] == truth[rows[some]]).mean())
            held, total = held + (part.low <= right <= part.high), total + 1
            widths.append((part.high - part.low, whole.high - whole.low))
    assert held / total > 0.85
    some_width, whole_width = np.mean(widths, axis=0)
    assert whole_width < some_width < 0.55  # fewer votes tell less, but something


def test_a_source_that_the_model_does_not_know_is_judged_by_all_votes() -> None:
    features, votes, _ = drawn(400, [0.7, 0.8, 0.9])
    model = denoise(features, votes)
    combined = model.heads(features, votes).combined
    rows = np.flatnonzero(votes.voted[:, 0])
    earned = np.eye(2)[votes.matrix[rows, 0]]
    own = model.vote_accuracy(combined, votes, votes.sources[0], rows, earned)
    other = model.vote_accuracy(combined, votes, "someone else", rows, earned)
    assert other.value > own.value  # its own vote speaks for it

"""Estimated source accuracies: near the truth, never by the source's own vote, wider where less is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta
from tests.denoising.planted import drawn, skewed

from unruly.denoising.accuracy import (
    balance_spread,
    other_shifts,
    source_accuracies,
    vote_accuracy,
)
from unruly.denoising.balance import Balance
from unruly.denoising.em import expectation_maximisation
from unruly.denoising.fit import _task, denoise
from unruly.features.encoder import Block, Features
from unruly.findings import BalanceOrigin
from unruly.prior import StatedBalance
from unruly.settings import Settings
from unruly.statistics import softmax


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
    assert np.mean(widths) < 0.45  # under an assumed balance: 0 to 1 would hold every truth


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
            credit = np.eye(2)[votes.matrix[rows, j]]
            whole = model.vote_accuracy(combined, votes, name, rows, credit)
            assert whole.value == pytest.approx(model.accuracy[j, 0], abs=0.02)  # text is in-sample
            some = np.arange(len(rows)) % 7 == 0
            part = model.vote_accuracy(combined, votes, name, rows[some], credit[some])
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
    credit = np.eye(2)[votes.matrix[rows, 0]]
    own = model.vote_accuracy(combined, votes, votes.sources[0], rows, credit)
    other = model.vote_accuracy(combined, votes, "someone else", rows, credit)
    assert other.value > own.value  # its own vote speaks for it


def test_the_interval_is_the_sum_of_what_is_not_known() -> None:
    """Votes that might have fallen otherwise, encoders that differ, the source's own vote, and the balance."""
    rng = np.random.default_rng(3)
    v, m = 40, 3
    scores, own = rng.normal(size=(v, m)), 0.5 * rng.normal(size=(v, m))
    encoders = [scores + 0.3 * rng.normal(size=(v, m)) for _ in range(3)]
    credit = np.arange(v), rng.integers(0, m, v), rng.uniform(0.8, 1, v)
    direction = np.array([0.4, -0.1, -0.3])
    spread = np.outer(direction, direction)

    def value(given: np.ndarray, taken_out: np.ndarray = own) -> float:
        return vote_accuracy(given, taken_out, credit, v, np.zeros((m, m))).value

    mean = softmax(scores - own)[credit[0], credit[1]] @ credit[2] / v
    worth = v / (1 + 0.03 * (v - 1))  # votes that err together
    votes = beta(mean * worth + 1, (1 - mean) * worth + 1).var()
    between = np.var([value(one) for one in encoders])
    by_itself = (value(scores, np.zeros((v, m))) - mean) ** 2
    others = np.mean([(value(scores + sign * direction) - mean) ** 2 for sign in (1, -1)])
    half = 1.959963984540054 * (votes + between + by_itself + others) ** 0.5
    found = vote_accuracy(scores, own, credit, v, spread, encoders)
    np.testing.assert_allclose(
        [found.value, found.low, found.high, found.n],
        [mean, mean - half, mean + half, v],
        rtol=1e-6,
    )
    for sure, share in ((30.0, 1.0), (-30.0, 0.0)):  # an interval of a share stays one
        scores[:, 0] = sure
        end = vote_accuracy(scores, 0 * own, (np.arange(v), 0 * credit[1], np.ones(v)), v, spread)
        assert end.value == pytest.approx(share)
        assert 0 <= end.low <= end.high <= 1


def test_a_source_is_judged_by_what_the_fit_knows_without_its_votes() -> None:
    """The same from matrices of all documents, with two encoders that tell different things."""
    features, votes, _ = drawn(300, [0.6, 0.7, 0.8], m=3)
    one, other = np.hsplit(features.matrix(), 2)
    both = Features((Block("one", one), Block("other", other)))
    task = _task(both, votes, np.full(300, -1), np.arange(3), Settings(), seed=0)
    start = Balance(np.full(3, 1 / 3), 10.0, BalanceOrigin.ASSUMED)
    fitted = expectation_maximisation(task, start, Settings())
    spread = balance_spread(other_shifts(fitted))
    for j, found in enumerate(source_accuracies(fitted, task.votes, spread)):
        rows = np.flatnonzero(votes.voted[:, j])
        cast = votes.matrix[rows, j].astype(int)
        scores = [3 * lp[rows] + fitted.ev[rows] + fitted.b for lp in fitted.by_encoder]
        mean, own = np.mean(scores, axis=0), fitted.behaviour.log_likelihoods[j, cast]
        credit = np.arange(len(rows)), cast, np.ones(len(rows))
        expected = vote_accuracy(mean, own, credit, len(rows), spread, scores)
        np.testing.assert_allclose(
            [found.value, found.low, found.high, found.n],
            [expected.value, expected.low, expected.high, len(rows)],
            atol=1e-5,
        )
        alike = vote_accuracy(mean, own, credit, len(rows), spread, scores[:1])
        assert found.high - found.low > alike.high - alike.low  # encoders differ here


def test_a_small_doubt_about_the_balance_counts_by_the_slope() -> None:
    """Of all directions that the spread leaves open, together."""
    rng = np.random.default_rng(4)
    v, m = 40, 3
    scores, credit = rng.normal(size=(v, m)), (np.arange(v), rng.integers(0, m, v), np.ones(v))
    spread = 1e-6 * np.cov(rng.normal(size=(m, 9)))
    step = 1e-4 * np.eye(m)

    def value(given: np.ndarray) -> float:
        return vote_accuracy(given, 0 * scores, credit, v, np.zeros((m, m))).value

    slope = np.array([(value(scores + one) - value(scores - one)) / 2e-4 for one in step])
    halves = [
        vote_accuracy(scores, 0 * scores, credit, v, some) for some in (spread, np.zeros((m, m)))
    ]
    variance, without = (((one.high - one.low) / 2 / 1.959963984540054) ** 2 for one in halves)
    assert variance - without == pytest.approx(slope @ spread @ slope, rel=1e-3)


def test_where_the_balance_decides_all_a_certain_posterior_claims_nothing() -> None:
    """Shares that are only assumed put all documents into one class: other shares would put them into the other."""
    scores = np.tile([-8.0, 8.0], (60, 1))
    for c in (0, 1):
        credit = (np.arange(60), np.full(60, c), np.ones(60))
        spread = 400 * np.array([[1.0, -1.0], [-1.0, 1.0]])  # sd of the log-odds: 40
        found = vote_accuracy(scores, 0 * scores, credit, 60, spread)
        assert found.value == pytest.approx(c, abs=0.01)
        assert (found.low, found.high) == (0, 1)
        known = vote_accuracy(scores, 0 * scores, credit, 60, spread / 1e4)
        assert known.high - known.low < 0.2


def test_of_no_votes_nothing_is_known() -> None:
    none = np.zeros((0, 2))
    empty = (np.zeros(0, int), np.zeros(0, int), np.zeros(0))
    found = vote_accuracy(none, none, empty, 0, np.zeros((2, 2)))
    assert np.isnan(found.value)
    assert (found.low, found.high, found.n) == (0, 1, 0)


def test_the_spread_is_how_far_b_moves_for_other_shares() -> None:
    """The first step of Newton's method towards each of the alternatives, at the shares of the answers."""
    features, votes, _ = skewed(600, 0.2, [0.7, 0.75, 0.8])
    task = _task(features, votes, np.full(600, -1), np.arange(2), Settings(), seed=0)
    start = Balance(np.array([0.7, 0.3]), 20.0, BalanceOrigin.STATED)
    fitted = expectation_maximisation(task, start, Settings())
    moves = other_shifts(fitted)
    mass = fitted.q.mean(axis=0)
    wanted = np.array(replace(start, shares=mass).alternatives())
    step = 1e-4
    for move, shares in zip(moves, wanted, strict=True):
        # b moved a little that way: the class shares and the cost of the move make up for the difference
        after = softmax(fitted.scores + fitted.b + step * move).mean(axis=0)
        np.testing.assert_allclose(
            (after - mass) / step + move / 20.0, shares - mass, atol=1e-3 * np.abs(move).max()
        )
    np.testing.assert_allclose(balance_spread(moves), np.einsum("ac,ad->cd", moves, moves) / 2)

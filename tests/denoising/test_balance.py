"""The class balance: votes' shares, right votes, labels as a control variate says, no cliff between them, and the constraint."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.denoising.balance import (
    ASSUMED_LABELS,
    EXACT,
    Balance,
    _slopes,
    from_labels,
    match_marginals,
    right_vote_shares,
    vote_shares,
)
from unruly.denoising.behaviour import Behaviour, evidence
from unruly.findings import BalanceOrigin
from unruly.statistics import softmax
from unruly.votes.sparse import SparseVotes
from unruly.votes.votes import Votes

ASSUMED = Balance(np.array([0.5, 0.5]), ASSUMED_LABELS, BalanceOrigin.ASSUMED)


def test_votes_shares_count_each_document_once_and_no_class_is_zero() -> None:
    votes = SparseVotes.of(Votes.from_array([[0, 0, 0], [1, -1, -1], [-1, -1, -1]]))
    assert vote_shares(votes).tolist() == [0.5, 0.5]
    one_sided = SparseVotes.of(Votes.from_array([[0], [0], [0]], classes=["a", "b"]))
    assert vote_shares(one_sided).tolist() == [3.5 / 4, 0.5 / 4]


def test_documents_without_a_vote_say_nothing_of_the_balance() -> None:
    cast = [[0], [0], [1]]
    covered = SparseVotes.of(Votes.from_array(cast))
    beside = SparseVotes.of(Votes.from_array(cast + [[-1]] * 50))
    assert vote_shares(beside).tolist() == vote_shares(covered).tolist() == [2.5 / 4, 1.5 / 4]


BLIND = np.full((3, 2, 2), 0.5)  # rates of three sources whose votes change no score


def test_right_votes_by_hand() -> None:
    votes = SparseVotes.of(Votes.from_array([[0, 1, -1], [0, -1, 1], [0, 1, -1]]))
    scores = np.log(np.array([[0.9, 0.1], [0.6, 0.4], [0.6, 0.4]]))
    found = right_vote_shares(votes, scores, Behaviour(BLIND, np.array([1.0, 0.5, 1.0])))
    first = 3 * 0.7  # three votes at the mean of 0.9, 0.6, 0.6
    second = 0.5 * 2 * 0.25 + 0.4  # two at half the weight, at the mean of 0.1 and 0.4, and one
    assert found == pytest.approx(np.array([first + 0.5, second + 0.5]) / (first + second + 1))


def test_a_vote_is_judged_without_its_own_evidence() -> None:
    votes = SparseVotes.of(Votes.from_array([[0], [1], [1]]))
    rates = np.array([[[0.8, 0.2], [0.2, 0.8]]])
    behaviour = Behaviour(rates, np.ones(1))
    text = np.log(np.array([[0.5, 0.5], [0.9, 0.1], [0.7, 0.3]]))
    scores = text + evidence(votes, behaviour.log_likelihoods)
    bare = right_vote_shares(votes, text, Behaviour(BLIND[:1], np.ones(1)))
    assert right_vote_shares(votes, scores, behaviour) == pytest.approx(bare)


def test_a_partial_vote_counts_only_where_no_whole_vote_stands() -> None:
    """The second source says "b or c" of both documents; the first has a whole vote on the first of them."""
    votes = Votes.from_array([[0, 1], [-1, 1]], classes=["a", "b", "c"])
    soft = {votes.sources[1]: np.array([[0, 0.5, 0.5]] * 2, np.float32)}
    sparse = SparseVotes.of(replace(votes, soft=soft))
    scores = np.log(np.array([[0.6, 0.2, 0.2], [0.1, 0.6, 0.3]]))
    found = right_vote_shares(sparse, scores, Behaviour(np.full((2, 3, 3), 1 / 3), np.ones(2)))
    right = 0.6 + 0.3  # the accuracy of "b or c" on the second document
    counted = np.array([0.6, right * 2 / 3, right / 3]) + 0.5
    assert found == pytest.approx(counted / counted.sum())


@given(st.integers(0, 10_000))
def test_right_votes_follow_their_classes_and_ignore_silence_and_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k, m = int(rng.integers(1, 30)), 3, 3
    cast = rng.integers(-1, m, (n, k))
    scores = rng.normal(0, 2, (n, m))
    rates = rng.dirichlet(np.ones(m), (k, m))
    discount = rng.random(k)

    def found(
        matrix: np.ndarray, given: np.ndarray, by: np.ndarray, weight: np.ndarray
    ) -> np.ndarray:
        sparse = SparseVotes.from_matrix(matrix, m)
        return right_vote_shares(sparse, given, Behaviour(by, weight))

    shares = found(cast, scores, rates, discount)
    assert shares.sum() == pytest.approx(1)
    assert (shares > 0).all()
    silent = np.column_stack([cast, np.full(n, -1)])
    with_silent = found(silent, scores, rates[[0, 1, 2, 0]], np.append(discount, 1.0))
    assert with_silent == pytest.approx(shares)
    rows, sources, classes = rng.permutation(n), rng.permutation(k), rng.permutation(m)
    moved = found(cast[rows][:, sources], scores[rows], rates[sources], discount[sources])
    assert moved == pytest.approx(shares)
    back = np.append(np.argsort(classes), -1)  # the new number of each class
    renamed = found(back[cast], scores[:, classes], rates[:, classes][:, :, classes], discount)
    assert renamed == pytest.approx(shares[classes])


def test_labels_pull_a_wrong_balance_to_the_right_one() -> None:
    labels = np.array([0] * 90 + [1] * 10)
    blind = np.full((1000, 2), 0.5)
    found = from_labels(ASSUMED, lambda _: blind, np.arange(100), labels, np.full(100, 0.01))
    assert found.origin is BalanceOrigin.LABELS
    assert 100 < found.labels < ASSUMED_LABELS + 100  # the assumption counts for less
    assert (10 * 0.5 + 100 * 0.9) / 110 < found.shares[0] < 0.9


def test_labels_that_agree_leave_the_assumption_its_weight() -> None:
    labels = np.array([0, 1] * 20)
    blind = np.full((1000, 2), 0.5)
    found = from_labels(ASSUMED, lambda _: blind, np.arange(40), labels, np.full(40, 1 / 40))
    assert found.labels == pytest.approx(ASSUMED_LABELS + 40)
    assert found.shares.tolist() == [0.5, 0.5]


def test_labels_of_one_class_tell_as_much_as_they_are_many() -> None:
    blind, twenty = np.full((1000, 2), 0.5), np.full(20, 1 / 20)
    found = from_labels(ASSUMED, lambda _: blind, np.arange(20), np.zeros(20, int), twenty)
    assert found.labels > 20
    assert found.shares[0] > (10 * 0.5 + 20) / 30


def test_good_predictions_make_a_label_worth_several() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random(2000) < 0.2).astype(int)
    q = np.eye(2)[np.where(rng.random(2000) < 0.95, truth, 1 - truth)]
    rows = rng.permutation(2000)[:40]
    good = from_labels(ASSUMED, lambda _: q, rows, truth[rows], np.full(40, 1 / 40))
    blind = from_labels(
        ASSUMED, lambda _: np.full((2000, 2), 0.5), rows, truth[rows], np.full(40, 1 / 40)
    )
    assert good.labels - ASSUMED_LABELS > 1.5 * (blind.labels - ASSUMED_LABELS)
    assert abs(good.shares[1] - truth.mean()) < 0.05


def test_a_few_labels_without_an_error_claim_no_certainty() -> None:
    truth = np.arange(400) % 2
    rows = np.arange(10)
    found = from_labels(ASSUMED, lambda _: np.eye(2)[truth], rows, truth[rows], np.full(10, 0.1))
    assert 10 < found.labels - ASSUMED_LABELS < 200


def test_wrong_predictions_do_no_harm() -> None:
    labels = np.array([0] * 18 + [1] * 2)
    wrong = np.tile([0.1, 0.9], (500, 1))
    wrong[::2] = [0.9, 0.1]
    found = from_labels(ASSUMED, lambda _: wrong, np.arange(20), labels, np.full(20, 1 / 20))
    blind = np.full((500, 2), 0.5)
    plain = from_labels(ASSUMED, lambda _: blind, np.arange(20), labels, np.full(20, 1 / 20))
    assert found.shares[0] == pytest.approx(plain.shares[0], abs=0.05)


def test_weights_undo_how_documents_were_drawn() -> None:
    rng = np.random.default_rng(1)
    truth = (rng.random(4000) < 0.1).astype(int)
    q = np.full((4000, 2), 0.5)
    found = []
    for seed in range(200):
        draw = np.random.default_rng(seed)
        rare, common = np.flatnonzero(truth == 1), np.flatnonzero(truth == 0)
        rows = np.concatenate([draw.permutation(rare)[:20], draw.permutation(common)[:20]])
        weights = np.concatenate([np.full(20, len(rare) / 20), np.full(20, len(common) / 20)])
        start = Balance(np.array([0.5, 0.5]), 1e-9, BalanceOrigin.ASSUMED)
        known = from_labels(start, lambda _: q, rows, truth[rows], weights / weights.sum())
        found.append(known.shares[1])
    assert np.mean(found) == pytest.approx(truth.mean(), abs=0.002)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_one_label_more_moves_the_shares_a_little(share: float) -> None:
    labels = (np.random.default_rng(0).random(60) < share).astype(int)
    q = np.full((500, 2), 0.5)
    shares = [ASSUMED.shares[0]]
    for size in range(1, 60):
        weights = np.full(size, 1 / size)
        known = from_labels(ASSUMED, lambda _: q, np.arange(size), labels[:size], weights)
        shares.append(float(known.shares[0]))
    assert np.abs(np.diff(shares)).max() < 0.1


def test_an_exact_balance_has_no_doubt_and_few_labels_much() -> None:
    exact = Balance(np.array([0.2, 0.8]), math.inf, BalanceOrigin.STATED)
    assert exact.deviation.tolist() == [0, 0]
    few, many = (Balance(np.array([0.2, 0.8]), n, BalanceOrigin.LABELS) for n in (10.0, 1000.0))
    assert (few.deviation > 5 * many.deviation).all()
    assert all(shares.sum() == pytest.approx(1) for shares in few.alternatives())


def test_one_label_leaves_assumed_shares_almost_as_open_as_before() -> None:
    q = np.full((500, 2), 0.5)
    one = from_labels(ASSUMED, lambda _: q, np.arange(1), np.array([0]), np.ones(1))
    assert one.before is BalanceOrigin.ASSUMED
    assert one.weight > 0.8
    assert (one.deviation > 0.85 * ASSUMED.deviation).all()
    labels = np.arange(200) % 2
    many = from_labels(ASSUMED, lambda _: q, np.arange(200), labels, np.full(200, 1 / 200))
    assert many.weight < 0.1
    assert (many.deviation < 0.4 * ASSUMED.deviation).all()


def test_a_class_that_no_label_has_shown_keeps_a_share() -> None:
    q = np.tile([0.6, 0.35, 0.05], (400, 1))
    start = Balance(np.array([0.6, 0.35, 0.05]), ASSUMED_LABELS, BalanceOrigin.ASSUMED)
    labels = np.arange(50) % 2
    found = from_labels(start, lambda _: q, np.arange(50), labels, np.full(50, 1 / 50))
    assert 0.5 / 51 < found.shares[2] < 0.05


def test_the_doubt_of_shares_is_that_of_the_log_odds_of_so_many_labels() -> None:
    """Of n labels and two more: 1 / sqrt((n + 2) s (1 - s)); shares that nobody gave have Student's tails."""
    shares = np.array([0.2, 0.5, 0.3])
    plain = 1 / np.sqrt(20 * shares * (1 - shares))
    np.testing.assert_allclose(Balance(shares, 18, BalanceOrigin.STATED).deviation, plain)
    assumed = Balance(shares, 18, BalanceOrigin.ASSUMED).deviation
    np.testing.assert_allclose(assumed, 3**0.5 * plain)
    joined = Balance(shares, 18, BalanceOrigin.LABELS, BalanceOrigin.ASSUMED, 0.25).deviation
    np.testing.assert_allclose(joined, 1.5**0.5 * plain)
    stated = Balance(shares, 18, BalanceOrigin.LABELS, BalanceOrigin.STATED, 0.25)
    np.testing.assert_allclose(stated.deviation, plain)
    for c, (higher, lower) in enumerate(batched(stated.alternatives(), 2)):
        for other, sign in ((higher, 1), (lower, -1)):
            assert other.sum() == pytest.approx(1)
            odds = other[c] / (1 - other[c]) / (shares[c] / (1 - shares[c]))
            assert np.log(odds) == pytest.approx(sign * plain[c])
    certain = Balance(np.array([1.0, 0.0]), 98, BalanceOrigin.STATED).deviation
    np.testing.assert_allclose(certain, 1 / np.sqrt(100 * 1e-3))  # large, and finite


def batched(values: tuple[np.ndarray, ...], size: int) -> list[tuple[np.ndarray, ...]]:
    return [values[i : i + size] for i in range(0, len(values), size)]


@pytest.mark.parametrize("labels", [[0, 0, 0, 1], [2] * 6, [0, 1, 2] * 5])
def test_labels_beside_predictions_that_tell_nothing_are_joined_by_number(
    labels: list[int],
) -> None:
    """They are worth as many as they are; the assumption as many as Student's distribution leaves it."""
    start = Balance(np.array([0.5, 0.3, 0.2]), 10.0, BalanceOrigin.ASSUMED)
    count = len(labels)
    blind = np.tile(start.shares, (300, 1))
    found = from_labels(
        start, lambda _: blind, np.arange(count), np.array(labels), np.full(count, 1 / count)
    )
    told = np.maximum(np.bincount(labels, minlength=3) / count, 0.5 / (count + 1))
    told /= told.sum()
    variance = (start.shares * (1 - start.shares)).sum() / 12
    apart = ((found.shares - start.shares) ** 2).sum()
    before = 10 / (1 + apart / (3 * variance))
    assert found.labels == pytest.approx(before + count, rel=5e-3)
    assert found.weight == pytest.approx(before / (before + count), rel=1e-2)
    expected = (before * start.shares + count * told) / (before + count)
    np.testing.assert_allclose(found.shares, expected, rtol=2e-3)


def test_labels_beside_perfect_predictions_are_worth_what_the_doubt_leaves() -> None:
    """Ten labels as predicted: an error of half a label is allowed for, and they are worth 110 with it."""
    truth = np.arange(400) % 2
    found = from_labels(
        ASSUMED, lambda _: np.eye(2)[truth], np.arange(10), truth[:10], np.full(10, 0.1)
    )
    assert found.labels == pytest.approx(ASSUMED_LABELS + 110)


def test_labels_correct_predictions_by_how_far_these_follow_them() -> None:
    """The estimate is that of a regression through the labels, and one label's worth of a slope of one."""
    rng = np.random.default_rng(0)
    truth = (rng.random(3000) < 0.3).astype(int)
    second = np.clip(0.3 + 0.3 * (truth - 0.3) + rng.normal(0, 0.1, 3000), 0, 1)
    q = np.column_stack([1 - second, second])
    rows, weights = np.arange(50), np.where(np.arange(50) < 25, 0.01, 0.03)
    alone = Balance(np.array([0.5, 0.5]), 1e-9, BalanceOrigin.STATED)
    found = from_labels(alone, lambda _: q, rows, truth[rows], weights)
    x, y = second[rows], truth[rows].astype(float)
    x_mean, y_mean, extra = weights @ x, weights @ y, 0.03 / 2  # two columns hold it twice
    slope = (weights @ ((x - x_mean) * (y - y_mean)) + extra) / (
        weights @ (x - x_mean) ** 2 + extra
    )
    slope = min(slope, 1.0)
    estimate = y_mean + slope * (second.mean() - x_mean)
    assert found.shares[1] == pytest.approx(estimate, abs=1e-6)


def test_a_class_that_is_predicted_badly_does_not_borrow_the_trust_in_others() -> None:
    rng = np.random.default_rng(0)
    truth = np.eye(3)[rng.integers(0, 3, 400)]
    q = 0.9 * truth + 0.1 / 3
    q[:, 2] = rng.permutation(q[:, 2])  # the third class is guessed
    slopes = _slopes(truth, q, np.full(400, 1 / 400))
    assert slopes[:2].min() > 0.95
    assert slopes[2] < 0.2
    few = _slopes(truth[:2], q[:2], np.full(2, 0.5))
    assert few.min() > 0.5, "two labels say little against the predictions"


def scores_of(seed: int, m: int, sharp: float, n: int = 200) -> np.ndarray:
    return sharp * np.random.default_rng(seed).normal(size=(n, m))


@given(st.integers(0, 50), st.integers(2, 5), st.floats(0.1, 4))
def test_an_exact_balance_is_met(seed: int, m: int, sharp: float) -> None:
    scores = scores_of(seed, m, sharp)
    pi = np.random.default_rng(seed).dirichlet(np.full(m, 5.0)) * 0.9 + 0.1 / m
    b = match_marginals(scores, pi, np.zeros(m), EXACT)
    assert softmax(scores + b).mean(axis=0) == pytest.approx(pi, abs=1e-4)


@given(st.integers(0, 50), st.floats(0.01, 1000))
def test_the_gradient_vanishes(seed: int, kappa: float) -> None:
    scores, pi, b0 = scores_of(seed, 3, 2.0), np.array([0.5, 0.3, 0.2]), np.array([0.4, -0.4, 0.0])
    b = match_marginals(scores, pi, b0, kappa)
    mass = softmax(scores + b).mean(axis=0)
    assert pi - mass == pytest.approx((b - b0) / kappa, abs=1e-5)


def test_firmer_is_nearer() -> None:
    scores, pi = scores_of(0, 2, 1.0) + np.array([1.0, 0.0]), np.array([0.2, 0.8])
    off = [
        abs(softmax(scores + match_marginals(scores, pi, np.zeros(2), kappa)).mean(axis=0)[0] - 0.2)
        for kappa in (1e-9, 1.0, 10.0, 100.0, EXACT)
    ]
    assert (np.diff(off) < 0).all()
    assert off[0] == pytest.approx(abs(softmax(scores).mean(axis=0)[0] - 0.2))


def test_clear_scores_withstand_a_wrong_balance_and_vague_ones_follow_it() -> None:
    side = np.sign(np.random.default_rng(0).normal(size=400) + 1.0)[
        :, None
    ]  # about 84 % on one side
    clear, vague = side * [12.0, -12.0], side * [0.2, -0.2]
    even = np.array([0.5, 0.5])

    def shift(scores: np.ndarray) -> np.ndarray:
        b = match_marginals(scores, even, np.zeros(2), 20.0)
        return np.asarray(softmax(scores + b).argmax(axis=1))

    assert (shift(clear) == clear.argmax(axis=1)).all()
    assert (
        abs(softmax(vague + match_marginals(vague, even, np.zeros(2), 20.0)).mean(axis=0)[0] - 0.5)
        < 0.02
    )


def test_no_documents_leave_the_shift_alone() -> None:
    assert match_marginals(np.zeros((0, 2)), np.array([0.5, 0.5]), np.ones(2), 1.0).tolist() == [
        1,
        1,
    ]

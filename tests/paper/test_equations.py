"""Each equation by hand, and the hand-written gradients against automatic differentiation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from unruly.paper.attention import (
    Attention,
    Segments,
    cast,
    even_split,
    global_reliability,
    outcomes,
    softmax_by_row,
    sum_by_source,
)
from unruly.paper.classifier import Classifier
from unruly.paper.cotraining import Adam, Networks, Shape
from unruly.paper.denoiser import Attended, attend, contested, denoiser_step, rule_scores
from unruly.paper.losses import likelihood_loss, self_training_loss, total_loss, without_tiny
from unruly.paper.pseudo_labels import majority_labels, pseudo_labels
from unruly.paper.selection import sharpness
from unruly.paper.temporal_ensemble import TemporalEnsemble
from unruly.settings import PaperSettings
from unruly.statistics import softmax
from unruly.votes.sparse import SparseVotes

M = 3
Matrix = NDArray[np.int8]
Floats = NDArray[np.float32]
matrices = arrays(
    np.int8, st.tuples(st.integers(1, 8), st.integers(1, 6)), elements=st.integers(-1, M - 1)
)
few = settings(max_examples=40, deadline=None)


def random(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def cells_of(matrix: Matrix, attention: str) -> SparseVotes:
    return outcomes(matrix, M, attention, np.asarray((matrix >= 0).any(axis=0)))


def network(cells: SparseVotes) -> Attention:
    """With a vote vector for every pair, so that a cell's column is its pair's number."""
    return Attention(random(5, 4), random(4, seed=2), random(cells.k * (M + 1), 4, seed=1))


def conditional(net: Attention, features: NDArray[np.float32], cells: SparseVotes) -> Floats:
    scores, _ = net.scores(features, cells.row, cells.onehot.indices)
    full = np.zeros((cells.n, cells.k), dtype=np.float32)
    full[cells.row, cells.source] = softmax_by_row(scores, cells.row) * cast(cells)
    return full


@given(matrices, st.sampled_from(["all", "voters"]))
@few
def test_eq_1_scores_each_cell_by_its_source_outcome_and_document(
    matrix: Matrix, attention: str
) -> None:
    cells = cells_of(matrix, attention)
    net, features = network(cells), random(len(matrix), 5, seed=3)
    scores, hidden = net.scores(features, cells.row, cells.onehot.indices)
    for v, (i, j, r) in enumerate(zip(cells.row, cells.source, cells.outcome, strict=True)):
        assert matrix[i, j] == (r if r < M else -1)
        layer = np.tanh(features[i] @ net.w1 + net.votes[j * (M + 1) + r])
        np.testing.assert_allclose(hidden[v], layer, atol=1e-4)
        assert scores[v] == pytest.approx(float(layer @ net.w2), abs=1e-4)


@given(matrices)
@few
def test_reliability_over_those_who_voted_sums_to_one(matrix: Matrix) -> None:
    cells = cells_of(matrix, "voters")
    a = conditional(network(cells), random(len(matrix), 5), cells)
    voted = matrix >= 0
    assert not a[~voted].any()
    np.testing.assert_allclose(a.sum(axis=1), voted.any(axis=1).astype(float), atol=1e-5)


@given(matrices)
@few
def test_reliability_over_all_sources_is_a_softmax_masked_afterwards(matrix: Matrix) -> None:
    cells = cells_of(matrix, "all")
    net, features = network(cells), random(len(matrix), 5, seed=3)
    a = conditional(net, features, cells)
    voting = (matrix >= 0).any(axis=0)
    for i, row in enumerate(matrix):
        if not (row >= 0).any():
            assert not a[i].any()
            continue
        pair = np.arange(len(row)) * (M + 1) + np.where(row < 0, M, row)
        q = np.tanh(features[i] @ net.w1 + net.votes[pair]) @ net.w2
        share = np.where(voting, np.exp(q), 0)
        np.testing.assert_allclose(a[i], share / share.sum() * (row >= 0), atol=1e-4)


def test_softmax_over_all_leaks_mass_to_the_silent() -> None:
    matrix = np.array([[0, -1, -1, 1], [1, 1, -1, 0]], dtype=np.int8)
    cells = outcomes(matrix, M, "all", np.array([True, True, False, True]))
    assert (cells.row == 0).sum() == 3  # the third source never votes, and takes no part
    equal = softmax_by_row(np.zeros(len(cells.row), np.float32), cells.row)
    np.testing.assert_allclose((equal * cast(cells))[:3], [1 / 3, 0, 1 / 3])


def test_the_softmax_of_large_scores_neither_overflows_nor_vanishes() -> None:
    scores = np.array([500, 500, -500, -501], np.float32)
    share = softmax_by_row(scores, np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(share, [0.5, 0.5, 0.7310586, 0.2689414], rtol=1e-5)


@pytest.mark.parametrize("attention", ["all", "voters"])
def test_documents_without_a_vote_take_no_part_in_the_softmax(attention: str) -> None:
    matrix = np.array([[-1, -1], [0, -1], [-1, -1]], dtype=np.int8)
    assert set(outcomes(matrix, M, attention, np.ones(2, bool)).row.tolist()) == {1}


@given(matrices)
@few
def test_global_reliability_is_the_mean_over_documents(matrix: Matrix) -> None:
    cells = cells_of(matrix, "voters")
    a = conditional(network(cells), random(len(matrix), 5), cells)
    received = sum_by_source(cells, a[cells.row, cells.source])
    big_a = global_reliability(received, even_split(cells), "per-document")
    covered = (matrix >= 0).any(axis=1)
    if covered.any():
        np.testing.assert_allclose(big_a, a[covered].mean(axis=0), atol=1e-5)
        assert big_a.sum() == pytest.approx(1)
    else:
        assert not big_a.any()


def test_an_even_split_counts_voters_and_not_silences() -> None:
    matrix = np.array([[0, -1, 1], [-1, -1, 1]], dtype=np.int8)
    for attention in ("voters", "all"):
        assert even_split(cells_of(matrix, attention)).tolist() == [0.5, 0.0, 1.5]


def test_per_vote_reliability_does_not_reward_voting_often() -> None:
    matrix = np.array([[0, -1]] * 9 + [[0, 0]], dtype=np.int8)
    cells = cells_of(matrix, "voters")
    received = sum_by_source(cells, softmax_by_row(np.zeros(len(cells.row), np.float32), cells.row))
    even = even_split(cells)
    assert global_reliability(received, even, "per-document").round(2).tolist() == [0.95, 0.05]
    assert global_reliability(received, even, "per-vote").round(2).tolist() == [0.5, 0.5]


@given(matrices)
@few
def test_eq_2_is_the_weighted_vote(matrix: Matrix) -> None:
    reliability = np.random.default_rng(0).dirichlet(np.ones(matrix.shape[1]))
    labels = pseudo_labels(reliability, SparseVotes.from_matrix(matrix, M))
    for i, row in enumerate(matrix):
        weight = [sum(reliability[j] for j, vote in enumerate(row) if vote == r) for r in range(M)]
        if (row >= 0).any():
            assert labels[i].argmax() == int(np.argmax(weight))
            assert labels[i].sum() == pytest.approx(1)
        else:
            assert not labels[i].any()


def test_ties_are_shared_not_given_to_the_first_class() -> None:
    votes = SparseVotes.from_matrix(np.array([[0, 2], [1, 1]], dtype=np.int8), M)
    assert majority_labels(votes).tolist() == [[0.5, 0, 0.5], [0, 1, 0]]


def test_eq_3_by_hand() -> None:
    cells = cells_of(np.array([[0, 0, 1], [-1, -1, -1]], dtype=np.int8), "voters")
    scores = rule_scores(np.array([0.2, 0.3, 0.5], np.float32), cells)
    np.testing.assert_allclose(scores, np.array([[0.5, 0.5, 0], [0, 0, 0]]))
    np.testing.assert_allclose(
        softmax(scores)[0], np.exp([0.5, 0.5, 0]) / np.exp([0.5, 0.5, 0]).sum(), rtol=1e-5
    )
    np.testing.assert_allclose(softmax(scores)[1], 1 / 3)


def test_the_paper_case_study_reliability_turns_two_votes_against_one() -> None:
    matrix = np.array([[1, 1, 0]], dtype=np.int8)  # pleased, friendly: positive; awful: negative
    votes = SparseVotes.from_matrix(matrix, 2)
    assert majority_labels(votes)[0].tolist() == [0, 1]
    assert pseudo_labels(np.array([0.1074, 0.1074, 0.2482]), votes)[0].tolist() == [1, 0]


@given(matrices, st.sampled_from(["all", "voters"]))
@few
def test_contested_documents_are_those_whose_cells_differ(matrix: Matrix, attention: str) -> None:
    cells = cells_of(matrix, attention)
    for i, differs in enumerate(contested(cells)):
        assert differs == (len(set(cells.outcome[cells.row == i].tolist())) > 1)


def test_eq_4_by_hand_and_its_gradient_by_autograd() -> None:
    x = random(9, 5, seed=5)
    target, ensemble = softmax(random(9, M, seed=6)), softmax(random(9, M, seed=7))
    weight = (np.arange(9) % 2).astype(np.float32)
    ours = [random(*shape) for shape in ((5, 4), (4,), (4, M), (M,))]
    parts = [torch.from_numpy(part.copy()).requires_grad_() for part in ours]
    logits = (torch.from_numpy(x) @ parts[0] + parts[1]).relu() @ parts[2] + parts[3]
    z = logits.softmax(1)
    l2 = -(torch.from_numpy(target) * z.log()).sum()
    l3 = (((z - torch.from_numpy(ensemble)) ** 2).sum(1) * torch.from_numpy(weight)).sum()
    (l2 + 0.3 * l3).backward()  # type: ignore[no-untyped-call]
    theta, into = Classifier(*ours), Classifier(*(np.empty_like(part) for part in ours))
    scores, hidden = theta.logits(x)
    np.testing.assert_allclose(scores, logits.detach().numpy(), atol=1e-5)
    loss2, slope, probability = likelihood_loss(scores, target)
    loss3, more = self_training_loss(probability, ensemble, weight)
    theta.backward(into, x, hidden, slope + np.float32(0.3) * more)
    assert loss2 == pytest.approx(l2.item(), rel=1e-5)
    assert loss3 == pytest.approx(l3.item(), rel=1e-5)
    for part, got in zip(parts, (into.w1, into.b1, into.w2, into.b2), strict=True):
        assert part.grad is not None
        np.testing.assert_allclose(got, part.grad.numpy(), atol=1e-5, rtol=1e-4)


def test_some_units_are_the_network_without_the_others() -> None:
    theta = Classifier(random(5, 4), random(4), random(4, M), random(M))
    x, units = random(7, 5, seed=3), np.array([1, 3])
    part = theta.some(units)
    full = Classifier(
        theta.w1, theta.b1, theta.w2 * np.isin(np.arange(4), units)[:, None], theta.b2
    )
    np.testing.assert_allclose(part.logits(x)[0], full.logits(x)[0], atol=1e-5)
    into = Classifier(*(np.ones_like(w) for w in (theta.w1, theta.b1, theta.w2, theta.b2)))
    into.put(units, part)
    np.testing.assert_array_equal(into.w1[:, units], part.w1)
    assert not into.w1[:, [0, 2]].any()
    assert not into.b1[[0, 2]].any()
    assert not into.w2[[0, 2]].any()


@pytest.mark.parametrize("attention", ["voters", "all"])
def test_eqs_1_3_and_5_and_their_gradient_by_autograd(attention: str) -> None:
    matrix = np.array([[0, 1, -1, 2], [1, 1, 0, -1], [2, 0, 0, 1]], dtype=np.int8)
    cells = cells_of(matrix, attention)
    net, x, target = network(cells), random(3, 5, seed=8), softmax(random(3, M, seed=9))
    w1, w2, votes = (
        torch.from_numpy(part.copy()).requires_grad_() for part in (net.w1, net.w2, net.votes)
    )
    y = torch.from_numpy(matrix).long()
    voted = y >= 0
    pair = torch.where(voted, y, M) + torch.arange(4) * (M + 1)
    q = torch.tanh((torch.from_numpy(x) @ w1)[:, None] + votes[pair]) @ w2
    runs = voted if attention == "voters" else torch.ones_like(voted)
    a = q.masked_fill(~runs, -1e30).softmax(1) * voted
    onehot = torch.nn.functional.one_hot(y.clamp(min=0), M) * voted[..., None]
    log_z = (a[..., None] * onehot).sum(1).log_softmax(1)
    loss = -(torch.from_numpy(target) * log_z).sum()
    loss.backward()  # type: ignore[no-untyped-call]
    documents = Attended(np.arange(3), x, cells, cells.onehot.indices, 4 * (M + 1), 3)
    into = Attention(*(np.empty_like(part) for part in (net.w1, net.w2, net.votes)))
    attending = attend(net, documents)
    np.testing.assert_allclose(attending.received, a.detach().sum(0).numpy(), atol=1e-5)
    value = denoiser_step(net, into, documents, attending, target, 0.5)
    assert value == pytest.approx(loss.item(), rel=1e-5)
    for part, got in ((w1, into.w1), (w2, into.w2), (votes, into.votes)):
        assert part.grad is not None
        np.testing.assert_allclose(got * 2, part.grad.numpy(), atol=1e-6, rtol=1e-4)
    assert documents.contested_votes.counts().tolist() == [
        [(row == r).sum() for r in range(M)] for row in matrix
    ]


@given(st.integers(0, 40), st.integers(1, 6), st.integers(0, 999))
@few
def test_segments_sum_each_group(v: int, groups: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    group, weights, values = rng.integers(0, groups, v), random(v), random(v, 3, seed=1)
    expected = np.zeros((groups, 3), np.float32)
    np.add.at(expected, group, weights[:, None] * values)
    np.testing.assert_allclose(Segments(group, groups).sums(weights, values), expected, atol=1e-5)


def test_eq_8_weighs_the_losses_by_name() -> None:
    assert total_loss(PaperSettings(c1=0.5, c3=0.2), 1.0, 10.0, 100.0) == pytest.approx(23.5)


def test_numbers_that_no_sum_would_feel_become_zero() -> None:
    assert without_tiny(np.array([[1e-35, -1e-35, -1e-20, 0.5]], np.float32)).tolist() == [
        [0.0, 0.0, pytest.approx(-1e-20), 0.5]
    ]


@given(st.floats(0, 0.95), st.integers(1, 12))
@few
def test_temporal_ensemble_is_a_weighted_mean_of_the_past(alpha: float, epochs: int) -> None:
    past = np.random.default_rng(1).dirichlet(np.ones(M), size=(epochs, 4)).astype(np.float32)
    ensemble = TemporalEnsemble(4, M, alpha)
    for t in range(1, epochs + 1):
        p = ensemble.update(past[t - 1], t)
    weight = np.array([(1 - alpha) * alpha ** (epochs - 1 - s) for s in range(epochs)])
    expected = (past * weight[:, None, None]).sum(axis=0) / (1 - alpha**epochs)
    np.testing.assert_allclose(p, expected, atol=1e-5)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-4)


def test_temporal_ensemble_is_carried_for_some_rows_alone() -> None:
    ensemble = TemporalEnsemble(3, M, 0.5)
    ensemble.update(np.ones((2, M), np.float32), 1, np.array([0, 2]))
    assert ensemble.memory.tolist() == [[0.5] * M, [0.0] * M, [0.5] * M]


def test_adam_is_the_published_one() -> None:
    ours, gradient = np.linspace(-1, 1, 50, dtype=np.float32), np.zeros(50, np.float32)
    adam = Adam(ours, gradient, 0.02, 0.01)
    w, mean, square = np.linspace(-1, 1, 50), np.zeros(50), np.zeros(50)
    for t in range(1, 21):
        plain = np.sin(np.arange(50) * float(t))
        gradient[...] = plain
        adam.step()
        g = plain + 0.01 * w  # Algorithm 1 of Kingma and Ba (2015), with an L2 penalty
        mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g**2
        w = w - 0.02 * (mean / (1 - 0.9**t)) / (np.sqrt(square / (1 - 0.999**t)) + 1e-8)
    np.testing.assert_allclose(ours, w, atol=1e-5, rtol=1e-4)


def test_adam_divides_by_no_less_than_its_epsilon() -> None:
    weights = np.zeros(1, np.float32)
    Adam(weights, np.full(1, 1e-8, np.float32), 0.1, 0.0).step()
    assert weights[0] == pytest.approx(-0.05, rel=1e-3)  # g / (|g| + eps) is a half


def test_adam_updates_long_vectors_whole() -> None:
    weights = np.zeros(100_000, np.float32)
    Adam(weights, np.ones(100_000, np.float32), 0.1, 0.0).step()
    np.testing.assert_allclose(weights, -0.1, rtol=1e-4)


def test_weights_start_small_random_and_whatever_the_sources() -> None:
    one, two = (Networks.start(Shape(50, 40, M, c), seed=7) for c in (3, 9))
    for a, b in (
        (one.attention.w1, two.attention.w1),
        (one.attention.w2, two.attention.w2),
        (one.classifier.w1, two.classifier.w1),
        (one.classifier.w2, two.classifier.w2),
    ):
        np.testing.assert_array_equal(a, b)
        bound = len(a) ** -0.5
        assert np.abs(a).max() <= bound
        assert np.abs(a).max() > bound * 0.8
        assert abs(float(a.mean())) < bound / 4
    assert not two.attention.votes.any()
    assert not two.classifier.b1.any()
    assert not two.classifier.b2.any()
    assert np.abs(one.classifier.w1 - Networks.start(one_shape(), 8).classifier.w1).max() > 0.01


def one_shape() -> Shape:
    return Shape(50, 40, M, 3)


def test_sharpness_makes_confidence_true() -> None:
    rng = np.random.default_rng(0)
    true = (rng.normal(size=(4000, M)) * 2).astype(np.float32)
    gold = np.array(
        [np.searchsorted(row.cumsum(), rng.random()).clip(max=M - 1) for row in softmax(true)]
    )
    assert sharpness(true * 5, np.eye(M)[gold])[0] == pytest.approx(0.2, rel=0.1)


def test_sharpness_is_the_likeliest_factor_between_a_hundredth_and_a_hundred() -> None:
    rng = np.random.default_rng(1)
    scores = (rng.normal(size=(300, M)) * 2).astype(np.float32)
    labels = rng.dirichlet(np.ones(M), 300) * 0.5 + 0.5 * np.eye(M)[scores.argmax(axis=1)]

    def likelihood(factor: float) -> float:
        return float(
            (np.log(softmax(scores.astype(np.float64) * factor)) * labels).sum(axis=1).mean()
        )

    grid = np.geomspace(0.1, 1, 2000)
    best = grid[np.argmax([likelihood(factor) for factor in grid])]
    factor, reached = sharpness(scores, labels)
    assert factor == pytest.approx(best, rel=2e-3)
    assert reached == pytest.approx(likelihood(factor))
    right = np.eye(M)[scores.argmax(axis=1)]
    assert sharpness(scores, right)[0] == pytest.approx(100, rel=1e-3)
    assert sharpness(-scores, right)[0] == pytest.approx(0.01, rel=1e-3)


def test_any_whole_number_is_a_seed() -> None:
    for seed in (2**32 - 1, 2**32 + 5, 2**70):
        assert Networks.start(one_shape(), seed).flat.any()
    one, two = (Networks.start(one_shape(), seed).flat for seed in (2**32 + 5, 5))
    np.testing.assert_array_equal(one, two)
    starts = [Networks.start(one_shape(), 2**power).flat for power in range(32)]
    assert len({start.tobytes() for start in starts}) == 32

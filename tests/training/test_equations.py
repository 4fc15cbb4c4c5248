"""Each equation by hand, and the hand-written gradients against automatic differentiation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from unruly.training.adam import Adam
from unruly.training.attention import Attention, AttentionWeights
from unruly.training.batch import Attended
from unruly.training.cells import Cells, VoteTable
from unruly.training.classifier import Classifier, ClassifierWeights
from unruly.training.confidence import combine, sharpness
from unruly.training.denoiser import attend, denoiser_step
from unruly.training.losses import likelihood_loss, self_training_loss
from unruly.training.pseudo_labels import majority_vote, pseudo_labels
from unruly.training.reliability import conditional, even_split, global_reliability
from unruly.training.rule_prediction import rule_scores, softmax
from unruly.training.temporal_ensemble import TemporalEnsemble

M = 3
Matrix = NDArray[np.int8]
matrices = arrays(
    np.int8, st.tuples(st.integers(1, 8), st.integers(1, 6)), elements=st.integers(-1, M - 1)
)


def random(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def network(matrix: Matrix, attention: str) -> tuple[Attention, Cells]:
    cells = Cells.of(matrix, M, attention)
    table = VoteTable(np.unique(cells.codes), M)
    return Attention(random(5, 4), random(len(table), 4, seed=1), random(4, seed=2), table), cells


@given(matrices)
@settings(max_examples=40)
def test_eq_1_scores_each_vote_by_its_source_class_and_document(matrix: Matrix) -> None:
    net, cells = network(matrix, "voters")
    features = random(len(matrix), 5, seed=3)
    scores = net.scores(features, cells)
    for v, (i, j, r) in enumerate(zip(cells.row, cells.source, cells.outcome, strict=True)):
        y = net.votes[list(net.table.codes).index(j * (M + 1) + r)]
        assert scores[v] == pytest.approx(
            float(np.tanh(features[i] @ net.w1 + y) @ net.w2), abs=1e-4
        )


@given(matrices)
@settings(max_examples=40)
def test_conditional_reliability_sums_to_one_over_those_who_voted(matrix: Matrix) -> None:
    net, cells = network(matrix, "voters")
    a = cells.matrix(conditional(net.scores(random(len(matrix), 5), cells), cells))
    voted = matrix >= 0
    assert not a[~voted].any()
    np.testing.assert_allclose(a.sum(axis=1), voted.any(axis=1).astype(float), atol=1e-5)


def test_softmax_over_all_leaks_mass_to_the_silent() -> None:
    matrix = np.array([[0, -1, -1, 1]], dtype=np.int8)
    net, cells = network(matrix, "all")
    a = cells.matrix(conditional(np.zeros(4, np.float32), cells))
    assert a.tolist() == [[0.25, 0.0, 0.0, 0.25]]
    assert len(net.table) == 4


@given(matrices)
@settings(max_examples=40)
def test_global_reliability_is_the_mean_over_documents(matrix: Matrix) -> None:
    net, cells = network(matrix, "voters")
    a = conditional(net.scores(random(len(matrix), 5), cells), cells)
    big_a = global_reliability(cells.sum_by_source(a), even_split(cells), "per-document")
    covered = (matrix >= 0).any(axis=1)
    if covered.any():
        np.testing.assert_allclose(big_a, cells.matrix(a)[covered].mean(axis=0), atol=1e-5)
        assert big_a.sum() == pytest.approx(1)
    else:
        assert not big_a.any()


def test_per_vote_reliability_does_not_reward_voting_often() -> None:
    matrix = np.array([[0, -1]] * 9 + [[0, 0]], dtype=np.int8)
    cells = Cells.of(matrix, M, "voters")
    a = conditional(np.zeros(len(cells.row), np.float32), cells)
    received, even = cells.sum_by_source(a), even_split(cells)
    assert global_reliability(received, even, "per-document").round(2).tolist() == [0.95, 0.05]
    assert global_reliability(received, even, "per-vote").round(2).tolist() == [0.5, 0.5]


@given(matrices)
@settings(max_examples=40)
def test_eq_2_is_the_weighted_vote(matrix: Matrix) -> None:
    reliability = np.random.default_rng(0).dirichlet(np.ones(matrix.shape[1]))
    labels = pseudo_labels(reliability, Cells.of(matrix, M, "voters"))
    for i, row in enumerate(matrix):
        weight = [sum(reliability[j] for j, vote in enumerate(row) if vote == r) for r in range(M)]
        if (row >= 0).any():
            assert labels[i].argmax() == int(np.argmax(weight))
            assert labels[i].sum() == pytest.approx(1)
        else:
            assert not labels[i].any()


def test_ties_are_shared_not_given_to_the_first_class() -> None:
    cells = Cells.of(np.array([[0, 2], [1, 1]], dtype=np.int8), M, "voters")
    assert majority_vote(cells).tolist() == [[0.5, 0, 0.5], [0, 1, 0]]


def test_eq_3_by_hand() -> None:
    cells = Cells.of(np.array([[0, 0, 1], [-1, -1, -1]], dtype=np.int8), M, "voters")
    scores = rule_scores(np.array([0.2, 0.3, 0.5], np.float32), cells)
    np.testing.assert_allclose(scores, np.array([[0.5, 0.5, 0], [0, 0, 0]]))
    np.testing.assert_allclose(
        softmax(scores)[0], np.exp([0.5, 0.5, 0]) / np.exp([0.5, 0.5, 0]).sum(), rtol=1e-5
    )
    np.testing.assert_allclose(softmax(scores)[1], 1 / 3)


def test_the_paper_case_study_reliability_turns_two_votes_against_one() -> None:
    matrix = np.array([[1, 1, 0]], dtype=np.int8)  # pleased, friendly: positive; awful: negative
    cells = Cells.of(matrix, 2, "voters")
    assert majority_vote(cells)[0].tolist() == [0, 1]
    assert pseudo_labels(np.array([0.1074, 0.1074, 0.2482]), cells)[0].tolist() == [1, 0]


def test_eq_4_torch_and_numpy_agree() -> None:
    w1, b1, w2, b2, x = random(5, 4), random(4), random(4, M), random(M), random(7, 5, seed=4)
    ours = Classifier(w1, b1, w2, b2).logits(x)
    theirs, _ = ClassifierWeights(*map(torch.from_numpy, (w1, b1, w2, b2))).logits(
        torch.from_numpy(x)
    )
    np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-5)


def test_classifier_gradient_is_the_true_one() -> None:
    x, target, ensemble = (torch.from_numpy(random(9, d, seed=d)) for d in (5, M, M))
    target, ensemble, weight = target.softmax(1), ensemble.softmax(1), torch.arange(9.0) % 2
    parts = [torch.from_numpy(random(*shape)) for shape in ((5, 4), (4,), (4, M), (M,))]
    for part in parts:
        part.requires_grad_()
    z = ((x @ parts[0] + parts[1]).relu() @ parts[2] + parts[3]).softmax(1)
    (-(target * z.log()).sum() + 0.3 * (((z - ensemble) ** 2).sum(1) * weight).sum()).backward()  # type: ignore[no-untyped-call]
    with torch.no_grad():
        theta = ClassifierWeights(*parts)
        into = ClassifierWeights(*(torch.empty_like(part) for part in parts))
        logits, hidden = theta.logits(x)
        _, slope, probability = likelihood_loss(logits, target)
        slope += 0.3 * self_training_loss(probability, ensemble, weight)[1]
        theta.backward(into, x, hidden, slope)
    for part, got in zip(parts, (into.w1, into.b1, into.w2, into.b2), strict=True):
        assert part.grad is not None
        torch.testing.assert_close(got, part.grad, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("attention", ["voters", "all"])
def test_denoiser_gradient_is_the_true_one(attention: str) -> None:
    matrix = np.array([[0, 1, -1, 2], [1, 1, 0, -1], [2, 0, 0, 1]], dtype=np.int8)
    net, cells = network(matrix, attention)
    x = torch.from_numpy(random(3, 5, seed=8))
    target = torch.from_numpy(random(3, M, seed=9)).softmax(1)
    w1, w2, votes = (
        torch.from_numpy(part.copy()).requires_grad_() for part in (net.w1, net.w2, net.votes)
    )
    row, number = torch.from_numpy(cells.row), torch.from_numpy(net.table.numbers(cells))
    cast, outcome = torch.from_numpy(cells.cast), torch.from_numpy(cells.outcome)
    # Equations 1, 3 and 5, written as they stand.
    q = torch.tanh((x @ w1)[row] + votes[number]) @ w2
    share = torch.cat([q[row == i].softmax(0) for i in range(3)])
    y = torch.stack(
        [
            torch.stack([(share * cast)[(row == i) & (outcome == r)].sum() for r in range(M)])
            for i in range(3)
        ]
    )
    loss = -(target * y.log_softmax(1)).sum()
    loss.backward()  # type: ignore[no-untyped-call]
    documents = Attended(
        np.arange(3),
        x,
        cells,
        row,
        torch.from_numpy(cells.source),
        outcome,
        number,
        cast,
        3,
        len(cells.row),
    )
    with torch.no_grad():
        weights = AttentionWeights(w1, w2, votes)
        into = AttentionWeights(*(torch.empty_like(part) for part in (w1, w2, votes)))
        said = attend(weights, documents)
        value = denoiser_step(weights, into, documents, said, target, 0.5)
    assert value == pytest.approx(loss.item(), rel=1e-5)
    for part, got in ((w1, into.w1), (w2, into.w2), (votes, into.votes)):
        assert part.grad is not None
        torch.testing.assert_close(got * 2, part.grad, atol=1e-6, rtol=1e-4)


@given(st.floats(0, 0.95), st.integers(1, 12))
@settings(max_examples=30)
def test_temporal_ensemble_is_a_weighted_mean_of_the_past(alpha: float, epochs: int) -> None:
    past = np.random.default_rng(1).dirichlet(np.ones(M), size=(epochs, 4)).astype(np.float32)
    ensemble = TemporalEnsemble(torch.zeros(4, M), alpha)
    for t in range(1, epochs + 1):
        p = ensemble.update(torch.from_numpy(past[t - 1]), t)
    weight = np.array([(1 - alpha) * alpha ** (epochs - 1 - s) for s in range(epochs)])
    expected = (past * weight[:, None, None]).sum(axis=0) / (1 - alpha**epochs)
    np.testing.assert_allclose(p.numpy(), expected, atol=1e-5)
    np.testing.assert_allclose(p.numpy().sum(axis=1), 1, atol=1e-4)


def test_temporal_ensemble_is_carried_for_some_rows_alone() -> None:
    ensemble = TemporalEnsemble(torch.zeros(3, M), 0.5)
    ensemble.update(torch.ones(2, M), 1, torch.tensor([0, 2]))
    assert ensemble.memory.tolist() == [[0.5] * M, [0.0] * M, [0.5] * M]


def test_adam_is_the_published_one() -> None:
    ours, gradient = torch.linspace(-1, 1, 50), torch.zeros(50)
    adam = Adam(ours, gradient, 0.02, 0.01)
    w, mean, square = np.linspace(-1, 1, 50), np.zeros(50), np.zeros(50)
    for t in range(1, 21):
        plain = np.sin(np.arange(50) * float(t))
        gradient.copy_(torch.from_numpy(plain))
        adam.step()
        g = plain + 0.01 * w  # Algorithm 1 of Kingma and Ba (2015), with an L2 penalty
        mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g**2
        w = w - 0.02 * (mean / (1 - 0.9**t)) / (np.sqrt(square / (1 - 0.999**t)) + 1e-8)
    np.testing.assert_allclose(ours.numpy(), w, atol=1e-5, rtol=1e-4)


def test_the_more_confident_head_wins() -> None:
    rule = np.array([[0.7, 0.3], [0.7, 0.3], [0.6, 0.4], [0.5, 0.5]], np.float32)
    text = np.array([[0.8, 0.2], [0.1, 0.9], [0.45, 0.55], [0.3, 0.7]], np.float32)
    combined, decided = combine(rule, text, "confident")
    assert decided.tolist() == [0, 2, 1, 2]
    np.testing.assert_allclose(combined, [[0.75, 0.25], [0.1, 0.9], [0.6, 0.4], [0.3, 0.7]])


@pytest.mark.parametrize("how", ["confident", "product", "mean"])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_combined_rows_are_probabilities_and_the_decider_agrees(how: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rule, text = (rng.dirichlet(np.ones(M), size=20).astype(np.float32) for _ in range(2))
    combined, decided = combine(rule, text, how)
    np.testing.assert_allclose(combined.sum(axis=1), 1, atol=1e-4)
    assert (combined.argmax(axis=1) == rule.argmax(axis=1))[decided == 1].all()
    both = decided == 0
    assert (combined.argmax(axis=1) == text.argmax(axis=1))[both].all()


def test_sharpness_makes_confidence_true() -> None:
    rng = np.random.default_rng(0)
    true = (rng.normal(size=(4000, M)) * 2).astype(np.float32)
    gold = np.array(
        [np.searchsorted(row.cumsum(), rng.random()).clip(max=M - 1) for row in softmax(true)]
    )
    assert sharpness(true * 5, np.eye(M)[gold])[0] == pytest.approx(0.2, rel=0.1)

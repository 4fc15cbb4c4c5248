"""Networks in one flat vector."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from lab.tests.peers.planted_task import planted_task, selected
from torch import Tensor

from unruly_lab.peers.networks import BestEpoch, FlatNetwork, batches
from unruly_lab.peers.systems import Documents, Proba


def test_a_step_follows_the_slope_and_only_that() -> None:
    network = FlatNetwork([(2, 3), (4,)], torch.Generator().manual_seed(3), learning_rate=0.01)
    before = [part.clone() for part in network.parts()]

    def first_up(parts: list[Tensor]) -> Tensor:
        return -parts[0].sum()

    with torch.no_grad():
        network.step(first_up)
    after = network.parts()
    assert torch.allclose(after[0], before[0] + 0.01, atol=1e-6)
    assert torch.equal(after[1], before[1])
    assert network.parameters == 10


def test_matrices_start_at_random_and_vectors_at_zero() -> None:
    weights, bias = FlatNetwork(
        [(100, 5), (5,)], torch.Generator().manual_seed(0), learning_rate=0.1
    ).parts()
    assert 0.05 < float(weights.abs().max()) <= 0.1
    assert not bias.any()


def test_batches_hold_every_row_once() -> None:
    rows = np.array([3, 5, 8, 9, 11])
    found = np.concatenate(list(batches(rows, 2, np.random.default_rng(0))))
    assert sorted(found.tolist()) == rows.tolist()


def test_adam_is_torchs() -> None:
    ours = FlatNetwork([(4, 3), (3,)], torch.Generator().manual_seed(1), 0.05, weight_decay=0.1)
    theirs = [part.clone().requires_grad_() for part in ours.parts()]
    adam = torch.optim.Adam(theirs, lr=0.05, weight_decay=0.1)
    x = torch.randn(7, 4, generator=torch.Generator().manual_seed(2))

    def loss(parts: list[Tensor]) -> Tensor:
        return (x @ parts[0] + parts[1]).sin().square().sum()

    for _ in range(20):
        adam.zero_grad()
        loss(theirs).backward()  # type: ignore[no-untyped-call]
        adam.step()
        ours.step(loss)
    for mine, its in zip(ours.parts(), theirs, strict=True):
        assert torch.allclose(mine, its.detach(), atol=1e-5)


def test_the_first_of_the_best_epochs_is_kept() -> None:
    task = planted_task(n=100)
    gold = np.where(np.arange(50) < 40, task.valid_gold, -1)
    best, weights = BestEpoch((task.valid, gold)), {"w": torch.zeros(1)}
    sure = np.eye(2)[task.valid_gold]

    def answering(documents: Documents, right: int) -> Proba:
        return np.where(np.arange(documents.n)[:, None] < right, sure[:40], 1 - sure[:40])

    for epoch, right in enumerate((10, 30, 30, 20), 1):
        weights["w"].fill_(epoch)
        best.offer(epoch, partial(answering, right=right), weights)
    best.restore(weights)
    assert (best.epoch, best.score, float(weights["w"])) == (2, 0.75, 2.0)
    assert best.gold_used == (selected(40),)


def test_without_validation_labels_the_last_epoch_stands() -> None:
    best, weights = BestEpoch(None), {"w": torch.zeros(1)}
    weights["w"].fill_(5)
    assert best.offer(1, lambda documents: np.zeros((1, 2)), weights) == ""
    best.restore(weights)
    assert float(weights["w"]) == 5
    assert best.gold_used == ()

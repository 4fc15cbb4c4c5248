"""Networks in one flat vector."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from unruly.peers.flat_network import FlatNetwork, batches


def test_a_step_follows_the_slope_and_only_that() -> None:
    network = FlatNetwork([(2, 3), (4,)], seed=3, learning_rate=0.01)
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
    weights, bias = FlatNetwork([(100, 5), (5,)], seed=0, learning_rate=0.1).parts()
    assert 0.05 < float(weights.abs().max()) <= 0.1
    assert not bias.any()


def test_batches_hold_every_row_once() -> None:
    rows = np.array([3, 5, 8, 9, 11])
    found = np.concatenate(list(batches(rows, 2, np.random.default_rng(0))))
    assert sorted(found.tolist()) == rows.tolist()

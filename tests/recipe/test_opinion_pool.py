"""The denoiser that multiplies opinions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from tests.recipe.small_task import small_task

from unruly.recipe.evidence import Evidence
from unruly.recipe.opinion_pool import OpinionPool
from unruly.recipe.short_training import attention_step
from unruly.recipe.source_behaviour import opinions, source_behaviour, vote_evidence
from unruly.training.attention import Attention, AttentionWeights
from unruly.training.cells import VoteTable
from unruly.votes.votes import Votes

rng = np.random.default_rng(0)


def pool_of(evidence: Evidence, q: Any, attention: Attention | None = None) -> OpinionPool:
    opinion = opinions(source_behaviour(evidence, q), np.ones(evidence.k)).astype(np.float32)
    return OpinionPool(opinion, evidence.shades, evidence.sources, evidence.classes, attention)


def test_an_even_split_is_exactly_the_product_of_opinions() -> None:
    task = small_task(80, m=3)
    evidence = Evidence.of(task.votes, np.full(80, -1))
    pool = pool_of(evidence, np.eye(3)[task.gold])
    ev, a = pool.evidence(task.features.matrix(), task.votes)
    np.testing.assert_allclose(ev, vote_evidence(evidence, pool.opinion.astype(float)), atol=1e-4)
    voted = task.votes.voted
    np.testing.assert_allclose(a.sum(axis=1), voted.any(axis=1), atol=1e-6)
    assert (a[~voted] == 0).all()


def test_a_soft_vote_weighs_the_opinions_by_its_probabilities() -> None:
    votes = Votes.from_array([[0, 1], [1, 0], [0, 0], [1, 1]], sources=["hard", "model"])
    said = np.array([[0.4, 0.6], [0.9, 0.1], [1.0, 0.0], [0.0, 1.0]], np.float32)
    soft = replace(votes, soft={"model": said})
    evidence = Evidence.of(soft, np.full(4, -1))
    pool = pool_of(evidence, np.eye(2)[[0, 1, 0, 1]])
    ev, _ = pool.evidence(np.zeros((4, 1), np.float32), soft)
    np.testing.assert_allclose(ev, vote_evidence(evidence, pool.opinion.astype(float)), atol=1e-5)
    hard, _ = pool.evidence(np.zeros((4, 1), np.float32), votes)
    assert not np.allclose(ev[0], hard[0])
    np.testing.assert_allclose(ev[2:], hard[2:], atol=1e-6)  # certain soft votes are hard votes


def test_sources_and_classes_unknown_from_training_are_not_heard() -> None:
    votes = Votes.from_array([[0, -1], [1, -1]], classes=["a", "b", "c"])
    evidence = Evidence.of(votes, np.full(2, -1))
    pool = pool_of(evidence, np.eye(2))
    later = Votes.from_array([[-1, 0], [2, -1], [0, 1]], classes=["a", "b", "c"])
    ev, a = pool.evidence(np.zeros((3, 1), np.float32), later)
    assert (ev[:2] == 0).all()
    np.testing.assert_array_equal(a, [[0, 0], [0, 0], [1, 0]])


def test_the_gradient_is_the_slope_of_the_loss() -> None:
    task = small_task(30, m=3)
    evidence = Evidence.of(task.votes, np.full(30, -1))
    pool = pool_of(evidence, np.eye(3)[task.gold])
    known = pool.known(task.votes)
    cells = pool.cells(known)
    several = cells.sizes > 1
    mine, said = cells.take(np.flatnonzero(several)), pool.said(cells, known)[several[cells.row]]
    table = VoteTable((np.arange(6)[:, None] * 4 + np.arange(3)).ravel(), 3)
    d, h = task.features.width, 4
    sizes = [d * h, h, len(table) * h]
    flat = torch.from_numpy(rng.normal(0, 0.3, sum(sizes)))
    x = torch.from_numpy(task.features.matrix()[several].astype(np.float64))
    number, bias = torch.from_numpy(table.numbers(mine)), torch.tensor([0.1, -0.2, 0.1])
    q = torch.from_numpy(rng.dirichlet(np.ones(3), int(several.sum())))

    def weights(values: torch.Tensor) -> AttentionWeights:
        w1, w2, votes = torch.split(values, sizes)
        return AttentionWeights(w1.view(d, h), w2, votes.view(-1, h))

    def loss(values: torch.Tensor) -> tuple[float, torch.Tensor]:
        into = torch.zeros_like(values)
        total = attention_step(
            weights(values),
            weights(into),
            x,
            mine,
            number,
            torch.from_numpy(said).double(),
            bias,
            q,
        )
        return total, into

    _, gradient = loss(flat)
    for place in rng.integers(0, len(flat), 20):
        step = torch.zeros_like(flat)
        step[place] = 1e-4
        slope = (loss(flat + step)[0] - loss(flat - step)[0]) / 2e-4 / len(q)
        np.testing.assert_allclose(gradient[place], slope, atol=1e-5)


def test_odds_tell_how_far_each_vote_moves_its_own_class() -> None:
    task = small_task(60, m=3)
    evidence = Evidence.of(task.votes, np.full(60, -1))
    pool, prior = pool_of(evidence, np.eye(3)[task.gold]), np.array([0.5, 0.3, 0.2])
    odds = pool.odds(task.features.matrix(), task.votes, None, prior)
    assert (odds[~task.votes.voted] == 1).all()
    i, j = np.argwhere(task.votes.matrix == 1)[0]
    likely = np.exp(pool.opinion[j, 1].astype(float))
    np.testing.assert_allclose(
        odds[i, j], likely[1] / ((0.5 * likely[0] + 0.2 * likely[2]) / 0.7), rtol=1e-5
    )


def test_two_classes_take_all_odds_together() -> None:
    task = small_task(60)
    evidence = Evidence.of(task.votes, np.full(60, -1))
    pool = pool_of(evidence, np.eye(2)[task.gold])
    signs = np.where(task.votes.matrix == 1, 1, -1)
    logs = np.log(pool.odds(task.features.matrix(), task.votes, None, np.array([0.9, 0.1])))
    ev, _ = pool.evidence(task.features.matrix(), task.votes)
    np.testing.assert_allclose((logs * signs).sum(axis=1), ev[:, 1] - ev[:, 0], atol=1e-4)

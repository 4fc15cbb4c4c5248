"""One step's documents, laid out so that no number is computed twice or in vain.

Three facts, all exact, make a step cheap. Documents with the same features get the same prediction, so
the classifier sees each distinct row once. A document with a single vote gives it all its attention,
whatever the network says. And where all votes agree, attention cannot change the denoiser's answer: it
still counts for global reliability, but has no gradient.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unruly.training.cells import Cells
from unruly.training.reliability import even_split
from unruly.training.training_set import TrainingSet

_MOST_NUMBERS = 2**26  # feature matrices above 256 MB are not searched for repeated rows


@dataclass(frozen=True, eq=False)
class Attended:
    """The documents whose attention must be computed: contested ones first, then agreeing ones."""

    rows: NDArray[np.int64]  # (r,): their numbers in the training set
    features: Tensor  # (r, d)
    cells: Cells  # (v,)
    row: Tensor  # (v,)
    source: Tensor  # (v,)
    outcome: Tensor  # (v,)
    number: Tensor  # (v,): of the vote's vector
    cast: Tensor  # (v,)
    contested: int  # how many documents are contested
    contested_cells: int  # and how many cells they have


@dataclass(frozen=True, eq=False)
class Batch:
    """The documents of one step."""

    n: int
    features: Tensor  # (u, d): distinct rows
    memory: Tensor | None  # (u,): their places in the temporal ensemble; None for all in order
    settled: Tensor  # (u, m): labels times weights of supervised documents that are not contested
    unmatched: Tensor  # (u,): how many documents of D_U each row stands for
    attended: Attended
    group: Tensor  # (contested,): the distinct row of each contested document
    received: NDArray[np.float64]  # (k,): attention of documents with a single cell
    even: NDArray[np.float64]  # (k,): what an even split would give
    l1_settled: float  # the denoiser's loss on documents that are not contested
    matched: int
    supervised: int

    @cached_property
    def contested_votes(self) -> Cells:
        """The votes cast on the contested documents, which are numbered as in `attended`."""
        cells = self.attended.cells
        mine = cells.keep((cells.row < self.attended.contested) & (cells.cast > 0))
        return replace(mine, n=self.attended.contested)


def make_batch(
    data: TrainingSet, rows: NDArray[np.int64], device: torch.device, whole: bool
) -> Batch:
    """Lay out some documents, in ascending order; `whole` when they are the only batch of an epoch."""
    values = data.rows(rows)  # (n, d)
    first, group = _distinct(values) if whole else (np.arange(len(rows)), np.arange(len(rows)))
    cells = Cells.of(data.matrix[rows], data.m, data.attention)
    matched = data.matched[rows]
    contested = cells.contested & matched
    mass = data.labels[rows] * (data.weights[rows] * data.supervised[rows])[:, None]  # (n, m)
    seen = cells.take(np.flatnonzero(matched))
    single = seen.cast * (seen.sizes[seen.row] == 1)
    distinct = values if len(first) == len(values) else values[first]
    return Batch(
        n=len(rows),
        features=torch.from_numpy(distinct).to(device),
        memory=None if whole else torch.from_numpy(rows).to(device),
        settled=torch.from_numpy(_sum_rows(mass * ~contested[:, None], group, len(first))).to(
            device
        ),
        unmatched=torch.from_numpy(
            np.bincount(group, weights=~data.supervised[rows], minlength=len(first)).astype(
                np.float32
            )
        ).to(device),
        attended=_attended(data, rows, values, cells, matched, contested, device),
        group=torch.from_numpy(group[contested]).to(device),
        received=seen.sum_by_source(single),
        even=even_split(seen),
        l1_settled=_settled_loss(cells, mass * (matched & ~contested)[:, None]),
        matched=int(matched.sum()),
        supervised=int(data.supervised[rows].sum()),
    )


def _attended(
    data: TrainingSet,
    rows: NDArray[np.int64],
    values: NDArray[np.float32],
    cells: Cells,
    matched: NDArray[np.bool_],
    contested: NDArray[np.bool_],
    device: torch.device,
) -> Attended:
    agreeing = matched & ~contested & (cells.sizes > 1)
    order = np.concatenate([np.flatnonzero(contested), np.flatnonzero(agreeing)])
    mine = cells.take(order)
    count = int(contested.sum())
    return Attended(
        rows=rows[order],
        features=torch.from_numpy(values[order]).to(device),
        cells=mine,
        row=torch.from_numpy(mine.row).to(device),
        source=torch.from_numpy(mine.source).to(device),
        outcome=torch.from_numpy(mine.outcome).to(device),
        number=torch.from_numpy(data.table.numbers(mine)).to(device),
        cast=torch.from_numpy(mine.cast).to(device),
        contested=count,
        contested_cells=int((mine.row < count).sum()),
    )


def _distinct(values: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first place of each distinct row, in order, and the number of each row's group."""
    n, d = values.shape
    if values.size > _MOST_NUMBERS or d == 0:
        return np.arange(n), np.arange(n)
    keys = np.ascontiguousarray(values).view(np.dtype((np.void, d * values.itemsize))).ravel()
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order], place[group]


def _sum_rows(
    values: NDArray[np.float32], group: NDArray[np.int64], groups: int
) -> NDArray[np.float32]:
    total = np.zeros((groups, values.shape[1]), dtype=np.float32)
    np.add.at(total, group, values)
    return total


def _settled_loss(cells: Cells, mass: NDArray[np.float32]) -> float:
    """-sum mass log z^, where all votes agree: y_ir (Eq. 3) is 1 at their class."""
    score = (cells.sum_by_class(cells.cast) > 0).astype(np.float64)  # (n, m)
    level = np.log(np.exp(score).sum(axis=1, keepdims=True))
    return float(-(mass * (score - level)).sum())

"""Which documents to label so that the class balance is known soonest.

Documents are divided by their predicted class. Half of the labels go to the predicted classes in proportion
to their size, half evenly, so that a class which is hardly ever predicted is looked at, too. Within
a stratum documents are drawn at random, so each has a known probability of being drawn,

    P(i) = n_h / N_h,       n_h: drawn from stratum h, N_h: its documents

and its inverse as a weight keeps every estimate unbiased.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Drawn:
    """Documents to label, in the order in which to show them."""

    rows: NDArray[np.intp]  # (l,)
    probability: NDArray[np.float64]  # (l,): with which each was drawn


def draw(
    proba: NDArray[np.floating[Any]],
    size: int,
    *,
    seed: int = 0,
    among: NDArray[np.bool_] | None = None,
) -> Drawn:
    """At most `size` documents, stratified by the likeliest class of `proba` (n, m); `among` (n,): from these only.

    >>> proba = np.eye(2)[[0] * 90 + [1] * 10]
    >>> drawn = draw(proba, 10)
    >>> int((drawn.rows >= 90).sum()), sorted(set(drawn.probability.round(2).tolist()))
    (3, [0.08, 0.3])
    """
    rng = np.random.default_rng(seed)
    open_rows = np.arange(len(proba)) if among is None else np.flatnonzero(among)
    stratum = proba[open_rows].argmax(axis=1)
    kinds, counts = np.unique(stratum, return_counts=True)
    taken = _allocation(counts, min(size, len(open_rows)))
    rows, probability = [], []
    for kind, count, take in zip(kinds, counts, taken, strict=True):
        members = open_rows[stratum == kind]
        rows.append(rng.permutation(members)[:take])
        probability.append(np.full(take, take / count))
    order = rng.permutation(int(taken.sum()))
    if not len(order):
        return Drawn(np.empty(0, np.intp), np.empty(0))
    return Drawn(np.concatenate(rows)[order], np.concatenate(probability)[order])


def _allocation(counts: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """(h,): how many to draw from strata of these sizes: half in proportion, half evenly, none more than it has.

    >>> _allocation(np.array([90, 10]), 10).tolist(), _allocation(np.array([90, 2]), 20).tolist()
    ([7, 3], [18, 2])
    """
    taken = np.zeros(len(counts), np.intp)
    wanted = 0.5 * counts / max(counts.sum(), 1) + 0.5 / max(len(counts), 1)
    for _ in range(size):  # the next label to the stratum that lacks most of its share
        lacking = np.where(taken < counts, wanted * (taken.sum() + 1) - taken, -np.inf)
        taken[int(lacking.argmax())] += 1
    return taken

"""Clean labels: true labels of some documents, which replace their pseudo-labels and stay fixed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError

UNKNOWN = -1
Gold = NDArray[np.int64]


def checked(clean: Gold | None, n: int, m: int, what: str = "clean labels") -> Gold:
    """(n,): the true class of each document, -1 where it is not known.

    >>> checked(np.array([0, 7]), n=2, m=2)
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: clean labels, row 1: 7 is neither a class number from 0 to 1 nor -1 (not known)
    """
    if clean is None:
        return np.full(n, UNKNOWN, dtype=np.int64)
    labels = np.asarray(clean)
    if labels.shape != (n,):
        raise InputError(f"{what} have the shape {labels.shape}, but there are {n} documents")
    bad = (labels < UNKNOWN) | (labels >= m) | (labels != np.round(labels))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"{what}, row {row}: {labels[row]} is neither a class number from 0 to {m - 1} nor -1 (not known)"
        )
    return labels.astype(np.int64)


def share(gold: Gold, part: float, seed: int) -> Gold:
    """Keep the true labels of a random part of the documents, at least one, and forget the rest.

    >>> int((share(np.zeros(1000, np.int64), 0.005, seed=0) >= 0).sum())
    5
    """
    if not 0 < part <= 1:
        raise InputError(f"a share of clean labels must lie above 0 and not above 1, not {part}")
    known = np.flatnonzero(gold >= 0)
    count = min(len(known), max(1, round(part * len(known))))
    kept = np.random.default_rng(seed).permutation(known)[:count]
    clean = np.full(len(gold), UNKNOWN, dtype=np.int64)
    clean[kept] = gold[kept]
    return clean


def set_aside(clean: Gold, seed: int) -> tuple[Gold, Gold]:
    """Split clean labels in two, four fifths for training and a fifth that training never sees."""
    known = np.random.default_rng(seed).permutation(np.flatnonzero(clean >= 0))
    aside = known[: len(known) // 5]
    training, apart = clean.copy(), np.full_like(clean, UNKNOWN)
    training[aside] = UNKNOWN
    apart[aside] = clean[aside]
    return training, apart

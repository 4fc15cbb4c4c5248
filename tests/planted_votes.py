"""Votes with a planted truth: sources whose accuracy, coverage and kinship are known beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.votes.votes import ABSTAIN, Votes


def planted_votes(
    n: int,
    accuracies: Sequence[float],
    coverages: float | Sequence[float] = 1.0,
    *,
    classes: int | Sequence[str] = 2,
    prior: Sequence[float] | None = None,
    one_class: Mapping[int, int] | None = None,
    copies: Mapping[int, int] | None = None,
    fidelity: float = 1.0,
    seed: int = 0,
) -> tuple[Votes, NDArray[np.int16]]:
    """Draw true classes from `prior`, then each source's votes given the truth; return both.

    Source j votes on a share `coverages[j]` of the documents, and a share `accuracies[j]` of the
    votes it casts is right (below 1/m: an adversary). Errors fall evenly on the other classes.

    - `one_class={j: c}`: source j only ever says c. It fires more often where c is true, so that
      P(true = c | it votes) is `accuracies[j]` and P(it votes) is `coverages[j]`.
    - `copies={j: i}`: source j repeats source i on a share `fidelity` of the documents, and follows
      its own accuracy and coverage on the others. Sources are drawn from left to right, so i < j.

    >>> votes, gold = planted_votes(10_000, [0.9, 0.7], [0.5, 1.0], seed=1)
    >>> votes.matrix.shape, votes.voted.mean(axis=0).round(1).tolist()
    ((10000, 2), [0.5, 1.0])
    >>> [
    ...     float((votes.matrix[votes.voted[:, j], j] == gold[votes.voted[:, j]]).mean().round(1))
    ...     for j in (0, 1)
    ... ]
    [0.9, 0.7]
    """
    names = tuple(str(c) for c in range(classes)) if isinstance(classes, int) else tuple(classes)
    k, m = len(accuracies), len(names)
    shares = [coverages] * k if isinstance(coverages, (int, float)) else list(coverages)
    balance = np.full(m, 1 / m) if prior is None else np.asarray(prior, dtype=np.float64)
    only, parents = dict(one_class or {}), dict(copies or {})
    _check(k, m, [*accuracies, *shares, fidelity], shares, balance, only, parents)
    rng = np.random.default_rng(seed)
    gold = rng.choice(m, size=n, p=balance / balance.sum()).astype(np.int8)
    matrix = np.empty((n, k), dtype=np.int8)
    for j, (accuracy, share) in enumerate(zip(accuracies, shares, strict=True)):
        if j in only:
            column = _one_class(gold, only[j], accuracy, share, balance, rng, j)
        else:
            column = _all_classes(gold, accuracy, share, m, rng)
        if j in parents:
            column = np.where(rng.random(n) < fidelity, matrix[:, parents[j]], column)
        matrix[:, j] = column
    votes = Votes(
        matrix=matrix,
        sources=tuple(f"source_{j}" for j in range(k)),
        classes=names,
        ids=pl.Series("id", range(n), dtype=pl.Int64),
    )
    return votes, gold.astype(np.int16)


def _all_classes(
    gold: NDArray[np.int8], accuracy: float, share: float, m: int, rng: np.random.Generator
) -> NDArray[np.int8]:
    """One source that knows every class: right with probability `accuracy`, where it votes at all."""
    n = len(gold)
    wrong = (gold + rng.integers(1, m, size=n, dtype=np.int16)) % m
    said = np.where(rng.random(n) < accuracy, gold, wrong)
    return np.where(rng.random(n) < share, said, ABSTAIN).astype(np.int8)


def _one_class(
    gold: NDArray[np.int8],
    said: int,
    accuracy: float,
    share: float,
    balance: NDArray[np.float64],
    rng: np.random.Generator,
    j: int,
) -> NDArray[np.int8]:
    """One source that only ever says `said`. By Bayes, P(fires | true = said) = share * accuracy / prior."""
    if_true = share * accuracy / balance[said]
    if_false = share * (1 - accuracy) / (1 - balance[said])
    if max(if_true, if_false) > 1:
        raise InputError(
            f"source {j} cannot say class {said} on {share:.0%} of the documents with accuracy "
            f"{accuracy:g}, for only {balance[said]:.0%} are of that class: lower its coverage"
        )
    fires = rng.random(len(gold)) < np.where(gold == said, if_true, if_false)
    return np.where(fires, said, ABSTAIN).astype(np.int8)


def _check(
    k: int,
    m: int,
    shares: Sequence[float],
    coverages: Sequence[float],
    balance: NDArray[np.float64],
    only: Mapping[int, int],
    parents: Mapping[int, int],
) -> None:
    if len(coverages) != k:
        raise InputError(
            f"{k} accuracies, but {len(coverages)} coverages: give one for each source"
        )
    if not all(0 <= share <= 1 for share in shares):
        raise InputError("accuracies, coverages and fidelity are shares: they lie between 0 and 1")
    if len(balance) != m or balance.min() <= 0 or not np.isclose(balance.sum(), 1):
        raise InputError(
            f"the prior must be {m} positive numbers that sum to 1, not {balance.tolist()}"
        )
    if any(not (0 <= j < k and 0 <= c < m) for j, c in only.items()):
        raise InputError(f"one_class names a source or class that is not there: {dict(only)}")
    if any(not 0 <= i < j < k for j, i in parents.items()):
        raise InputError(f"copies must point from a source to one on its left: {dict(parents)}")

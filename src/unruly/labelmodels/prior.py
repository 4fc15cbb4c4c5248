"""The class prior that a label model is given, or how to come by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unruly.errors import SettingsError

Prior = Literal["uniform", "votes", "learn"] | Sequence[float] | NDArray[np.float64]


def fixed_prior(wish: Prior, cast: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """(m,): the prior as numbers; None for "learn", which only a model of the votes can answer.

    `cast` (k, m) counts the votes of each source for each class. "votes" is their share, with one
    vote for each class added so that no class is impossible.

    >>> cast = np.array([[2.0, 5.0], [1.0, 0.0]])
    >>> fixed_prior("uniform", cast).tolist(), fixed_prior("votes", cast).tolist()
    ([0.5, 0.5], [0.4, 0.6])
    >>> fixed_prior([0.9, 0.2], cast)
    Traceback (most recent call last):
    ...
    unruly.errors.SettingsError: prior [0.9, 0.2] sums to 1.1, not to 1: give the share of each class
    """
    m = cast.shape[1]
    if isinstance(wish, str):
        if wish == "uniform":
            return np.full(m, 1 / m)
        if wish == "votes":
            return np.asarray((cast.sum(axis=0) + 1) / (cast.sum() + m))
        if wish == "learn":
            return None
        raise SettingsError(
            f"prior is {wish!r}: choose 'uniform', 'votes' or 'learn', or give {m} numbers"
        )
    return _numbers(wish, m)


def _numbers(wish: Sequence[float] | NDArray[np.float64], m: int) -> NDArray[np.float64]:
    prior = np.asarray(wish, dtype=np.float64)
    if prior.shape != (m,):
        raise SettingsError(f"prior has {prior.size} numbers, but there are {m} classes")
    if not np.isfinite(prior).all() or prior.min() <= 0:
        raise SettingsError(
            f"prior {prior.tolist()} holds a number that is not above 0: every class needs a share"
        )
    if abs(prior.sum() - 1) > 1e-3:
        raise SettingsError(
            f"prior {prior.tolist()} sums to {prior.sum():g}, not to 1: give the share of each class"
        )
    return np.asarray(prior / prior.sum())

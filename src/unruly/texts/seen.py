"""Which ids have been met before, in eight bytes an id."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray


class SeenIds:
    """Remembers 64-bit hashes of ids in sorted runs of doubling size, so that ten million take 80 MB.

    A hash may lie, once in millions of files: the caller looks at the ids themselves before refusing.

    >>> seen = SeenIds()
    >>> seen.add(pl.Series(["a", "b"])), seen.add(pl.Series(["c", "b"]))
    ([], [1])
    """

    def __init__(self) -> None:
        self._runs: list[NDArray[np.uint64]] = []

    def add(self, ids: pl.Series) -> list[int]:
        """Remember these ids; returns the rows whose id seems to have been added before."""
        hashes = ids.hash().to_numpy()
        met = np.zeros(len(hashes), dtype=np.bool_)
        for run in self._runs:
            at = np.minimum(np.searchsorted(run, hashes), len(run) - 1)
            met |= run[at] == hashes
        if len(hashes):
            self._keep(np.sort(hashes))
        return [int(row) for row in np.flatnonzero(met)]

    def _keep(self, run: NDArray[np.uint64]) -> None:
        while self._runs and len(self._runs[-1]) <= 2 * len(run):
            run = np.sort(np.concatenate([self._runs.pop(), run]), kind="stable")
        self._runs.append(run)

"""Which ids have been met before, in eight bytes an id."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray


class SeenIds:
    """Keeps 64-bit hashes of ids, and looks for equal ones whenever their number has doubled.

    Ten million ids take 80 MB. A hash may lie, once in millions of files: the caller looks at the
    ids themselves before refusing them.

    >>> seen = SeenIds()
    >>> len(seen.add(pl.Series(["a", "b"]))), len(seen.add(pl.Series(["c", "b"]))), len(seen.rest())
    (0, 1, 0)
    """

    def __init__(self) -> None:
        self._sorted = np.zeros(0, dtype=np.uint64)
        self._pending: list[NDArray[np.uint64]] = []
        self._waiting = 0

    def add(self, ids: pl.Series) -> NDArray[np.uint64]:
        """Remember these ids; returns hashes that have occurred twice, as far as has been looked."""
        self._pending.append(hashes(ids))
        self._waiting += len(ids)
        return self.rest() if self._waiting >= len(self._sorted) else _none()

    def rest(self) -> NDArray[np.uint64]:
        """Look at what has not been looked at yet: to be called after the last batch."""
        if not self._waiting:
            return _none()
        both = np.sort(np.concatenate([self._sorted, *self._pending]))
        twice = both[1:][both[1:] == both[:-1]]
        self._sorted, self._pending, self._waiting = both, [], 0
        return np.unique(twice)


def hashes(ids: pl.Series) -> NDArray[np.uint64]:
    """(n,): the same id gives the same hash throughout a run."""
    return ids.hash().to_numpy()


def _none() -> NDArray[np.uint64]:
    return np.zeros(0, dtype=np.uint64)

"""The votes as the attention sees them: a list of cells, one for each vote cast."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class VoteTable:
    """Numbers the pairs (source, outcome) that occur in training; an outcome is a class or, last, silence.

    Each pair has its own learned vector, for that is what a vote is: a certain source saying a certain
    class. A pair that never occurred gets the number `len(table)`, whose vector is zero.
    """

    codes: Whole  # (c,), sorted: source * (m + 1) + outcome
    m: int

    def __len__(self) -> int:
        return len(self.codes)

    def numbers(self, cells: Cells) -> Whole:
        """(v,): the number of each cell's pair."""
        if not len(self.codes):
            return np.zeros(len(cells.row), dtype=np.int64)
        place = np.searchsorted(self.codes, cells.codes).clip(max=len(self.codes) - 1)
        return np.where(self.codes[place] == cells.codes, place, len(self.codes))


@dataclass(frozen=True, eq=False)
class Cells:
    """v cells of an n×k vote matrix, in the order of the documents."""

    row: Whole  # (v,): which document
    source: Whole  # (v,): which source
    outcome: Whole  # (v,): the class that it voted for; m where it abstained
    n: int
    k: int
    m: int

    @classmethod
    def of(cls, matrix: NDArray[np.int8], m: int, attention: str) -> Cells:
        """The votes cast; with attention "all", also the silences of documents that have a vote.

        >>> Cells.of(np.array([[0, -1], [-1, -1], [1, 1]], dtype=np.int8), 2, "voters").row.tolist()
        [0, 2, 2]
        """
        voted = np.asarray(matrix >= 0)
        seen = voted if attention == "voters" else voted | voted.any(axis=1, keepdims=True)
        row, source = np.nonzero(seen)
        outcome = matrix[row, source].astype(np.int64)
        return cls(row, source, np.where(outcome < 0, m, outcome), len(matrix), matrix.shape[1], m)

    @property
    def codes(self) -> Whole:
        return self.source * (self.m + 1) + self.outcome

    @cached_property
    def cast(self) -> NDArray[np.float32]:
        """(v,): 1 for a vote, 0 for a silence: the indicator of Eq. 1."""
        return (self.outcome < self.m).astype(np.float32)

    @cached_property
    def sizes(self) -> Whole:
        """(n,): how many cells each document has."""
        return np.bincount(self.row, minlength=self.n)

    @cached_property
    def contested(self) -> NDArray[np.bool_]:
        """(n,): documents whose cells differ in outcome. Elsewhere attention cannot change the answer."""
        low = np.full(self.n, self.m + 1)
        high = np.full(self.n, -1)
        np.minimum.at(low, self.row, self.outcome)
        np.maximum.at(high, self.row, self.outcome)
        return np.asarray(low < high)

    def sum_by_class(self, values: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """(n, m): the sum of the values of the cells that voted for each class."""
        flat = np.bincount(
            self.row * (self.m + 1) + self.outcome, weights=values, minlength=self.n * (self.m + 1)
        )
        return np.asarray(flat.reshape(self.n, self.m + 1)[:, : self.m], dtype=np.float64)

    def sum_by_source(self, values: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """(k,): the sum of the values of each source's cells."""
        return np.bincount(self.source, weights=values, minlength=self.k).astype(np.float64)

    def matrix(self, values: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """(n, k): the values back in their places, 0 elsewhere."""
        full = np.zeros((self.n, self.k), dtype=np.float32)
        full[self.row, self.source] = values
        return full

    def keep(self, which: NDArray[np.bool_]) -> Cells:
        """Some of the cells, of the same documents."""
        return Cells(
            self.row[which], self.source[which], self.outcome[which], self.n, self.k, self.m
        )

    def take(self, rows: Whole) -> Cells:
        """The cells of some documents, which are numbered anew in the order given."""
        place = np.full(self.n, -1)
        place[rows] = np.arange(len(rows))
        keep = np.flatnonzero(place[self.row] >= 0)
        keep = keep[np.argsort(place[self.row[keep]], kind="stable")]
        return Cells(
            place[self.row[keep]], self.source[keep], self.outcome[keep], len(rows), self.k, self.m
        )

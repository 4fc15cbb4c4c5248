"""Distinct ballots: equal rows of votes are counted once, for label models see only the votes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unruly.errors import InputError
from unruly.plural import plural
from unruly.votes.votes import ABSTAIN, Votes

# Telling rows apart pays as long as each distinct one stands for a few documents.
WORTHWHILE = 3
TABLE = 1 << 16  # the least size of a table of codes


@dataclass(frozen=True, eq=False)
class Ballots:
    """The distinct rows of a vote matrix, one-hot: column j*m + c is 1 where source j says class c.

    A soft vote spreads its 1 over the m columns of its source. Ten sources on a million documents
    leave a few thousand distinct ballots, and everything that a label model learns is a sum over them.

    >>> ballots = Ballots.of(Votes.from_array([[0, -1], [1, 1], [0, -1], [0, -1], [1, 1], [1, 1]]))
    >>> ballots.onehot.toarray().astype(int).tolist(), ballots.counts.tolist()
    ([[1, 0, 0, 0], [0, 1, 0, 1]], [3.0, 3.0])
    >>> ballots.cast.tolist()
    [[3.0, 3.0], [0.0, 3.0]]
    >>> ballots.expand(np.array([[0.9, 0.1], [0.2, 0.8]]))[:2].tolist()
    [[0.9, 0.1], [0.2, 0.8]]
    """

    onehot: csr_array  # (u, k*m), float64
    counts: NDArray[np.float64]  # (u,): the documents behind each ballot
    inverse: (
        NDArray[np.intp] | None
    )  # (n,): the ballot of each document; None when they are one to one
    k: int
    m: int

    @classmethod
    def of(cls, votes: Votes) -> Ballots:
        """The ballots behind these votes; refuses votes without documents, sources or a single vote."""
        if not votes.n or not votes.k:
            raise InputError(
                f"no votes: {plural(votes.n, 'document')} and {plural(votes.k, 'source')}, need one of each"
            )
        if votes.soft:
            return cls(_soft(votes), np.ones(votes.n), None, votes.k, votes.m)
        inverse = _same_rows(votes.matrix, votes.m)
        if inverse is None:
            return cls(_onehot(votes.matrix, votes.m), np.ones(votes.n), None, votes.k, votes.m)
        counts = np.bincount(inverse)
        example = np.empty(len(counts), dtype=np.intp)
        example[inverse] = np.arange(votes.n)  # some document of each ballot: they are all alike
        onehot = _onehot(votes.matrix[example], votes.m)
        return cls(onehot, counts.astype(np.float64), inverse, votes.k, votes.m)

    @property
    def n(self) -> int:
        """How many documents."""
        return int(self.counts.sum())

    @cached_property
    def empty(self) -> NDArray[np.bool_]:
        """(u,): the ballots without a vote."""
        return np.asarray(np.diff(self.onehot.indptr) == 0)

    @cached_property
    def cast(self) -> NDArray[np.float64]:
        """(k, m): how many votes each source cast for each class."""
        return np.asarray(self.onehot.T @ self.counts).reshape(self.k, self.m)

    def joint(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """(k, m, m): votes of source j for class c on documents of class y, given P(y | ballot) = q (u, m)."""
        rest = self.onehot.T @ (
            q[:, 1:] * self.counts[:, None]
        )  # (k*m, m-1); class 0 is what is left
        first = np.maximum(self.cast.reshape(-1) - rest.sum(axis=1), 0.0)
        return np.column_stack([first, rest]).reshape(self.k, self.m, self.m)

    def mass(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """(m,): how many documents are of each class, given q (u, m)."""
        # Not BLAS: its threads cost more than they bring.
        return np.asarray(np.einsum("u,uy->y", self.counts, q))

    def shares(self, prior: NDArray[np.float64]) -> NDArray[np.float64]:
        """(u, m): each class's share of the votes on a ballot; the prior where there is none."""
        of_class = csr_array(np.tile(np.eye(self.m), (self.k, 1)))  # (k*m, m)
        votes = (self.onehot @ of_class).toarray()  # (u, m)
        total = votes.sum(axis=1, keepdims=True)
        return np.where(total > 0, votes / np.where(total > 0, total, 1.0), prior)

    def only(self, rows: NDArray[np.bool_]) -> Ballots:
        """Some of the ballots, without the way back to documents."""
        return Ballots(self.onehot[rows], self.counts[rows], None, self.k, self.m)

    def expand(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, ...): values of ballots, back in the order of the documents."""
        return values if self.inverse is None else values[self.inverse]


def _onehot(matrix: NDArray[np.int8], m: int) -> csr_array:
    """(n, k) votes to the (n, k*m) indicator matrix of who said what."""
    n, k = matrix.shape
    small = n * k < 2**31
    cells = np.flatnonzero(matrix != ABSTAIN).astype(np.int32 if small else np.int64)
    columns = cells % k * m + matrix.reshape(-1)[cells]
    starts = np.searchsorted(cells, np.arange(n + 1, dtype=np.int64) * k).astype(cells.dtype)
    return csr_array((np.ones(len(cells)), columns, starts), shape=(n, k * m))


def _soft(votes: Votes) -> csr_array:
    """(n, k*m): as `_onehot`, but the sources that give probabilities keep them."""
    dense = np.zeros((votes.n, votes.k, votes.m))
    for j, source in enumerate(votes.sources):
        column = votes.matrix[:, j]
        said = column != ABSTAIN
        if source in votes.soft:
            dense[said, j] = votes.soft[source][said]
        else:
            dense[said, j, column[said]] = 1.0
    return csr_array(dense.reshape(votes.n, -1))


def _same_rows(matrix: NDArray[np.int8], m: int) -> NDArray[np.intp] | None:
    """(n,): the number of each row's ballot, or None when the rows are too different to be worth it.

    Rows are read as numbers in base m+1, column by column. Whenever the number could outgrow a table
    of a few n entries, the codes in use are numbered anew; so this is exact, and linear in n without a sort.
    """
    n = len(matrix)
    most = max(TABLE, 2 * n)
    code, bound = np.zeros(n, dtype=np.intp), 1
    for j in np.flatnonzero((matrix != ABSTAIN).any(axis=0)):
        if bound * (m + 1) > most:
            code, bound = _renumber(code, bound)
            if bound * WORTHWHILE > n or bound * (m + 1) > most:
                return None
        code *= m + 1
        code += matrix[:, j]
        code += 1
        bound *= m + 1
    code, bound = _renumber(code, bound)
    return code if bound * WORTHWHILE <= n else None


def _renumber(code: NDArray[np.intp], bound: int) -> tuple[NDArray[np.intp], int]:
    """Codes below `bound` to 0, 1, 2... in order of first code; and how many there are."""
    used = np.zeros(bound, dtype=np.bool_)
    used[code] = True
    number = np.cumsum(used) - 1
    return number[code], int(number[-1]) + 1

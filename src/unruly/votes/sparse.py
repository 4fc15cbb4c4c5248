"""The votes as a sparse indicator matrix: the one encoding that label models and networks compute with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from unruly.errors import InputError
from unruly.statistics import ratio
from unruly.votes.votes import ABSTAIN, VoteKind, Votes, is_even
from unruly.wording import plural

WORTHWHILE = 3  # documents for each distinct row, on average: with fewer, merging does not pay
TABLE = 1 << 16  # the least size of a table of codes
_CHUNK = 65_536  # documents with soft votes laid out densely at a time


@dataclass(frozen=True, eq=False)
class SparseVotes:
    """n rows of votes: column j*m + c of `onehot` is 1 where source j votes for class c.

    A soft vote spreads its 1 over the m columns of its source, a partial one in equal parts over its
    classes. Abstentions are empty; `unasked` tells which of them are missing votes.

    >>> votes = SparseVotes.of(Votes.from_array([[0, -1], [1, 1]]))
    >>> votes.onehot.toarray().astype(int).tolist()
    [[1, 0, 0, 0], [0, 1, 0, 1]]
    >>> votes.row.tolist(), votes.source.tolist(), votes.outcome.tolist()
    ([0, 1, 1], [0, 0, 1], [0, 1, 1])
    >>> votes.counts().tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """

    onehot: csr_array  # (n, k*m), float64
    k: int
    m: int
    unasked: NDArray[np.bool_] | None = None  # (n, k); None: every source saw every document

    @classmethod
    def of(cls, votes: Votes) -> SparseVotes:
        """The encoding of these votes, soft ones included."""
        unasked = None
        if votes.unasked:
            unasked = np.zeros((votes.n, votes.k), dtype=np.bool_)
            for source, missing in votes.unasked.items():
                unasked[:, votes.sources.index(source)] = missing
        onehot = _soft(votes) if votes.soft else _hard(votes.matrix, votes.m)
        return cls(onehot, votes.k, votes.m, unasked)

    @classmethod
    def from_matrix(cls, matrix: NDArray[np.signedinteger[Any]], m: int) -> SparseVotes:
        """The encoding of an (n, k) matrix of class numbers, -1 where a source abstains."""
        return cls(_hard(matrix, m), matrix.shape[1], m)

    @property
    def n(self) -> int:
        """How many rows."""
        return int(self.onehot.shape[0])

    @cached_property
    def row(self) -> NDArray[np.intp]:
        """(v,): the row of each entry, ascending."""
        return np.repeat(np.arange(self.n), np.diff(self.onehot.indptr))

    @cached_property
    def source(self) -> NDArray[np.intp]:
        """(v,): the source of each entry."""
        return np.asarray(self.onehot.indices // self.m, dtype=np.intp)

    @cached_property
    def outcome(self) -> NDArray[np.intp]:
        """(v,): the class of each entry."""
        return np.asarray(self.onehot.indices % self.m, dtype=np.intp)

    @cached_property
    def covered(self) -> NDArray[np.bool_]:
        """(n,): rows with at least one vote."""
        return np.asarray(np.diff(self.onehot.indptr) > 0)

    @cached_property
    def _vote(self) -> NDArray[np.intp]:
        """(v,): the number of the vote that each entry belongs to, ascending from 1."""
        cell = self.row * self.k + self.source  # ascending: entries of one vote stand together
        return np.cumsum(np.diff(cell, prepend=-1) != 0)

    @cached_property
    def partial(self) -> NDArray[np.bool_]:
        """(v,): entries of partial votes: equal shares of some of the classes."""
        size = np.bincount(self._vote)[self._vote]  # (v,): classes that the entry's vote names
        uneven = ~is_even(self.onehot.data, size)
        other = np.bincount(self._vote, uneven)[self._vote] > 0  # a soft vote that is not even
        return np.asarray((size > 1) & (size < self.m) & ~other, np.bool_)

    @cached_property
    def credit(self) -> csr_array:
        """(n, k*m): how right a vote is if c is the true class, in column j*m + c.

        1 for each class that a partial vote names; the share of the class for a soft vote.
        """
        credit = np.where(self.partial, 1.0, self.onehot.data)
        return csr_array((credit, self.onehot.indices, self.onehot.indptr), self.onehot.shape)

    def chance(self, shares: NDArray[np.floating]) -> NDArray[np.float64]:
        """(k,): how often each source would be right if classes were drawn by these shares (m,); 0 without votes.

        >>> from unruly.votes.votes import Votes
        >>> votes = SparseVotes.of(Votes.from_array([[0, 1], [0, -1], [1, 1], [1, 1]]))
        >>> votes.chance(np.array([0.9, 0.1])).round(2).tolist()
        [0.5, 0.1]
        """
        cast = self.onehot.sum(axis=0).reshape(self.k, self.m).sum(axis=1)  # (k,)
        right = self.credit.sum(axis=0).reshape(self.k, self.m) @ shares  # (k,)
        return ratio(right, cast, 0.0)

    @cached_property
    def together(self) -> NDArray[np.float64]:
        """(k, k): sum_ic O_ijc O_ilc, how often two sources name the same class of the same row."""
        _, cell = np.unique(self.row * self.m + self.outcome, return_inverse=True)
        named = csr_array((self.onehot.data, (cell, self.source)), (len(cell), self.k))
        return np.asarray((named.T @ named).toarray())

    @cached_property
    def named_together(self) -> NDArray[np.bool_]:
        """(k, m, m): whether some vote of the source names both classes, as a partial or a soft one does; each with itself.

        >>> SparseVotes.of(Votes.from_array([[0], [1]])).named_together.astype(int).tolist()
        [[[1, 0], [0, 1]]]
        """
        found = np.tile(np.eye(self.m, dtype=np.bool_), (self.k, 1, 1))
        several = (
            np.bincount(self._vote)[self._vote] > 1
        )  # (v,): entries of votes that name more than one class
        for j in np.unique(self.source[several]):
            named = self.onehot[:, j * self.m : (j + 1) * self.m] != 0  # (n, m)
            found[j] |= (named.T.astype(np.float64) @ named.astype(np.float64)).toarray() > 0
        return found

    def of_source(self, j: int) -> SourceVotes:
        """The votes of one source alone."""
        order, starts = self._by_source
        entries = order[starts[j] : starts[j + 1]]
        row = self.row[entries]
        vote = np.cumsum(np.diff(row, prepend=-1) != 0) - 1
        return SourceVotes(
            rows=row[np.flatnonzero(np.diff(row, prepend=-1))],
            vote=vote,
            outcome=self.outcome[entries],
            cast=self.onehot.data[entries],
            credit=self.credit.data[entries],
        )

    @cached_property
    def _by_source(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """(v,), (k + 1,): the entries source by source, and where each source's begin."""
        order = np.argsort(self.source, kind="stable")
        counts = np.bincount(self.source, minlength=self.k)
        return order, np.concatenate([[0], np.cumsum(counts)])

    def whole(self) -> SparseVotes:
        """The same without partial votes."""
        return self._without(self.partial)

    def unsupporting(self) -> SparseVotes:
        """The same without partial votes on rows that have whole ones: they only support these."""
        return self._without(self.partial & self.whole().covered[self.row])

    def _without(self, entries: NDArray[np.bool_]) -> SparseVotes:
        if not entries.any():
            return self
        onehot = self.onehot.copy()  # the next lines change it in place
        onehot.data[entries] = 0
        onehot.eliminate_zeros()
        return SparseVotes(onehot, self.k, self.m, self.unasked)

    def counts(self) -> NDArray[np.float64]:
        """(n, m): how many votes each class has."""
        flat = np.bincount(
            self.row * self.m + self.outcome, self.onehot.data, minlength=self.n * self.m
        )
        return np.asarray(flat, dtype=np.float64).reshape(self.n, self.m)

    def shares(self, prior: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, m): each class's share of the votes in a row; the prior where there is none."""
        return _shares(self.counts(), prior)

    def combined_shares(self, prior: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, m): as `shares`, but a partial vote only supports other votes for its classes.

        Where there are no others, its classes share it by the prior.

        >>> import dataclasses
        >>> votes = Votes.from_array([[0, -1], [0, 0], [0, 2]], classes=["a", "b", "c"])
        >>> half = np.tile(np.array([0.5, 0.5, 0], np.float32), (3, 1))
        >>> votes = dataclasses.replace(votes, soft={votes.sources[0]: half})  # a or b
        >>> found = SparseVotes.of(votes).combined_shares(np.array([0.6, 0.2, 0.2]))
        >>> found.round(2).tolist()
        [[0.75, 0.25, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
        """
        if not self.partial.any():
            return self.shares(prior)
        size = self.n * self.m
        place = (self.row * self.m + self.outcome)[self.partial]
        support = np.bincount(place, minlength=size).reshape(self.n, self.m)  # partial votes for c
        whole = self.whole().counts()
        named = whole.any(axis=1, keepdims=True)
        return _shares(np.where(named, whole * (1 + support), support * prior), prior)

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> SparseVotes:
        """Some of the rows: numbers, or a mask."""
        unasked = None if self.unasked is None else self.unasked[rows]
        return SparseVotes(self.onehot[rows], self.k, self.m, unasked)


@dataclass(frozen=True, eq=False)
class SourceVotes:
    """The v votes of one source, in e entries: one for each class that a vote names.

    >>> one = SparseVotes.of(Votes.from_array([[0, -1], [1, 1], [-1, 0]])).of_source(1)
    >>> one.rows.tolist(), one.vote.tolist(), one.outcome.tolist(), one.cast.tolist()
    ([1, 2], [0, 1], [1, 0], [1.0, 1.0])
    """

    rows: NDArray[np.intp]  # (v,): the documents that it votes on, ascending
    vote: NDArray[np.intp]  # (e,): the vote that an entry belongs to
    outcome: NDArray[np.intp]  # (e,): the class that it names
    cast: NDArray[np.float64]  # (e,): the part of the vote
    credit: NDArray[np.float64]  # (e,): how far the vote is right when this class is the true one

    def looked_up(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """(v, y): for each vote, the rows of a table (c, y) for the classes that it names, by its parts.

        >>> one = SparseVotes.of(Votes.from_array([[0, -1], [1, 1], [-1, 0]])).of_source(1)
        >>> one.looked_up(np.array([[0.9, 0.1], [0.2, 0.8]])).tolist()
        [[0.2, 0.8], [0.9, 0.1]]
        """
        parts = csr_array((self.cast, (self.vote, self.outcome)), (len(self.rows), len(table)))
        return np.asarray(parts @ table)


@dataclass(frozen=True, eq=False)
class DistinctVotes:
    """The u distinct rows of a vote matrix: label models see only the votes, so equal rows count once.

    Ten sources on a million documents leave a few thousand distinct rows, and everything that a label
    model learns is a sum over them.

    >>> rows = [[0, -1], [1, 1], [0, -1], [0, -1], [1, 1], [1, 1]]
    >>> distinct = DistinctVotes.of(Votes.from_array(rows))
    >>> distinct.votes.onehot.toarray().astype(int).tolist(), distinct.counts.tolist()
    ([[1, 0, 0, 0], [0, 1, 0, 1]], [3.0, 3.0])
    >>> distinct.cast.tolist()
    [[3.0, 3.0], [0.0, 3.0]]
    >>> distinct.expand(np.array([[0.9, 0.1], [0.2, 0.8]]))[:2].tolist()
    [[0.9, 0.1], [0.2, 0.8]]
    """

    votes: SparseVotes  # u rows
    counts: NDArray[np.float64]  # (u,): the documents behind each row
    inverse: NDArray[np.intp] | None  # (n,): the row of each document; None when one to one

    @classmethod
    def of(cls, votes: Votes) -> DistinctVotes:
        """The distinct rows of these votes, which need a document and a source; with soft or missing votes, all rows."""
        if not votes.n or not votes.k:
            raise InputError(
                f"no votes: {plural(votes.n, 'document')} and {plural(votes.k, 'source')}, need one of each"
            )
        # From the matrix itself, so that a million documents are not laid out before they are merged.
        matrix, inverse = votes.matrix, None
        single = all((kind <= VoteKind.SINGLE).all() for kind in votes.kinds.values())
        if not votes.unasked and single:
            digits = (matrix[:, j].astype(np.intp) - ABSTAIN for j in range(votes.k))
            inverse = _same_rows(digits, votes.n, votes.m)
        if inverse is None:
            return cls(SparseVotes.of(votes), np.ones(votes.n), None)
        counts, example = _examples(inverse)
        return cls(SparseVotes.from_matrix(matrix[example], votes.m), counts, inverse)

    @property
    def k(self) -> int:
        """How many sources."""
        return self.votes.k

    @property
    def m(self) -> int:
        """How many classes."""
        return self.votes.m

    @property
    def n(self) -> int:
        """How many documents."""
        return int(self.counts.sum())

    @cached_property
    def cast(self) -> NDArray[np.float64]:
        """(k, m): how many votes each source cast for each class."""
        return np.asarray(self.votes.onehot.T @ self.counts).reshape(self.k, self.m)

    def joint(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """(k, m, m): votes of source j for class c on documents of class y, given P(y | row) = q (u, m)."""
        # Class 0 is what the others leave: one column less to multiply.
        rest = self.votes.onehot.T @ (q[:, 1:] * self.counts[:, None])  # (k*m, m-1)
        first = np.maximum(self.cast.reshape(-1) - rest.sum(axis=1), 0.0)
        return np.column_stack([first, rest]).reshape(self.k, self.m, self.m)

    def right(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """(k,): the expected number of right votes of each source, given q (u, m)."""
        right = self.votes.credit.T @ (q * self.counts[:, None])  # (k*m, m)
        return np.asarray(np.einsum("jcc->j", right.reshape(self.k, self.m, self.m)))

    def mass(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """(m,): how many documents are of each class, given q (u, m)."""
        # Not BLAS: its threads cost more than they bring.
        return np.asarray(np.einsum("u,uy->y", self.counts, q))

    def asked_mass(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """(k, m): as `mass`, over the documents that each source was asked about."""
        mass = np.tile(self.mass(q), (self.k, 1))
        if self.votes.unasked is None:
            return mass
        return np.asarray(mass - self.votes.unasked.T @ (q * self.counts[:, None]))

    @cached_property
    def asked(self) -> NDArray[np.float64]:
        """(k, 1): how many documents each source was asked about, at least 1."""
        return np.maximum(self.asked_mass(np.ones((len(self.counts), 1))), 1.0)

    def only(self, rows: NDArray[np.bool_]) -> DistinctVotes:
        """Some of the rows, without the way back to documents."""
        return DistinctVotes(self.votes.take(rows), self.counts[rows], None)

    def expand(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, ...): values of rows, back in the order of the documents."""
        return values if self.inverse is None else values[self.inverse]


def _shares(votes: NDArray[np.float64], prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, m): each row divided by its sum; the prior where that is 0."""
    return ratio(votes, votes.sum(axis=1, keepdims=True), prior)


def _hard(matrix: NDArray[np.signedinteger[Any]], m: int) -> csr_array:
    """(n, k) votes to the (n, k*m) indicator matrix."""
    n, k = matrix.shape
    small = n * k < 2**31
    cells = np.flatnonzero(matrix != ABSTAIN).astype(np.int32 if small else np.int64)
    columns = cells % k * m + matrix.reshape(-1)[cells]
    starts = np.searchsorted(cells, np.arange(n + 1, dtype=np.int64) * k).astype(cells.dtype)
    return csr_array((np.ones(len(cells)), columns, starts), shape=(n, k * m))


def _soft(votes: Votes) -> csr_array:
    """(n, k*m): as `_hard`, but the sources that give probabilities keep them."""
    n, k, m = votes.n, votes.k, votes.m
    parts = [csr_array((0, k * m), dtype=np.float64)]
    for start in range(0, n, _CHUNK):
        matrix = votes.matrix[start : start + _CHUNK]
        dense = np.zeros((len(matrix), k, m))
        for j, source in enumerate(votes.sources):
            voted = np.flatnonzero(matrix[:, j] != ABSTAIN)
            if source in votes.soft:
                dense[voted, j] = votes.soft[source][start : start + _CHUNK][voted]
            else:
                dense[voted, j, matrix[voted, j]] = 1.0
        parts.append(csr_array(dense.reshape(len(matrix), -1)))
    return csr_array(vstack(parts, format="csr"))


def _same_rows(columns: Iterable[NDArray[np.intp]], n: int, m: int) -> NDArray[np.intp] | None:
    """(n,): equal rows get equal numbers, from 0; None where too few rows are equal to be worth it.

    Each column holds a digit from 0 (abstains) to m for every row; a row is a number in base m+1. Whenever
    that could outgrow a table of a few n entries, the numbers in use are numbered again: exact, and linear in n.
    """
    most = max(TABLE, 2 * n)
    code, bound = np.zeros(n, dtype=np.intp), 1
    for digits in columns:
        if not digits.any():
            continue  # a source that never votes tells no rows apart
        if bound * (m + 1) > most:
            code, bound = _renumber(code, bound)
            if bound * WORTHWHILE > n or bound * (m + 1) > most:
                return None
        code *= m + 1
        code += digits
        bound *= m + 1
    code, bound = _renumber(code, bound)
    return code if bound * WORTHWHILE <= n else None


def _examples(inverse: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """(u,), (u,): how many rows have each number, and one of these rows."""
    counts = np.bincount(inverse)
    example = np.empty(len(counts), dtype=np.intp)
    example[inverse] = np.arange(len(inverse))
    return counts.astype(np.float64), example


def _renumber(code: NDArray[np.intp], bound: int) -> tuple[NDArray[np.intp], int]:
    """Codes below `bound` to 0, 1, 2... in order of code; and how many there are."""
    used = np.zeros(bound, dtype=np.bool_)
    used[code] = True
    number = np.cumsum(used) - 1
    return number[code], int(number[-1]) + 1

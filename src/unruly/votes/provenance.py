"""Where votes come from: why each source voted as it did, and why some had to abstain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from unruly.votes.votes import Votes


@dataclass(frozen=True)
class Match:
    """Why one source voted as it did on one document."""

    source: str
    rule: int  # which of the source's rules decided, counted from 0
    label: str  # the class, or the classes of a partial vote: 'billing or bug'
    spans: tuple[tuple[int, int], ...]  # character ranges of the text that the rule matched
    reason: str  # the rule in words, e.g. 'keywords: subscribe'
    some: tuple[str, ...] = ()  # the classes of a partial vote

    @property
    def classes(self) -> tuple[str, ...]:
        """The class that it names, or all of a partial vote."""
        return self.some or (self.label,)


@dataclass(frozen=True, eq=False)
class GivenUp:
    """A rule that took too long on some documents, on which its source so abstains."""

    source: str
    rule: int  # of its source, from 1
    rows: NDArray[np.bool_]  # (n,): on which documents
    seconds: float  # the budget for one document
    pattern: bool  # whether it has a pattern, whose budget can be set; else a sequence of words


@dataclass(frozen=True, eq=False)
class ColumnLacking:
    """A source that reads a column which some documents do not have, and so abstains on them."""

    source: str
    column: str
    rows: NDArray[np.bool_]  # (n,): on which documents


class Provenance(Protocol):
    """Whoever made the votes, and can still tell why."""

    @property
    def matcher(self) -> object:
        """The rules that made them."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the documents that they were made on, beside the text."""

    @property
    def given_up(self) -> tuple[GivenUp, ...]:
        """Where rules took too long."""

    @property
    def lacking(self) -> tuple[ColumnLacking, ...]:
        """Where documents lack a column."""

    def matches(self, row: int) -> tuple[Match, ...]:
        """What fired on this document, one `Match` for each source that voted."""

    def of_sources(self, names: Sequence[str]) -> Provenance:
        """The same for some of the sources only, in this order."""


Fact = TypeVar("Fact", GivenUp, ColumnLacking)


@dataclass(frozen=True, eq=False)
class PickedRows:
    """The provenance of rows picked from other votes: slices, splits, joined batches."""

    parts: tuple[Provenance, ...]  # all of the same rules
    part: NDArray[np.int64]  # (n,): which part a row is from
    row: NDArray[np.int64]  # (n,): its number there

    @classmethod
    def of(cls, provenance: Provenance, n: int) -> PickedRows:
        """All rows of one part."""
        if isinstance(provenance, cls):
            return provenance
        return cls((provenance,), np.zeros(n, dtype=np.int64), np.arange(n))

    @classmethod
    def joined(cls, votes: Sequence[Votes]) -> PickedRows | None:
        """The rows of several votes one below the other; None unless all know the same rules."""
        given = [(v.provenance, v.n) for v in votes if v.n]
        known = [cls.of(provenance, n) for provenance, n in given if provenance is not None]
        if not known or len(known) < len(given):
            return None
        parts = tuple(part for picked in known for part in picked.parts)
        if any(part.matcher != parts[0].matcher for part in parts):
            return None
        first = np.cumsum([0, *(len(picked.parts) for picked in known)])
        return cls(
            parts,
            np.concatenate([p.part + start for p, start in zip(known, first, strict=False)]),
            np.concatenate([p.row for p in known]),
        )

    @property
    def matcher(self) -> object:
        """The rules that made the votes."""
        return self.parts[0].matcher

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the documents that the votes were made on, beside the text."""
        return tuple(dict.fromkeys(column for part in self.parts for column in part.columns))

    @property
    def given_up(self) -> tuple[GivenUp, ...]:
        """Where rules took too long on these rows."""
        return tuple(self._facts(part.given_up for part in self.parts))

    @property
    def lacking(self) -> tuple[ColumnLacking, ...]:
        """Where these rows lack a column."""
        return tuple(self._facts(part.lacking for part in self.parts))

    def _facts(self, found: Iterable[tuple[Fact, ...]]) -> Iterator[Fact]:
        """What the parts know of their rows, said of these rows."""
        for number, facts in enumerate(found):
            own = self.part == number
            for fact in facts:
                rows = np.zeros(len(self.part), dtype=np.bool_)
                rows[own] = fact.rows[self.row[own]]
                if rows.any():
                    yield replace(fact, rows=rows)

    def take(self, rows: NDArray[np.int64]) -> PickedRows:
        """Some of these rows."""
        return PickedRows(self.parts, self.part[rows], self.row[rows])

    def of_sources(self, names: Sequence[str]) -> PickedRows:
        """The same rows for some of the sources only."""
        return replace(self, parts=tuple(part.of_sources(names) for part in self.parts))

    def matches(self, row: int) -> tuple[Match, ...]:
        """What fired on this document."""
        return self.parts[int(self.part[row])].matches(int(self.row[row]))

"""What every kind of rule has in common: a condition on a document, as a polars expression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import polars as pl

from unruly.rules.place import Plain, Table

Span = tuple[int, int]  # characters from, up to
Row = Mapping[str, object]  # one document: its columns and measures by name

TEXT = "__text"  # the column that holds the texts while rules are matched
ID = "__id"


@runtime_checkable
class Measure(Protocol):
    """A column worked out in Python, once per document however many rules use it."""

    @property
    def name(self) -> str:
        """The name of the new column; equal measures have equal names."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns it is worked out from, beside the text."""

    def compute(self, frame: pl.DataFrame) -> pl.Series:
        """The new column; raises `RowFailure` when a document cannot be measured."""

    def meaning(self) -> Plain | None:
        """All that decides its values, versions of libraries included; None is never cached."""


class RowFailure(Exception):
    """A measure failed on one document. The matcher adds the rule and the document's id."""

    def __init__(self, row: int, problem: str) -> None:
        super().__init__(problem)
        self.row = row
        self.problem = problem


@dataclass(frozen=True)
class Needs:
    """What a condition reads beside the text: columns of the data, and measures."""

    columns: tuple[str, ...] = ()
    measures: tuple[Measure, ...] = ()

    def __add__(self, other: Needs) -> Needs:
        return Needs(
            tuple(dict.fromkeys(self.columns + other.columns)),
            tuple({m.name: m for m in self.measures + other.measures}.values()),
        )


NOTHING = Needs()


class Condition(Protocol):
    """One kind of rule: holds or does not hold for a document."""

    def needs(self, classes: tuple[str, ...]) -> Needs:
        """What must be there before `mask` can be evaluated."""

    def mask(self) -> pl.Expr:
        """True where the condition holds, False elsewhere; never null."""

    def spans(self, row: Row) -> tuple[Span, ...]:
        """The stretches of a matching document's text that made it match, in characters."""

    def reason(self) -> str:
        """The condition in a few words."""

    def to_plain(self) -> Table:
        """The keys and values that say this in a project file."""

    def meaning(self) -> Plain | None:
        """All that decides its answers, contents of files included: what the cache goes by.

        None when that cannot be known, so that nothing is kept.
        """


@runtime_checkable
class Voter(Protocol):
    """A condition that itself picks the class to vote for, in a rule of its own."""

    @property
    def picks(self) -> bool:
        """Whether it does: some conditions do so only when asked to."""

    def vote(self, label: str | None, classes: tuple[str, ...]) -> pl.Expr:
        """The class number, or null to abstain; refuses a label that it has no use for."""


def picks(condition: Condition) -> bool:
    """Whether a condition picks the class itself."""
    return isinstance(condition, Voter) and condition.picks

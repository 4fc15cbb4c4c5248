"""`all`, `any` and `not`: conditions made of conditions."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from unruly.errors import RuleError
from unruly.rules.condition import (
    Condition,
    Needs,
    Plain,
    Row,
    Span,
    Table,
    picks,
    spans_of,
    words_read,
)
from unruly.rules.expressions import merged, words_of


@dataclass(frozen=True)
class AllOf:
    """Every one of the conditions holds."""

    conditions: tuple[Condition, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "conditions", _parts(self.conditions, "all"))

    def needs(self, classes: tuple[str, ...]) -> Needs:
        return _needs(self.conditions, classes)

    def mask(self) -> pl.Expr:
        return pl.all_horizontal(c.mask() for c in self.conditions)

    def spans(self, row: Row) -> tuple[Span, ...]:
        return merged([span for c in self.conditions for span in spans_of(c, row)])

    def reads(self) -> tuple[str, ...]:
        return words_of(word for c in self.conditions for word in words_read(c))

    def reason(self) -> str:
        return " and ".join(f"({c.reason()})" for c in self.conditions)

    def to_plain(self) -> Table:
        return {"all": [c.to_plain() for c in self.conditions]}

    def meaning(self) -> Plain | None:
        return _meaning("all", self.conditions)


@dataclass(frozen=True)
class AnyOf:
    """At least one of the conditions holds."""

    conditions: tuple[Condition, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "conditions", _parts(self.conditions, "any"))

    def needs(self, classes: tuple[str, ...]) -> Needs:
        return _needs(self.conditions, classes)

    def mask(self) -> pl.Expr:
        return pl.any_horizontal(c.mask() for c in self.conditions)

    def spans(self, row: Row) -> tuple[Span, ...]:
        return merged([span for c in self.conditions for span in spans_of(c, row)])

    def reads(self) -> tuple[str, ...]:
        return words_of(word for c in self.conditions for word in words_read(c))

    def reason(self) -> str:
        return " or ".join(f"({c.reason()})" for c in self.conditions)

    def to_plain(self) -> Table:
        return {"any": [c.to_plain() for c in self.conditions]}

    def meaning(self) -> Plain | None:
        return _meaning("any", self.conditions)


@dataclass(frozen=True)
class Not:
    """The condition does not hold."""

    condition: Condition

    def __post_init__(self) -> None:
        _parts((self.condition,), "not")

    def needs(self, classes: tuple[str, ...]) -> Needs:
        return self.condition.needs(classes)

    def mask(self) -> pl.Expr:
        return ~self.condition.mask()

    def reason(self) -> str:
        return f"not ({self.condition.reason()})"

    def to_plain(self) -> Table:
        return {"not": self.condition.to_plain()}

    def meaning(self) -> Plain | None:
        return _meaning("not", (self.condition,))


def _parts(conditions: tuple[Condition, ...], word: str) -> tuple[Condition, ...]:
    if not conditions:
        raise RuleError(f"{word} needs at least one condition")
    for condition in conditions:
        if picks(condition):
            raise RuleError(
                f"{word} cannot hold ({condition.reason()}), which picks the class itself: "
                "make it a rule of its own"
            )
    return tuple(conditions)


def _needs(conditions: tuple[Condition, ...], classes: tuple[str, ...]) -> Needs:
    total = Needs()
    for condition in conditions:
        total = total + condition.needs(classes)
    return total


def _meaning(word: str, conditions: tuple[Condition, ...]) -> Plain | None:
    meanings = [condition.meaning() for condition in conditions]
    known = [meaning for meaning in meanings if meaning is not None]
    return {word: known} if len(known) == len(meanings) else None

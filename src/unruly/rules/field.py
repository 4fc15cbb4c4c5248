"""`field`: conditions on other columns, and on the words about two entities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import polars as pl

from unruly.errors import RuleError
from unruly.rules.condition import Needs, Row, Span
from unruly.rules.part import PartWords
from unruly.rules.place import Place, Plain, Table, shown
from unruly.rules.relation_parts import RELATION, relation_field

Value: TypeAlias = "str | int | float | bool"
_KEYS = ("column", "equal", "in", "min", "max", "part", "words", "keywords", "pattern", "match")
_KEYS_ALL = (*_KEYS, "ignore_case", "same_last_name")


@dataclass(frozen=True)
class Field:
    """A column holds a value, one of several, or a number between bounds, both included.

    >>> rule = Field("stars", low=4)
    >>> pl.DataFrame({"stars": [5, 3, None]}).select(rule.mask()).to_series().to_list()
    [True, False, False]
    """

    column: str
    equal: Value | None = None
    among: Sequence[Value] | None = None
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        given = [self.equal is not None, self.among is not None]
        given.append(self.low is not None or self.high is not None)
        if sum(given) != 1:
            raise RuleError(
                f"the field {self.column!r} needs one test: equal, in, or min and max, or keywords"
            )
        if self.among is not None:
            object.__setattr__(self, "among", tuple(self.among))
            if not self.among:
                raise RuleError(f"the field {self.column!r}: the list of values is empty")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise RuleError(f"no number is at least {self.low:g} and at most {self.high:g}")

    def needs(self, classes: tuple[str, ...]) -> Needs:
        return Needs(columns=(self.column,))

    def mask(self) -> pl.Expr:
        if self.equal is not None or self.among is not None:
            values = (self.equal,) if self.equal is not None else tuple(self.among or ())
            test = pl.any_horizontal(
                _equals(pl.col(self.column), v) for v in values if v is not None
            )
        else:
            number = pl.col(self.column).cast(pl.Float64)
            tests = [] if self.low is None else [number >= self.low]
            test = pl.all_horizontal(tests if self.high is None else [*tests, number <= self.high])
        return test.fill_null(False)

    def spans(self, row: Row) -> tuple[Span, ...]:
        return ()

    def reason(self) -> str:
        return f"field {self.column}: " + ", ".join(f"{k} {v}" for k, v in self._tests().items())

    def _tests(self) -> dict[str, Plain]:
        tests: dict[str, Plain] = {}
        if self.equal is not None:
            tests["equal"] = self.equal
        if self.among is not None:
            tests["in"] = list(self.among)
        if self.low is not None:
            tests["min"] = self.low
        if self.high is not None:
            tests["max"] = self.high
        return tests

    def to_plain(self) -> Table:
        return {"field": {"column": self.column, **self._tests()}}

    def meaning(self) -> Plain:
        return self.to_plain()


@dataclass(frozen=True)
class SameLastName:
    """The two entities have the same last name; an entity of one word has none."""

    def needs(self, classes: tuple[str, ...]) -> Needs:
        return Needs(measures=(RELATION,))

    def mask(self) -> pl.Expr:
        return (relation_field("lastname1") == relation_field("lastname2")).fill_null(False)

    def spans(self, row: Row) -> tuple[Span, ...]:
        return ()

    def reason(self) -> str:
        return "the last names are equal"

    def to_plain(self) -> Table:
        return {"field": {"same_last_name": True}}

    def meaning(self) -> Plain:
        return self.to_plain()


def field_from_plain(table: Mapping[str, object], place: Place) -> Field | PartWords | SameLastName:
    """From the key `field`, a table."""
    here = place.at("field")
    inner = here.table(table["field"])
    here.only(inner, _KEYS_ALL, "field")
    if "same_last_name" in inner:
        here.only(inner, ("same_last_name",), "field with same_last_name")
        if inner["same_last_name"] is not True:
            raise here.at("same_last_name").error("write same_last_name = true, or use not")
        return SameLastName()
    if ("column" in inner) == ("part" in inner):
        raise here.error("a field needs either a column or, for relation data, a part")
    if "part" in inner or "keywords" in inner or "pattern" in inner:
        return PartWords.from_plain(inner, here)
    here.only(inner, ("column", "equal", "in", "min", "max"), "field with a column")
    return _column_field(inner, here)


def _column_field(inner: Mapping[str, object], here: Place) -> Field:
    among = inner.get("in")
    if among is not None and (isinstance(among, str) or not isinstance(among, Sequence)):
        raise here.at("in").error(f"expected a list of values, found {shown(among)}")
    bounds = {key: here.at(key).number(inner[key]) for key in ("min", "max") if key in inner}
    column = here.at("column").text(inner["column"])
    equal = _value(inner["equal"], here.at("equal")) if "equal" in inner else None
    listed = None if among is None else [_value(v, here.at("in", i)) for i, v in enumerate(among)]
    try:
        return Field(column, equal, listed, bounds.get("min"), bounds.get("max"))
    except RuleError as error:
        raise here.error(str(error)) from None


def _value(value: object, place: Place) -> Value:
    if not isinstance(value, str | int | float | bool):
        raise place.error(f"expected a text, a number, true or false, found {shown(value)}")
    return value


def _equals(column: pl.Expr, value: Value) -> pl.Expr:
    """Equal as the user sees it: 5 is 5 in a column of numbers and in one of texts."""
    if isinstance(value, bool):
        return column.cast(pl.String).str.to_lowercase() == str(value).lower()
    if isinstance(value, int | float):
        return column.cast(pl.Float64, strict=False) == float(value)
    return column.cast(pl.String) == value

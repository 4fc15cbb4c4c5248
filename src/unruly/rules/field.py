"""`field` and `lookup`: conditions on other columns, and on the entities of relation data and the words around them.

A lookup holds where the value, or the pair, is in a table on disk (distant supervision).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias, cast, get_args

import polars as pl

from unruly.errors import InputError, RuleError
from unruly.rules.column import Others
from unruly.rules.condition import (
    ID,
    SYNONYMS,
    TEXT,
    Condition,
    Measure,
    Needs,
    Place,
    Plain,
    Row,
    Span,
    Table,
    numbers_of,
    shown,
)
from unruly.rules.keywords import Keywords
from unruly.rules.pattern import Pattern
from unruly.rules.regular_expressions import checked
from unruly.rules.timeouts import SMALL, Countdown
from unruly.texts.columns import Layout
from unruly.texts.corpus import BATCH_ROWS, Corpus
from unruly.texts.table import open_table
from unruly.wording import listed

Part = Literal["between", "before", "after", "around", "left1", "left2", "right1", "right2"]
PARTS: tuple[Part, ...] = get_args(Part)


def _relation_parts(frame: pl.DataFrame) -> pl.Series:
    """A struct for each document: its entities, their last names, and the words around them."""
    columns = frame.select(pl.exclude(TEXT, ID))
    relation = Corpus(ids=frame[ID], texts=frame[TEXT], columns=columns).relation
    if relation is None:
        raise RuleError("the columns entity1 and entity2 must hold the names of the entities")
    return pl.DataFrame(
        [
            relation.entity1.alias("entity1"),
            relation.entity2.alias("entity2"),
            relation.lastname1.alias("lastname1"),
            relation.lastname2.alias("lastname2"),
            relation.between.alias("between"),
            relation.before.alias("before"),
            relation.after.alias("after"),
            relation.left(1).alias("left1"),
            relation.left(2).alias("left2"),
            relation.right(1).alias("right1"),
            relation.right(2).alias("right2"),
        ]
    ).to_struct("__relation")


RELATION = Measure(
    "__relation", _relation_parts, ("entity1", "entity2"), meaning=lambda: "relation 1"
)


def relation_field(name: str) -> pl.Expr:
    """One field of the struct."""
    return pl.col(RELATION.name).struct.field(name)


def part_words(part: Part, words: int | None) -> pl.Expr:
    """The text of one part; with `words`, only so many words nearest to the entity or the pair."""
    if part == "around":
        sides = [part_words("before", words), relation_field("between"), part_words("after", words)]
        return pl.concat_str(sides, separator=" ")
    text = relation_field(part)
    if words is None or part == "between":
        return text
    listed = text.str.extract_all(r"\S+").list
    nearest = listed.tail(words) if part in ("before", "left1", "left2") else listed.head(words)
    return nearest.list.join(" ")


@dataclass(frozen=True)
class PartWords(Condition):
    """Keywords or a pattern, looked for in another column or in a part of relation data.

    Parts are the words `between` the two entities, `before` and `after` the pair, `around` it
    (between, and some on either side), and on the `left` and `right` of entity 1 or 2. `words`
    keeps only so many, those nearest to the entity or the pair.
    """

    test: Keywords | Pattern
    part: Part | None = None
    column: str | None = None
    words: int | None = None

    def __post_init__(self) -> None:
        if (self.part is None) == (self.column is None):
            raise RuleError("give either a part of relation data or a column")
        if self.part is not None and self.part not in PARTS:
            raise RuleError(f"the part must be one of {', '.join(PARTS)}, not {self.part!r}")
        if self.words is not None and (self.part in (None, "between") or self.words < 1):
            raise RuleError("words must be 1 or more, and goes with a part other than between")
        if isinstance(self.test, Pattern) and self.test.engine != "linear":
            raise RuleError("a pattern on a field is run by the linear engine only")
        if isinstance(self.test, Pattern):
            repeated = checked(self.test.pattern).size - len(self.test.pattern)
            if repeated > SMALL:
                raise RuleError(
                    f"the pattern {self.test.pattern!r} is too large for a field: its repetitions written "
                    f"out, it has {repeated} parts more, and at most {SMALL} are allowed: make the "
                    "numbers in {} smaller"
                )

    @classmethod
    def from_plain(cls, inner: Mapping[str, object], here: Place) -> PartWords:
        """From the inside of the key `field`."""
        keywords = "keywords" in inner
        if keywords == ("pattern" in inner):
            raise here.error("a field of words needs either keywords or a pattern")
        beside = ("keywords", "match") if keywords else ("pattern", "ignore_case")
        here.only(inner, ("part", "column", "words", *beside), f"field with {beside[0]}")
        test = (Keywords if keywords else Pattern).from_plain(inner, here)
        part = here.at("part").choice(inner["part"], PARTS) if "part" in inner else None
        column = here.at("column").text(inner["column"]) if "column" in inner else None
        words = here.at("words").count(inner["words"]) if "words" in inner else None
        with here.blamed():
            return cls(test, cast("Part | None", part), column, words)

    def _text(self) -> pl.Expr:
        if self.part is not None:
            return part_words(self.part, self.words)
        return pl.col(str(self.column)).cast(pl.String)

    def needs(self, classes: tuple[str, ...]) -> Needs:
        inner = self.test.needs(classes)
        if self.part is not None:
            return inner + Needs(measures=(RELATION,))
        return inner + Needs(columns=(str(self.column),))

    def mask(self) -> pl.Expr:
        return self.test.on(self._text()).fill_null(False)

    def spans(self, row: Row, countdown: Countdown) -> tuple[Span, ...]:
        """The spans in the text, if the part can be found in it again."""
        if self.part is None:
            return ()
        part = pl.DataFrame([row]).select(self._text().alias("part"))["part"][0]
        place = _find(str(row[TEXT]), part or "")
        if place is None:
            return ()
        inside = self.test.spans({TEXT: str(row[TEXT])[place[0] : place[1]]}, countdown)
        return tuple((place[0] + start, place[0] + end) for start, end in inside)

    def reads(self) -> tuple[str, ...]:
        return () if self.part is None else self.test.reads()

    def reason(self) -> str:
        return f"{self.part or self.column}: {self.test.reason()}"

    def to_plain(self) -> Table:
        plain: dict[str, Plain] = {}
        if self.part is not None:
            plain["part"] = self.part
        if self.column is not None:
            plain["column"] = self.column
        if self.words is not None:
            plain["words"] = self.words
        return {"field": {**plain, **self.test.to_plain()}}

    def meaning(self) -> Plain:
        return [self.part or "", self.column or "", self.words or 0, self.test.meaning()]


def _find(text: str, part: str) -> Span | None:
    """The span of a part in the text, whatever the spaces between its words."""
    if not part.split():
        return None
    found = re.search(r"\s*".join(re.escape(word) for word in part.split()), text)
    return found.span() if found else None


Value: TypeAlias = "str | int | float | bool"
_FIELD = (
    "column", "equal", "in", "min", "max", "others", "part", "words", "keywords", "pattern", "match", "ignore_case",
    "same_last_name",
)  # fmt: skip
_FIELD_SYNONYMS = {
    **SYNONYMS, "name": "column", "field": "column", "key": "column", "value": "equal", "is": "equal", "values": "in",
    "above": "min", "below": "max",
}  # fmt: skip
_JOIN = "\x1f"  # between the values of a pair: a character that no value has


@dataclass(frozen=True)
class Field(Condition):
    """A column holds a value, one of several, or a number between bounds, both included.

    Numbers may have a decimal comma. Where bounds are given, a cell that is neither empty nor a number is refused, or with `others="abstain"` counts as
    empty.

    >>> rule = Field("stars", low=4)
    >>> stars = pl.DataFrame({"stars": [5.0, 3.0, None, float("nan")]})
    >>> stars.select(rule.mask()).to_series().to_list()
    [True, False, False, False]
    """

    column: str
    equal: Value | None = None
    among: Sequence[Value] | None = None
    low: float | None = None
    high: float | None = None
    others: Others = "error"

    def __post_init__(self) -> None:
        bounded = self.low is not None or self.high is not None
        given = [self.equal is not None, self.among is not None, bounded]
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
        if self.others not in ("error", "abstain"):
            raise RuleError(f'others must be "error" or "abstain", not {self.others!r}')
        if self.others == "abstain" and not bounded:
            raise RuleError(
                "others is for cells that are not numbers, and goes with min or max: leave it out"
            )

    @classmethod
    def from_plain(
        cls, table: Mapping[str, object], place: Place
    ) -> Field | PartWords | SameLastName:
        """From the key `field`, a table."""
        here, inner = place.section(table, "field", _FIELD, synonyms=_FIELD_SYNONYMS)
        if "same_last_name" in inner:
            here.only(inner, ("same_last_name",), "field with same_last_name")
            if inner["same_last_name"] is not True:
                raise here.at("same_last_name").error("write same_last_name = true, or use not")
            return SameLastName()
        if ("column" in inner) == ("part" in inner):
            raise here.error("a field needs either a column or, for relation data, a part")
        if "part" in inner or "keywords" in inner or "pattern" in inner:
            return PartWords.from_plain(inner, here)
        here.only(inner, ("column", "equal", "in", "min", "max", "others"), "field with a column")
        return _column_field(inner, here)

    def needs(self, classes: tuple[str, ...]) -> Needs:
        bounded = self.low is not None or self.high is not None
        numbers = (self.column,) if bounded and self.others == "error" else ()
        return Needs(columns=(self.column,), numbers=numbers)

    def mask(self) -> pl.Expr:
        if self.equal is not None or self.among is not None:
            values = (self.equal,) if self.equal is not None else tuple(self.among or ())
            test = pl.any_horizontal(
                _equals(pl.col(self.column), v) for v in values if v is not None
            )
        else:
            number = numbers_of(pl.col(self.column))
            tests = [number.is_not_nan()]  # which polars sorts above every number
            tests += [] if self.low is None else [number >= self.low]
            test = pl.all_horizontal(tests if self.high is None else [*tests, number <= self.high])
        return test.fill_null(False)

    def reason(self) -> str:
        values = (self.equal,) if self.equal is not None else self.among or ()
        bounds = (("at least", self.low), ("at most", self.high))
        told = " and ".join(f"{name} {_shown(one)}" for name, one in bounds if one is not None)
        return f"column {self.column}: {told or listed(map(_shown, values), most=3)}"

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
        others: Table = {} if self.others == "error" else {"others": self.others}
        return {"field": {"column": self.column, **self._tests(), **others}}


@dataclass(frozen=True)
class SameLastName(Condition):
    """The two entities have the same last name; an entity of one word has none."""

    def needs(self, classes: tuple[str, ...]) -> Needs:
        return Needs(measures=(RELATION,))

    def mask(self) -> pl.Expr:
        return (relation_field("lastname1") == relation_field("lastname2")).fill_null(False)

    def reason(self) -> str:
        return "the last names are equal"

    def to_plain(self) -> Table:
        return {"field": {"same_last_name": True}}


def _column_field(inner: Mapping[str, object], here: Place) -> Field:
    among = inner.get("in")
    if among is not None and (isinstance(among, str) or not isinstance(among, Sequence)):
        raise here.at("in").error(f"expected a list of values, found {shown(among)}")
    bounds = {key: here.at(key).number(inner[key]) for key in ("min", "max") if key in inner}
    column = here.at("column").text(inner["column"])
    equal = _value(inner["equal"], here.at("equal")) if "equal" in inner else None
    listed = None if among is None else [_value(v, here.at("in", i)) for i, v in enumerate(among)]
    chosen = here.at("others").choice(inner.get("others", "error"), ("error", "abstain"))
    others: Others = "abstain" if chosen == "abstain" else "error"
    with here.blamed():
        return Field(column, equal, listed, bounds.get("min"), bounds.get("max"), others)


def _value(value: object, place: Place) -> Value:
    if not isinstance(value, str | int | float | bool):
        raise place.error(f"expected a text, a number, true or false, found {shown(value)}")
    return value


def _shown(value: Value) -> str:
    """A value as a reader writes it: a bound of 2 is 2, though it is a float.

    >>> _shown(2.0), _shown(0.25), _shown("DE"), _shown(True)
    ('2', '0.25', 'DE', 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _equals(column: pl.Expr, value: Value) -> pl.Expr:
    """Equal as the user sees it: 5 is 5 in a column of numbers and in one of strings."""
    if isinstance(value, bool):
        return column.cast(pl.String).str.to_lowercase() == str(value).lower()
    if isinstance(value, int | float):
        return numbers_of(column) == float(value)
    return column.cast(pl.String) == value


@dataclass(frozen=True)
class Lookup(Condition):
    """The values of `columns` are together in a row of the table.

    The table is a CSV, TSV, JSON Lines, Parquet or Arrow file; its columns `keys` are compared (by
    default as many as needed, from the left). With `either_order` a pair counts both ways round;
    with `last_names` the last names of two entities are compared with those in the table.
    """

    OPTIONS: ClassVar[tuple[str, ...]] = (
        "file",
        "columns",
        "keys",
        "either_order",
        "last_names",
        "ignore_case",
    )
    file: str
    columns: Sequence[str]
    keys: Sequence[str] = ()
    either_order: bool = False
    last_names: bool = False
    ignore_case: bool = False
    folder: str = "."
    known: frozenset[str] = field(default=frozenset(), repr=False)  # not given: read from the file

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "keys", tuple(self.keys))
        if not self.columns:
            raise RuleError("a lookup needs columns: the ones whose values are looked up")
        if (self.either_order or self.last_names) and len(self.columns) != 2:
            raise RuleError("either_order and last_names need two columns")
        if self.last_names and tuple(self.columns) != ("entity1", "entity2"):
            raise RuleError('last_names needs columns = ["entity1", "entity2"]')
        if not self.known:
            object.__setattr__(self, "known", self._read())

    @classmethod
    def from_plain(cls, table: Mapping[str, object], place: Place) -> Lookup:
        """From the key `lookup`, a table."""
        here, inner = place.section(table, "lookup", cls.OPTIONS, needed=["file", "columns"])
        here.at("file").file(inner["file"])
        try:
            return cls.from_options(inner, here)
        except (RuleError, InputError) as error:
            raise here.error(str(error)) from None  # with the place in the table

    @classmethod
    def from_options(
        cls, inner: Mapping[str, object], here: Place, known: frozenset[str] = frozenset()
    ) -> Lookup:
        """From the options themselves; a table that is `known` is not read."""
        return cls(
            here.at("file").text(inner["file"]),
            here.at("columns").texts(inner["columns"]),
            here.at("keys").texts(inner.get("keys", ())),
            here.at("either_order").flag(inner.get("either_order", False)),
            here.at("last_names").flag(inner.get("last_names", False)),
            here.at("ignore_case").flag(inner.get("ignore_case", False)),
            str(here.folder),
            known,
        )

    def _read(self) -> frozenset[str]:
        path = Path(self.folder) / self.file
        table = open_table(path)
        layout = Layout(text=next(iter(table.schema)))
        frame = pl.concat(rows.frame for rows in table.batches(layout, BATCH_ROWS))
        keys = list(self.keys) or frame.columns[: len(self.columns)]
        missing = [key for key in keys if key not in frame.columns]
        if missing or len(keys) != len(self.columns):
            raise RuleError(
                f"{path} has the columns {', '.join(frame.columns)}; {len(self.columns)} are needed"
                + (f", and there is no {missing[0]!r}" if missing else "")
            )
        rows = frame.select(pl.col(k).cast(pl.String) for k in keys).drop_nulls()
        values = [self._folded(row) for row in rows.iter_rows()]
        both = values + [row[::-1] for row in values] if self.either_order else values
        known = frozenset(_JOIN.join(row) for row in both if all(row))
        if not known:
            raise RuleError(f"{path}: there is nothing to look up in the table")
        return known

    def _folded(self, row: Sequence[str]) -> tuple[str, ...]:
        values = [value.strip() for value in row]
        if self.last_names:
            values = [v.split()[-1] if len(v.split()) > 1 else "" for v in values]
        return tuple(v.lower() if self.ignore_case else v for v in values)

    def needs(self, classes: tuple[str, ...]) -> Needs:
        measures: tuple[Measure, ...] = (RELATION,) if self.last_names else ()
        return Needs(() if self.last_names else tuple(self.columns), measures)

    def mask(self) -> pl.Expr:
        names = ("lastname1", "lastname2")
        values = (
            [relation_field(name) for name in names]
            if self.last_names
            else [pl.col(c).cast(pl.String).str.strip_chars() for c in self.columns]
        )
        joined = pl.concat_str(values, separator=_JOIN)
        joined = joined.str.to_lowercase() if self.ignore_case else joined
        return joined.is_in(sorted(self.known)).fill_null(False)

    def reason(self) -> str:
        what = "last names" if self.last_names else " and ".join(self.columns)
        return f"lookup: {what} in {Path(self.file).name}"

    def to_plain(self) -> Table:
        plain: dict[str, Plain] = {"file": self.file, "columns": list(self.columns)}
        if self.keys:
            plain["keys"] = list(self.keys)
        for flag in ("either_order", "last_names", "ignore_case"):
            if getattr(self, flag):
                plain[flag] = True
        return {"lookup": plain}

    def meaning(self) -> Plain:
        flags = [self.last_names, self.ignore_case]
        return [list(self.columns), flags, sorted(self.known)]

"""`column`: votes that are already there, from a vendor, a crowd worker or another model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import RuleError
from unruly.rules.condition import (
    Condition,
    Measure,
    Needs,
    Place,
    Plain,
    RowFailure,
    Table,
    check_map,
    is_no_class,
)
from unruly.texts.columns import UNKNOWN, class_number, spellings, warn_if_counted_from_one
from unruly.texts.corpus import Corpus
from unruly.votes.votes import SLACK, Votes

Others = Literal["error", "abstain"]


@dataclass(frozen=True)
class Column(Condition):
    """The column's value is the vote: a class name or number as in a label column, or what `map` makes of it.

    An empty cell and -1 abstain. A value that is neither in the map nor a class is refused, or with
    `others="abstain"` abstains. A rule with a column has no label of its own.
    """

    column: str
    map: Mapping[str, str] = field(default_factory=dict)
    others: Others = "error"
    picks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "map", {str(k): v for k, v in self.map.items()})
        if self.others not in ("error", "abstain"):
            raise RuleError(f'others must be "error" or "abstain", not {self.others!r}')

    @classmethod
    def from_plain(cls, table: Mapping[str, object], place: Place) -> Column | Probabilities:
        """From the key `column`, a table with `name` or `probabilities`."""
        here = place.at("column")
        given = table["column"]
        inner = {"name": given} if isinstance(given, str) else here.table(given)
        if "probabilities" in inner:
            here.only(inner, ("probabilities", "above"), "column with probabilities")
            there = here.at("probabilities")
            named = there.table(inner["probabilities"])
            columns = {there.at(c).label(c): there.at(c).text(name) for c, name in named.items()}
            return Probabilities(columns, here.at("above").number(inner.get("above", 0.0)))
        here.only(inner, ("name", "map", "others"), "column")
        if "name" not in inner:
            raise here.error('a column of votes needs name = "...", or probabilities = { ... }')
        chosen = here.at("others").choice(inner.get("others", "error"), ("error", "abstain"))
        return cls(
            here.at("name").text(inner["name"]),
            here.at("map").labels_by_name(inner.get("map", {})),
            "abstain" if chosen == "abstain" else "error",
        )

    def __hash__(self) -> int:
        return hash((self.column, tuple(self.map.items()), self.others))

    @property
    def _name(self) -> str:
        """Of its measure, which is worked out as fast as it would be read from a cache."""
        return f"__column:{self.column}:{tuple(self.map.items())}:{self.others}"

    def needs(self, classes: tuple[str, ...]) -> Needs:
        votes = Measure(self._name, partial(self._votes, classes), (self.column,))
        return Needs((self.column,), (votes,))

    def mask(self) -> pl.Expr:
        return pl.col(self.column).is_not_null()

    def vote(self, label: str | None, classes: tuple[str, ...]) -> pl.Expr:
        refuse_label(label, "a column of votes")
        check_map(self.map, classes, f"the map of column {self.column!r}")
        return pl.col(self._name)

    def reason(self) -> str:
        return f"column: {self.column}"

    def to_plain(self) -> Table:
        plain: dict[str, Plain] = {"name": self.column}
        if self.map:
            plain["map"] = dict(self.map)
        if self.others != "error":
            plain["others"] = self.others
        return {"column": plain}

    def _votes(self, classes: tuple[str, ...], frame: pl.DataFrame) -> pl.Series:
        values = frame[self.column]
        if values.dtype.is_nested() or values.dtype == pl.Binary:
            raise RuleError(f"the column {self.column!r} holds {values.dtype}, not class names")
        if values.dtype.is_float():
            values = values.fill_nan(None)
        numbers = {
            value: self._number(value, classes) for value in values.unique(maintain_order=True)
        }
        bad = [value for value, number in numbers.items() if number == "unknown"]
        if bad:
            row = values.to_list().index(bad[0])
            known = ", ".join([*self.map] or classes)
            raise RowFailure(
                row,
                f"the column {self.column!r} holds {bad[0]!r}, expected one of {known}: "
                'add it to the map, or add others = "abstain"',
            )
        votes = [numbers[value] for value in values]
        return pl.Series(self._name, votes, dtype=pl.Int8)

    def _number(self, value: object, classes: tuple[str, ...]) -> int | Literal["unknown"] | None:
        target = next((self.map[text] for text in spellings(value) if text in self.map), None)
        if target is not None:
            return classes.index(target)
        number = class_number(value, () if self.map else classes)
        if number == UNKNOWN or str(value).strip() == "nan":
            return None
        if number is not None and not self.map:
            return number
        return None if self.others == "abstain" else "unknown"


@dataclass(frozen=True)
class Probabilities(Condition):
    """Columns that hold probabilities, one for each class: the likeliest class is the vote.

    In a task of two classes one column is enough. Where the largest probability is not above
    `above`, and where a cell is empty, the source abstains. The probabilities themselves are kept
    in `votes.soft`.
    """

    columns: Mapping[str, str]  # class -> column
    above: float = 0.0
    picks: ClassVar[bool] = True

    def __hash__(self) -> int:
        return hash((tuple(self.columns.items()), self.above))

    @property
    def _name(self) -> str:
        return f"__soft:{tuple(self.columns.items())}:{self.above}"

    def needs(self, classes: tuple[str, ...]) -> Needs:
        columns = tuple(self.columns.values())
        return Needs(columns, (Measure(self._name, partial(self._votes, classes), columns),))

    def mask(self) -> pl.Expr:
        return pl.all_horizontal(pl.col(c).is_not_null() for c in self.columns.values())

    def vote(self, label: str | None, classes: tuple[str, ...]) -> pl.Expr:
        refuse_label(label, "a column of probabilities")
        for name in self.columns:
            if name not in classes:
                raise RuleError(f"{name!r} {is_no_class(name, classes)}")
        missing = [c for c in classes if c not in self.columns]
        if len(missing) > (1 if len(classes) == 2 else 0):
            raise RuleError(f"there is no column with the probability of {missing[0]!r}: name one")
        return pl.col(self._name).struct.field("vote")

    def soft(self, classes: tuple[str, ...]) -> pl.Expr:
        """The probabilities as a list, one number a class."""
        return pl.col(self._name).struct.field("soft")

    def reason(self) -> str:
        return f"probabilities: {', '.join(self.columns.values())}"

    def to_plain(self) -> Table:
        plain: dict[str, Plain] = {"probabilities": dict(self.columns)}
        if self.above:
            plain["above"] = self.above
        return {"column": plain}

    def _votes(self, classes: tuple[str, ...], frame: pl.DataFrame) -> pl.Series:
        columns = [self.columns[c] for c in classes if c in self.columns]
        some = pl.DataFrame({c: _numbers(frame[c]) for c in columns}).to_numpy()  # nan where null
        there = np.array([c in self.columns for c in classes])
        p = np.empty((frame.height, len(classes)))  # (n, m)
        p[:, there] = some
        p[:, ~there] = 1.0 - some.sum(axis=1, keepdims=True)  # one class at most
        empty = np.isnan(p).any(axis=1)
        bad = ~empty & ((p < 0).any(axis=1) | (np.abs(p.sum(axis=1) - 1) > SLACK))
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise RowFailure(
                row,
                f"the probabilities {[round(float(x), 4) for x in p[row]]} are not from 0 to 1 with "
                "the sum 1: correct them, or use a column of votes",
            )
        return soft_votes(self._name, p, empty | (np.nan_to_num(p).max(axis=1) <= self.above))


class NumbersInColumns:
    """Warns where the votes in a column look like class numbers that start at 1, over all batches of documents."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        self._columns = columns  # source -> column
        self._values: dict[str, list[pl.Series]] = {name: [] for name in columns}
        self._parts: list[Votes] = []  # without documents
        self._name = ""

    def note(self, corpus: Corpus, votes: Votes) -> None:
        """These documents, too."""
        if not self._columns:
            return
        self._name = corpus.name
        for source, column in self._columns.items():
            self._values[source].append(corpus.columns[column].unique().cast(pl.String))
        self._parts.append(replace(votes.of_sources(list(self._columns)), provenance=None))

    def warn(self) -> None:
        """To be called when there are no more."""
        for j, (source, column) in enumerate(self._columns.items()):
            numbers = [part.matrix[:, j] for part in self._parts]
            if numbers:
                warn_if_counted_from_one(
                    pl.concat(self._values[source]),
                    np.concatenate(numbers),
                    self._parts[0].classes,
                    f"{self._name}, column {column!r}",
                )


def soft_votes(name: str, p: NDArray[np.float64], silent: NDArray[np.bool_]) -> pl.Series:
    """(n,): the likeliest class and the probabilities (n, m) of each document; nulls where it is silent."""
    rows = [
        {"vote": None, "soft": None} if quiet else {"vote": int(row.argmax()), "soft": row.tolist()}
        for quiet, row in zip(silent, p, strict=True)
    ]
    return pl.Series(name, rows, dtype=pl.Struct({"vote": pl.Int8, "soft": pl.List(pl.Float32)}))


def refuse_label(label: str | None, what: str) -> None:
    """A rule that picks the class itself has no label."""
    if label is not None:
        raise RuleError(f"{what} picks the class itself: drop label = {label!r}")


def _numbers(values: pl.Series) -> pl.Series:
    """The numbers of a column of probabilities; a word among them is named by its row."""
    if values.dtype.is_numeric() or values.dtype == pl.Null:
        return values.cast(pl.Float64)
    found = (
        values.str.strip_chars().cast(pl.Float64, strict=False)
        if values.dtype == pl.String
        else None
    )
    if found is None or not found.count():
        raise RuleError(
            f"the column {values.name!r} holds {values.dtype}, not numbers: probabilities are "
            "numbers from 0 to 1; a column of class names is column = { name = ... }"
        )
    odd = (found.is_null() & (values.fill_null("").str.strip_chars() != "")).arg_true()
    if len(odd):
        row = int(odd[0])
        raise RowFailure(
            row,
            f"the column {values.name!r} holds {values[row]!r}, not a number from 0 to 1: correct it, or leave the cell "
            "empty",
        )
    return found

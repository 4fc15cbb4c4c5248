"""`lookup`: the value, or the pair, is in a table on disk (distant supervision)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from unruly.errors import InputError, RuleError
from unruly.rules.condition import Measure, Needs, Place, Plain, Table
from unruly.rules.field import RELATION, relation_field
from unruly.texts.columns import Layout
from unruly.texts.corpus import BATCH_ROWS
from unruly.texts.table import open_table

_KEYS = ("file", "columns", "keys", "either_order", "last_names", "ignore_case")
_JOIN = "\x1f"  # between the values of a pair: a character that no value has
Known = frozenset[str]


@dataclass(frozen=True)
class Lookup:
    """The values of `columns` stand together in a row of the table.

    The table is a CSV, TSV, JSON Lines, Parquet or Arrow file; its columns `keys` are compared (by
    default as many as needed, from the left). With `either_order` a pair counts both ways round;
    with `last_names` the last names of two entities are compared with those in the table.
    """

    file: str
    columns: Sequence[str]
    keys: Sequence[str] = ()
    either_order: bool = False
    last_names: bool = False
    ignore_case: bool = False
    folder: str = "."
    known: Known = field(default=frozenset(), repr=False)  # read from the file when not given

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
        here = place.at("lookup")
        inner = here.table(table["lookup"])
        here.only(inner, _KEYS, "lookup")
        for key in ("file", "columns"):
            if key not in inner:
                raise here.error(f"a lookup needs {key} = ...")
        here.at("file").file(inner["file"])
        try:
            return cls(
                here.at("file").text(inner["file"]),
                here.at("columns").texts(inner["columns"]),
                here.at("keys").texts(inner.get("keys", ())),
                here.at("either_order").flag(inner.get("either_order", False)),
                here.at("last_names").flag(inner.get("last_names", False)),
                here.at("ignore_case").flag(inner.get("ignore_case", False)),
                str(place.folder),
            )
        except (RuleError, InputError) as error:
            raise here.error(error.message) from None

    def _read(self) -> Known:
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

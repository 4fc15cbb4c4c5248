"""A folder of Parquet files, read as one: in the order of their names, rows in the order of each."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np
import polars as pl

from unruly.errors import InputError, Where
from unruly.texts.columns import Layout
from unruly.texts.frame_table import FrameTable, parquet_table
from unruly.texts.table import BadRow, Rows
from unruly.wording import listed

PARQUET = (".parquet", ".pq")


def parquet_files(folder: Path) -> tuple[Path, ...]:
    """The Parquet files in a folder and the folders in it, by name; hidden ones and `_…` are left out."""
    found = (path for path in folder.rglob("*") if path.suffix.lower() in PARQUET)
    inside = ((path, path.relative_to(folder).parts) for path in found if path.is_file())
    return tuple(sorted(path for path, parts in inside if not any(p[0] in "._" for p in parts)))


@dataclass(frozen=True)
class Opened:
    """The files that can be read, and those that cannot."""

    tables: tuple[FrameTable, ...]
    broken: tuple[BadRow, ...]


def open_files(files: tuple[Path, ...], skip: bool) -> Opened:
    """Open every file; one that cannot be read, or has other columns than the first, is refused or, with `skip`, left out."""
    tables, broken = list[FrameTable](), list[BadRow]()
    for path in files:
        try:
            table = parquet_table(path)
            if tables:
                _check_columns(table, tables[0])
        except InputError as error:
            if not skip:
                raise
            broken.append(BadRow(0, error.message, Where(str(path)), whole_file=True))
        else:
            tables.append(table)
    return Opened(tuple(tables), tuple(broken))


class FolderTable:
    """All Parquet files of a folder as one table."""

    def __init__(self, folder: Path, skip: bool = False) -> None:
        files = parquet_files(folder)
        opened = open_files(files, skip)
        if not opened.tables:
            raise InputError(
                f"none of its {len(files)} Parquet files can be read: {opened.broken[0]}",
                where=Where(str(folder)),
            )
        self.folder, self.skip = folder, skip
        self.tables, self.broken = opened.tables, opened.broken
        self.schema = self.tables[0].schema
        self._starts = [0, *accumulate(table.rows for table in self.tables)]

    @property
    def name(self) -> str:
        """The folder, for messages."""
        return str(self.folder)

    @property
    def exact(self) -> pl.Schema:
        """The kinds that lose nothing: the files' own."""
        return self.schema

    @property
    def rows(self) -> int:
        """How many rows can be read."""
        return self._starts[-1]

    def batches(self, layout: Layout, rows: int) -> Iterator[Rows]:
        """All rows, file by file; a batch holds rows of one file."""
        broken = self.broken
        for start, table in zip(self._starts, self.tables, strict=False):
            done = 0
            try:
                for part in table.batches(layout, rows):
                    frame = part.frame.select(self.schema.names())
                    yield Rows(frame, frame, part.numbers + start, broken)
                    done, broken = done + frame.height, ()
            except InputError as error:
                if not self.skip:
                    raise
                why = f"{error.message} ({table.rows - done:,} rows from row {done:,} on are left out)"
                broken += (BadRow(start + done, why, Where(table.name), whole_file=True),)
        if broken:
            empty = pl.DataFrame(schema=self.schema)
            yield Rows(empty, empty, np.zeros(0, np.int64), broken)

    def where(self, row: int) -> Where:
        """The file, and the row in it."""
        at = bisect_right(self._starts, row) - 1
        return self.tables[at].where(row - self._starts[at])


def _check_columns(table: FrameTable, first: FrameTable) -> None:
    """Refuse other columns, or other kinds, than those of the first file."""
    own, expected = dict(table.schema), dict(first.schema)
    if own == expected:
        return
    missing = [name for name in expected if name not in own]
    more = [name for name in own if name not in expected]
    other = [name for name in own if name in expected and own[name] != expected[name]]
    said = [
        f"{what} {listed(names)}"
        for what, names in (
            ("no column", missing),
            ("more columns", more),
            ("other kinds in", other),
        )
        if names
    ]
    raise InputError(
        f"its columns differ from those of {first.name} ({'; '.join(said) or 'their order'}): "
        "give all files the same, or leave this one out",
        where=Where(table.name),
    )

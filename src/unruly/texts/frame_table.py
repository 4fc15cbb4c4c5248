"""Files that polars makes a frame of: Parquet (or a folder of such files) and Arrow, read in batches; JSON arrays and Excel sheets, read whole."""

from __future__ import annotations

import json
import zipfile
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np
import polars as pl

from unruly.errors import InputError, Where
from unruly.extras import need, panics_of
from unruly.files import polars_errors
from unruly.texts.columns import Layout
from unruly.texts.table import BadRow, Rows, check_utf8
from unruly.wording import listed

LARGEST = 1 << 30  # bytes, once unpacked: larger files are for formats that can be read in pieces
SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


class FrameTable:
    """A file as a lazy frame."""

    def __init__(
        self, path: Path, kind: str, scan: pl.LazyFrame, empty: str, line: int | None = None
    ) -> None:
        self.path, self._kind, self._scan = path, kind, scan
        self._line = line  # of the first row, where lines have numbers
        with polars_errors(path, kind):
            self.schema = scan.collect_schema()
            self.rows = int(scan.select(pl.len()).collect().item())
        if not self.rows:
            raise InputError(f"{empty}: add documents", where=Where(str(path)))

    @property
    def name(self) -> str:
        """The file, for messages."""
        return str(self.path)

    @property
    def exact(self) -> pl.Schema:
        """The kinds that lose nothing: the file's own."""
        return self.schema

    def batches(self, layout: Layout, rows: int) -> Iterator[Rows]:
        """All rows in order."""
        for start in range(0, self.rows, rows):
            with polars_errors(self.path, self._kind):
                frame = self._scan.slice(start, rows).collect()
            yield Rows(frame, frame, start + np.arange(frame.height, dtype=np.int64))

    def where(self, row: int) -> Where:
        """Where the user finds the row of this number: the line of a sheet, else the row."""
        if self._line is None:
            return Where(self.name, row=row)
        return Where(self.name, line=row + self._line)


def parquet_table(path: Path) -> FrameTable:
    """A Parquet file."""
    with polars_errors(path, "Parquet"):
        scan = pl.scan_parquet(path, glob=False, low_memory=True)
    return FrameTable(path, "Parquet", scan, "the file has columns, but no rows")


class ParquetPart(FrameTable):
    """Some rows of a Parquet file, as one worker of many reads them; `first` numbers the first of them among all documents."""

    def __init__(self, path: Path, start: int, rows: int, first: int) -> None:
        with polars_errors(path, "Parquet"):
            scan = pl.scan_parquet(path, glob=False, low_memory=True).slice(start, rows)
        super().__init__(path, "Parquet", scan, "the file has no such rows")
        self._start, self._first = start, first

    def batches(self, layout: Layout, rows: int) -> Iterator[Rows]:
        """These rows in order, numbered from `first`."""
        for part in super().batches(layout, rows):
            yield Rows(part.frame, part.spelt, part.numbers + self._first)

    def where(self, row: int) -> Where:
        """Where the user finds the row of this number."""
        return Where(self.name, row=row - self._first + self._start)


def arrow_table(path: Path) -> FrameTable:
    """An Arrow IPC file (also called Feather), or an Arrow stream such as Hugging Face's cache keeps."""
    with open(path, "rb") as file:
        stream = file.read(6) != b"ARROW1"
    with polars_errors(path, "Arrow IPC"):
        scan = pl.read_ipc_stream(path).lazy() if stream else pl.scan_ipc(path, glob=False)
    return FrameTable(path, "Arrow IPC", scan, "the file has columns, but no rows")


def json_table(path: Path) -> FrameTable:
    """A file that holds one array of objects."""
    _check_size(path, path.stat().st_size)
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    check_utf8(data, str(path), 1)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", where=Where(str(path))) from None
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise InputError(
            "of JSON an array of objects is read, [{...}, {...}], or one object a line, as .jsonl: "
            f"convert it, e.g. jq -c '.[]' {path.name} > {path.stem}.jsonl",
            where=Where(str(path)),
        )
    with polars_errors(path, "JSON"):
        try:
            frame = pl.DataFrame(found, infer_schema_length=None)
        except (OverflowError, TypeError, ValueError) as error:  # of values that no column can hold
            first = next(iter(str(error).splitlines()), "")[:200]
            raise InputError(
                f"cannot be read as a table: {first}", where=Where(str(path))
            ) from None
    return FrameTable(path, "JSON", frame.lazy(), "there is no row")


def sheet_table(path: Path) -> FrameTable:
    """The first sheet of a workbook; its first row names the columns."""
    library = need("fastexcel", extra="excel", purpose="Excel files")
    _check_size(path, path.stat().st_size)
    if zipfile.is_zipfile(path):
        _check_size(path, _unpacked(path))
    with polars_errors(path, "Excel"), panics_of("fastexcel", str(path)):
        try:
            frame = library.read_excel(path).load_sheet(0).to_polars()
        except library.FastExcelError as error:
            first = next(iter(str(error).splitlines()), "")
            raise InputError(f"cannot be read as Excel ({first})", where=Where(str(path))) from None
    return FrameTable(path, "Excel", frame.lazy(), "there is no row", line=2)


def _unpacked(path: Path) -> int:
    """How many bytes a zip file says that it holds."""
    try:
        with zipfile.ZipFile(path) as archive:
            return sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError):
        raise InputError("damaged: it cannot be unpacked", where=Where(str(path))) from None


def _check_size(path: Path, size: int) -> None:
    if size > LARGEST:
        raise InputError(
            f"{size:,} bytes, once unpacked, and such files are read whole: save it as CSV or Parquet",
            where=Where(str(path)),
        )


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

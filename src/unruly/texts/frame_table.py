"""Files that polars reads: Parquet (or a folder of it) and Arrow in batches, Excel sheets whole."""

from __future__ import annotations

import lzma
import re
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import IO

import numpy as np
import polars as pl

from unruly.errors import InputError, Where, first_line, need, panics_of, polars_errors
from unruly.texts.columns import Layout
from unruly.texts.table import BrokenFile, Rows, check_read_whole
from unruly.wording import listed

MOST_CELLS = 50_000_000  # of a sheet, empty ones included
# What zipfile raises of a damaged file; lzma's and bz2's are among them.
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    OSError,
    ValueError,
    RuntimeError,
    NotImplementedError,
    EOFError,
)
# A tag, what stands in it, and whether it ends as it should: a value may hold a > but, in XML, no <.
_INSIDE = r"""((?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+)(>?)"""
_PLACE = r"""\sr\s*=\s*["']([A-Za-z]{0,4})([0-9]{0,9})["']"""
_EXCEL = re.compile(rf"<(?:[^\s<>/:]+:)?(row|c)(?:{_PLACE})?(?=[\s/>]){_INSIDE}".encode())
_LATER = re.compile(_PLACE.encode())
_ODS = re.compile(rf"<table:(table|(?:covered-)?table-(?:row|cell))(?=[\s/>]){_INSIDE}".encode())
_REPEATED = re.compile(rb"""-repeated\s*=\s*["']\s*([0-9]{1,9})\s*["']""")
_LONGEST_TAG = 1 << 16  # bytes
_LAST_CELL = 11  # the kinds of records that are cells are 1 to 11, 0 is a row
MOST_BYTES = 1 << 28  # of the texts of one batch, each written out
SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
PARQUET = (".parquet", ".pq")


class FrameTable:
    """A file as a lazy frame."""

    def __init__(
        self, path: Path, kind: str, scan: pl.LazyFrame, empty: str = "", line: int | None = None
    ) -> None:
        self.path, self.name, self._kind, self._scan = path, str(path), kind, scan
        self._line = line  # of the first row, where lines have numbers
        with polars_errors(path, kind):
            self.schema = self.exact = scan.collect_schema()
            self.rows = int(scan.select(pl.len()).collect().item())
        if not self.rows and empty:
            raise InputError(f"{empty}: add documents", where=Where(str(path)))

    def batches(self, layout: Layout, rows: int) -> Iterator[Rows]:
        """All rows in order; fewer at once where their texts are long."""
        for start in range(0, self.rows, rows):
            with polars_errors(self.name, self._kind):
                frame = self._scan.slice(start, rows).collect()
                few = max(1, frame.height * MOST_BYTES // max(MOST_BYTES, _spelt_out(frame)))
            for at in range(0, max(1, frame.height), few):
                part = frame.slice(at, few)
                numbers = start + at + np.arange(part.height, dtype=np.int64)
                yield Rows(part, part, numbers)

    def where(self, row: int) -> Where:
        """Where the user finds the row of this number: the line of a sheet, else the row."""
        if self._line is None:
            return Where(self.name, row=row)
        return Where(self.name, line=row + self._line)


def _spelt_out(frame: pl.DataFrame) -> int:
    """The bytes of its texts, each written out: a file of some kilobytes may name one text a million times.

    >>> _spelt_out(pl.DataFrame({"text": pl.Series(["ab", "ab", None], dtype=pl.Categorical)}))
    4
    """
    total = 0
    for column in frame.iter_columns():
        if column.dtype == pl.String:
            total += int(column.str.len_bytes().sum())
        elif column.dtype in (pl.Categorical, pl.Enum):
            counted = column.drop_nulls().alias("text").value_counts()
            sizes = counted["text"].cast(pl.String).str.len_bytes().cast(pl.Int64)
            total += int((sizes * counted["count"]).sum())
    return total


NO_ROWS = "there are columns, but no rows"


def parquet_table(path: Path, empty: str = NO_ROWS) -> FrameTable:
    """A Parquet file; without rows it is an error in these words, if there are any."""
    with polars_errors(path, "Parquet"):
        scan = pl.scan_parquet(path, glob=False, low_memory=True)
    return FrameTable(path, "Parquet", scan, empty)


class ParquetPart(FrameTable):
    """Some rows of a Parquet file, for one of many workers; `first` is the number of its first row among all documents."""

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
    """An Arrow IPC file (also called Feather), or an Arrow stream, as in Hugging Face's cache."""
    with open(path, "rb") as file:
        stream = file.read(6) != b"ARROW1"
    with polars_errors(path, "Arrow IPC"):
        scan = pl.read_ipc_stream(path).lazy() if stream else pl.scan_ipc(path, glob=False)
    return FrameTable(path, "Arrow IPC", scan, NO_ROWS)


def sheet_table(path: Path) -> FrameTable:
    """The first sheet of a workbook; its first row names the columns."""
    library = need("fastexcel", extra="excel", purpose="Excel files")
    check_read_whole(path, path.stat().st_size)
    if zipfile.is_zipfile(path):
        check_read_whole(path, _unpacked(path))
        _check_cells(path)
    with polars_errors(path, "Excel"), panics_of("fastexcel", str(path)):
        try:
            sheet = library.read_excel(path).load_sheet(0, schema_sample_rows=None)
            frame = sheet.to_polars()
        except library.FastExcelError as error:
            raise InputError(
                f"cannot be read as Excel ({first_line(error)})", where=Where(str(path))
            ) from None
    return FrameTable(path, "Excel", _whole(frame).lazy(), "there is no row", line=2)


def _whole(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with whole numbers as such: a workbook knows but one kind of number, with 15 digits.

    >>> _whole(pl.DataFrame({"id": [1234567890123456.0, None], "price": [2.0, 2.5]})).rows()
    [(1234567890123456, 2.0), (None, 2.5)]
    """
    numbers = pl.col(name for name, kind in frame.schema.items() if kind == pl.Float64)
    fits = frame.select(((numbers == numbers.round()) & (numbers.abs() <= 2**53)).all())
    whole = [name for name in fits.columns if fits[name].item()]
    return frame.with_columns(pl.col(whole).cast(pl.Int64))


def _unpacked(path: Path) -> int:
    """How many bytes a zip file says that it holds."""
    try:
        with zipfile.ZipFile(path) as archive:
            return sum(entry.file_size for entry in archive.infolist())
    except _DAMAGED:
        raise InputError("damaged: it cannot be unpacked", where=Where(str(path))) from None


def _check_cells(path: Path) -> None:
    """Refuse a workbook whose cells lie so far apart that the room between them, which the library makes, is too large."""
    part, count = {
        ".ods": (r"content\.xml", _ods_cells),
        ".xlsb": (r"xl/worksheets/.+", _binary_cells),
    }.get(path.suffix.lower(), (r".+\.xml", _excel_cells))
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if not re.fullmatch(part, entry.filename, re.IGNORECASE):
                continue
            try:
                with archive.open(entry) as file:
                    cells = count(file)
            except _DAMAGED as error:
                raise InputError(
                    f"damaged: {entry.filename} cannot be read ({first_line(error)})",
                    where=Where(str(path)),
                ) from None
            if cells > MOST_CELLS:
                raise InputError(
                    f"a sheet of {cells:,} cells, most of them empty: save it as CSV or Parquet",
                    where=Where(str(path)),
                )


def _excel_cells(file: IO[bytes]) -> int:
    """From the first row and column to the last of a sheet of Excel; a row or a cell that has no place is the next.

    >>> from io import BytesIO
    >>> _excel_cells(BytesIO(b'<row r="2"><c r="C2"/><c/></row><row><c r="A10"/></row>'))
    40
    """
    row = column = rows = columns = 0
    for name, letters, digits, inside, _ in _tags(file, _EXCEL):
        if not digits and (later := _LATER.search(inside)) is not None:
            letters, digits = later.groups()
        if name == b"row":
            row, column = int(digits) if digits else row + 1, 0
        else:
            row = int(digits) if digits else row
            column = _column(letters) if letters else column + 1
        if row > rows:
            rows = row
        if column > columns:
            columns = column
    return rows * columns


def _ods_cells(file: IO[bytes]) -> int:
    """The cells of all sheets of an OpenDocument file, in each up to the last row and column that are not empty.

    >>> from io import BytesIO
    >>> row = b'<table:table-row table:number-rows-repeated="9">%b</table:table-row>'
    >>> gap = b'<table:table-cell table:number-columns-repeated="4"/>'
    >>> _ods_cells(BytesIO(b"<table:table>" + row % (gap + b"<table:table-cell>x") + row % gap))
    45
    """
    total = row = rows = column = columns = 0
    for name, inside, _ in _tags(file, _ODS):
        if name == b"table":
            total += rows * columns
            row = rows = column = columns = 0
            continue
        times = 1
        if repeated := inside.count(b"-repeated"):
            found = _REPEATED.findall(inside)
            if len(found) < repeated:
                raise ValueError("a number of repetitions that is none")
            times = max(map(int, found))
        if name == b"table-row":
            row, column = row + times, 0
        else:
            column += times
            if not inside.endswith(b"/") or b"value" in inside:
                rows, columns = max(rows, row), max(columns, column)
    return total + rows * columns


def _tags(file: IO[bytes], tag: re.Pattern[bytes]) -> Iterator[tuple[bytes, ...]]:
    """The groups of all tags that match; the last must be their end."""
    left, piece = b"", b" "
    while piece:
        piece = file.read(1 << 20)
        buffer = left + piece
        end = buffer.rfind(b"<") if piece else len(buffer)
        end = end if 0 <= len(buffer) - end <= _LONGEST_TAG else len(buffer)
        for groups in tag.findall(buffer, 0, end):
            if not groups[-1]:
                raise ValueError("a tag that does not end")
            yield groups
        left = buffer[end:]


def _binary_cells(file: IO[bytes]) -> int:
    """The same of a sheet in binary: records of a kind, a size and a body, which begins with the number of a row or column.

    >>> from io import BytesIO
    >>> _binary_cells(BytesIO(b"\\0\\4" + b"\\6\\0\\0\\0" + b"\\5\\4" + b"\\2\\0\\0\\0"))
    21
    """
    rows = columns = 0
    while kind := file.read(1):
        if kind[0] >= 128:
            kind += file.read(1)
        size = shift = 0
        while more := file.read(1):
            size |= (more[0] & 127) << shift
            shift += 7
            if more[0] < 128 or shift > 21:
                break
        number = int.from_bytes(file.read(size)[:4], "little") + 1
        if kind == b"\0":
            rows = max(rows, number)
        elif len(kind) == 1 and kind[0] <= _LAST_CELL:
            columns = max(columns, number)
    return rows * columns


@lru_cache(maxsize=1024)
def _column(letters: bytes) -> int:
    """The number of a column, from 1.

    >>> _column(b"A"), _column(b"aa")
    (1, 27)
    """
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - 64
    return number


def parquet_files(folder: Path) -> tuple[Path, ...]:
    """The Parquet files in a folder and the folders in it, by name; hidden ones and `_…` are left out."""
    found = (path for path in folder.rglob("*") if path.suffix.lower() in PARQUET)
    inside = ((path, path.relative_to(folder).parts) for path in found if path.is_file())
    return tuple(sorted(path for path, parts in inside if not any(p[0] in "._" for p in parts)))


def files_of(path: Path) -> tuple[Path, ...]:
    """The files that documents are read from: the file itself, or a folder's Parquet files and JSON files (WRENCH)."""
    if not path.is_dir():
        return (path,)
    return (*parquet_files(path), *path.glob("*.json"))


@dataclass(frozen=True)
class Opened:
    """The files with rows, and those that cannot be read."""

    tables: tuple[FrameTable, ...]
    broken: tuple[BrokenFile, ...]


def open_files(data: Path, files: tuple[Path, ...], skip: bool) -> Opened:
    """Open every file of the data.

    One that cannot be read, or has other columns than the first, is an error; with `skip`, it is left out. One without rows, as
    Spark writes for an empty partition, adds nothing.
    """
    tables, broken = list[FrameTable](), list[BrokenFile]()
    for path in files:
        try:
            table = parquet_table(path, empty="")
            if table.rows and tables:
                _check_columns(table, tables[0])
        except InputError as error:
            if not skip:
                raise
            broken.append(BrokenFile(str(path), error.message))
        else:
            tables += [table] if table.rows else []
    if not tables:
        none = f"none of its {len(files)} Parquet files can be read"
        why = f"{none}: {broken[0]}" if broken else f"{NO_ROWS}: add documents"
        raise InputError(why, where=Where(str(data)))
    return Opened(tuple(tables), tuple(broken))


class FolderTable:
    """All Parquet files of a folder as one table."""

    def __init__(self, folder: Path, skip: bool = False) -> None:
        opened = open_files(folder, parquet_files(folder), skip)
        self.name, self.skip = str(folder), skip
        self.tables, self.broken = opened.tables, opened.broken
        self.schema = self.exact = self.tables[0].schema
        self._starts = [0, *accumulate(table.rows for table in self.tables)]
        self.rows = self._starts[-1]

    def batches(self, layout: Layout, rows: int) -> Iterator[Rows]:
        """All rows, file by file; a batch holds rows of one file."""
        broken = self.broken
        for start, table in zip(self._starts, self.tables, strict=False):
            done = 0
            try:
                for part in table.batches(layout, rows):
                    frame = part.frame.select(self.schema.names())
                    yield Rows(frame, frame, part.numbers + start, broken=broken)
                    done, broken = done + frame.height, ()
            except InputError as error:
                if not self.skip:
                    raise
                broken += (BrokenFile(table.name, error.message, done, table.rows - done),)
        if broken:
            empty = pl.DataFrame(schema=self.schema)
            yield Rows(empty, empty, np.zeros(0, np.int64), broken=broken)

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

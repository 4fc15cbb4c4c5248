"""Files that polars reads: Parquet (or a folder of it), Arrow and JSON Lines in batches, JSON arrays and Excel sheets whole."""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import IO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError, Where, first_line, need, panics_of, polars_errors
from unruly.progress import SILENT, Progress, stage
from unruly.texts.columns import Layout
from unruly.texts.table import (
    BOM,
    LONGEST_RECORD,
    BadRow,
    BrokenFile,
    Pipe,
    Rows,
    check_utf8,
    empty_file,
    pieces,
    size_of,
)
from unruly.wording import listed

MOST_CELLS = 50_000_000  # of a sheet, empty ones included
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
LARGEST = 1 << 30  # bytes, once unpacked: larger files are for formats that can be read in pieces
SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
PARQUET = (".parquet", ".pq")
_PERHAPS_BLANK = (b"\n\n", b"\n\r", b"\n ", b"\n\t")  # where a blank line may be
# What a JSON number, truth value, list or object looks like once polars has made a string of it.
NOT_A_STRING = r"^(?:-?[0-9][0-9.eE+-]*|true|false|\[.*\]|\{.*\})$"


class FrameTable:
    """A file as a lazy frame."""

    def __init__(
        self, path: Path, kind: str, scan: pl.LazyFrame, empty: str, line: int | None = None
    ) -> None:
        self.path, self.name, self._kind, self._scan = path, str(path), kind, scan
        self._line = line  # of the first row, where lines have numbers
        with polars_errors(path, kind):
            self.schema = self.exact = scan.collect_schema()
            self.rows = int(scan.select(pl.len()).collect().item())
        if not self.rows:
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


def parquet_table(path: Path) -> FrameTable:
    """A Parquet file."""
    with polars_errors(path, "Parquet"):
        scan = pl.scan_parquet(path, glob=False, low_memory=True)
    return FrameTable(path, "Parquet", scan, "the file has columns, but no rows")


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
    return FrameTable(path, "Arrow IPC", scan, "the file has columns, but no rows")


def json_table(path: Path) -> FrameTable:
    """A file that holds one array, of objects or of texts."""
    _check_size(path, path.stat().st_size)
    data = path.read_bytes().removeprefix(BOM)
    check_utf8(data, str(path), 1)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", where=Where(str(path))) from None
    if isinstance(found, list) and all(isinstance(item, str) for item in found):
        found = [{"text": item} for item in found]
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise InputError(
            "of JSON one array is read, of objects, [{...}, {...}], or of texts, or one object a line, as .jsonl",
            where=Where(str(path)),
        )
    with polars_errors(path, "JSON"):
        try:
            frame = pl.DataFrame(found, infer_schema_length=None)
        except (OverflowError, TypeError, ValueError) as error:  # of values that no column can hold
            raise InputError(
                f"cannot be read as a table: {first_line(error)}", where=Where(str(path))
            ) from None
    return FrameTable(path, "JSON", frame.lazy(), "there is no row")


def sheet_table(path: Path) -> FrameTable:
    """The first sheet of a workbook; its first row names the columns."""
    library = need("fastexcel", extra="excel", purpose="Excel files")
    _check_size(path, path.stat().st_size)
    if zipfile.is_zipfile(path):
        _check_size(path, _unpacked(path))
        _check_cells(path)
    with polars_errors(path, "Excel"), panics_of("fastexcel", str(path)):
        try:
            frame = library.read_excel(path).load_sheet(0).to_polars()
        except library.FastExcelError as error:
            raise InputError(
                f"cannot be read as Excel ({first_line(error)})", where=Where(str(path))
            ) from None
    return FrameTable(path, "Excel", frame.lazy(), "there is no row", line=2)


def _unpacked(path: Path) -> int:
    """How many bytes a zip file says that it holds."""
    try:
        with zipfile.ZipFile(path) as archive:
            return sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError):
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
            except (ValueError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
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


def _check_size(path: Path, size: int) -> None:
    if size > LARGEST:
        raise InputError(
            f"{size:,} bytes, once unpacked, and such files are read whole: save it as CSV or Parquet",
            where=Where(str(path)),
        )


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
    """The files that can be read, and those that cannot."""

    tables: tuple[FrameTable, ...]
    broken: tuple[BrokenFile, ...]


def open_files(files: tuple[Path, ...], skip: bool) -> Opened:
    """Open every file. One that cannot be read, or has other columns than the first, is an error; with `skip`, it is left out."""
    tables, broken = list[FrameTable](), list[BrokenFile]()
    for path in files:
        try:
            table = parquet_table(path)
            if tables:
                _check_columns(table, tables[0])
        except InputError as error:
            if not skip:
                raise
            broken.append(BrokenFile(str(path), error.message))
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


@dataclass(frozen=True, eq=False)
class _Lines:
    """Some whole lines of the file, split only when needed."""

    data: bytes
    line: int  # the number of the first one, from 1
    number: int  # the row of the first one, from 0
    left: tuple[int, ...] | None = None  # which rows of these are left; None: all
    skipped: tuple[BadRow, ...] = ()

    @cached_property
    def rows(self) -> list[tuple[int, int, bytes]]:
        """Row number, line number and text of each line that is left and not blank."""
        lines = enumerate(self.data.split(b"\n"), start=self.line)
        written = [(at, text) for at, text in lines if text.strip()]
        every = [(self.number + i, at, text) for i, (at, text) in enumerate(written)]
        return every if self.left is None else [every[i] for i in self.left]

    @cached_property
    def count(self) -> int:
        """How many rows there are, including those left out."""
        if any(mark in self.data for mark in _PERHAPS_BLANK) or self.data[:1].isspace():
            return sum(1 for text in self.data.split(b"\n") if text.strip())
        return self.data.count(b"\n") + (not self.data.endswith(b"\n"))

    @property
    def numbers(self) -> NDArray[np.int64]:
        """(rows,): which row of the file each is."""
        if self.left is None:
            return self.number + np.arange(self.count, dtype=np.int64)
        return self.number + np.array(self.left, dtype=np.int64)

    @property
    def objects(self) -> bytes:
        """What polars is to parse."""
        return self.data if self.left is None else b"\n".join(text for _, _, text in self.rows)

    def without(self, bad: dict[int, str], name: str) -> _Lines:
        """The lines without the bad ones; `bad` maps their places among the rows to the reason."""
        rows, skipped = self.rows, []
        for at, reason in bad.items():
            number, line, _ = rows[at]
            skipped.append(BadRow(number, reason, Where(name, line)))
        left = tuple(rows[at][0] - self.number for at in range(len(rows)) if at not in bad)
        return _Lines(self.data, self.line, self.number, left, (*self.skipped, *skipped))


class JsonLinesTable:
    """A JSON Lines file that has been parsed once, to find its columns and their types.

    Standard input can be read only once: its first rows decide, and later rows widen the types.
    """

    def __init__(
        self, source: Path | Pipe, skip: bool = False, progress: Progress = SILENT
    ) -> None:
        self.source, self.name, self.skip = source, str(source), skip
        self.rows: int | None = None
        self.schema = self.exact = pl.Schema()
        if isinstance(source, Pipe):
            self._coming = self._lines()
            self._first = list[_Lines]()
            for lines in self._coming:
                self._first.append(lines)
                if self._see(lines):
                    return
            raise empty_file(source)
        with stage(progress, f"checking {source}", size_of(source), "bytes"):
            self.rows = 0
            for lines in self._lines():
                self.rows += self._see(lines)
                progress.advance(len(lines.data))
        if not self.rows:
            raise empty_file(source)

    def _see(self, lines: _Lines) -> int:
        """Widen the columns' types by those of these lines; returns how many rows they are."""
        with polars_errors(self.name, "JSON Lines"):
            frame, _ = self._parse(lines, None)
            empty = _widened(pl.DataFrame(schema=self.schema), frame.clear())
        self.schema = self.exact = empty.schema
        return frame.height

    def _again(self) -> Iterator[_Lines]:
        """All lines again; standard input has them only this once."""
        if not isinstance(self.source, Pipe):
            yield from self._lines()
            return
        while self._first:
            yield self._first.pop(0)
        for lines in self._coming:
            self._see(lines)
            yield lines

    def batches(self, layout: Layout, rows: int) -> Iterator[Rows]:
        """All rows in order; a text that is a number or a list in the file is refused."""
        for lines in self._again():
            self._latest = lines
            frame, good = self._parse(lines, self.schema)
            if self.schema[layout.text] == pl.String:
                frame, good = self._strings_only(frame, good, layout.text)
            skipped = good.skipped
            for start in range(0, max(1, frame.height), rows):
                part = frame.slice(start, rows)
                yield Rows(part, part, good.numbers[start : start + rows], skipped)
                skipped = ()

    def where(self, row: int) -> Where:
        """The line of the row with this number; of standard input, only recent rows are known."""
        for lines in [self._latest] if isinstance(self.source, Pipe) else self._lines():
            if row < lines.number + lines.count:
                return Where(self.name, lines.rows[row - lines.number][1])
        raise IndexError(row)

    def _lines(self) -> Iterator[_Lines]:
        left, line, number = b"", 1, 0
        for data in pieces(self.source):
            buffer = left + data
            end = buffer.rfind(b"\n") + 1
            if len(buffer) - end > LONGEST_RECORD:
                raise InputError(
                    "a line is longer than 64 MB: write one object a line",
                    where=Where(self.name, line + buffer.count(b"\n")),
                )
            if end:
                lines = self._checked(buffer[:end], line, number)
                yield lines
                number += lines.count
            line += buffer.count(b"\n", 0, end)
            left = buffer[end:]
        if left:
            yield self._checked(left, line, number)

    def _checked(self, data: bytes, line: int, number: int) -> _Lines:
        if not self.skip:
            check_utf8(data, self.name, line)
        return _Lines(data, line, number)

    def _parse(self, lines: _Lines, schema: pl.Schema | None) -> tuple[pl.DataFrame, _Lines]:
        """The rows, and the lines that they came from."""
        if not lines.objects.strip():
            return pl.DataFrame(schema=schema), lines
        try:
            return pl.read_ndjson(lines.objects, schema=schema, infer_schema_length=None), lines
        except (pl.exceptions.PolarsError, OSError) as error:  # OSError: it looks compressed
            complaint = first_line(error)
        faults = ((at, _fault(text)) for at, (_, _, text) in enumerate(lines.rows))
        bad = {at: fault for at, fault in faults if fault is not None}
        if not bad:
            raise self._two_kinds(lines) or InputError(
                f"cannot be read as JSON Lines: {complaint}", where=Where(self.name)
            )
        return self._parse(self._left(lines, bad), schema)

    def _two_kinds(self, lines: _Lines) -> InputError | None:
        """The first value that is of another kind than those before it under the same key."""
        before: dict[str, str] = {}
        for _, line, text in lines.rows:
            for key, value in json.loads(text).items():
                kind = _kind(value)
                if kind is not None and before.setdefault(key, kind) != kind:
                    return InputError(
                        f"{key!r} is {kind} here and {before[key]} before: write one kind of value for each key",
                        where=Where(self.name, line),
                    )
        return None

    def _strings_only(
        self, frame: pl.DataFrame, lines: _Lines, column: str
    ) -> tuple[pl.DataFrame, _Lines]:
        """Refuse texts that are numbers or lists in the file, of which polars makes strings."""
        bad: dict[int, str] = {}
        for row in frame[column].str.contains(NOT_A_STRING).fill_null(False).arg_true():
            value = json.loads(lines.rows[row][2]).get(column)
            if value is not None and not isinstance(value, str):
                shown = json.dumps(value)
                bad[row] = (
                    f"{column!r} is {shown if len(shown) < 80 else shown[:77] + '...'}, not a string, "
                    "as in other rows: write it in quotes"
                )
        if not bad:
            return frame, lines
        left = self._left(lines, bad)
        return frame.filter(~pl.Series(range(frame.height)).is_in(list(bad))), left

    def _left(self, lines: _Lines, bad: dict[int, str]) -> _Lines:
        """The lines without the bad ones, where these may be skipped."""
        if not self.skip:
            at, reason = next(iter(bad.items()))
            raise InputError(reason, where=Where(self.name, lines.rows[at][1]))
        return lines.without(bad, self.name)


def _kind(value: object) -> str | None:
    """What a value of JSON is, as far as a column can hold only one; None for null.

    >>> [_kind(value) for value in ([1], {"a": 1}, "x", 2, None)]
    ['a list', 'an object', 'a plain value', 'a plain value', None]
    """
    if value is None:
        return None
    if isinstance(value, list):
        return "a list"
    return "an object" if isinstance(value, dict) else "a plain value"


def _fault(line: bytes) -> str | None:
    """Why a line is not a JSON object; None when it is one."""
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        hint = "a JSON array is not JSON Lines: " if line.lstrip()[:1] == b"[" else ""
        return f"not JSON (column {error.colno}: {error.msg}): {hint}write one whole object a line"
    except UnicodeDecodeError:
        return "not valid UTF-8"
    except RecursionError:
        return "nested too deeply"
    if not isinstance(value, dict):
        return f"a {type(value).__name__}, not an object: write one object a line"
    return None


def _widened(known: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """The columns of both frames, each of a type that holds the values of both."""
    if not known.width or not new.width:
        return known if known.width else new
    return pl.concat([known, new], how="diagonal_relaxed")

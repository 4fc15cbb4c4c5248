"""Files that are read whole, for they cannot be cut: JSON arrays, and the first sheet of Excel files."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from unruly.errors import InputError, Where
from unruly.extras import need, panics_of
from unruly.files import polars_errors
from unruly.texts.columns import Layout
from unruly.texts.encoding import check_utf8
from unruly.texts.table import Rows

LARGEST = 1 << 30  # bytes, once unpacked: larger files are for formats that can be read in pieces
SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


class WholeTable:
    """A frame with the name of its file."""

    def __init__(self, path: Path, frame: pl.DataFrame, first: int | None) -> None:
        self.path, self.frame, self.first = path, frame, first
        if not frame.height:
            raise InputError("there is no row: add documents", where=Where(str(path)))
        self.schema = self.exact = frame.schema
        self.rows = frame.height

    @property
    def name(self) -> str:
        """The file, for messages."""
        return str(self.path)

    def batches(self, layout: Layout, rows: int) -> Iterator[Rows]:
        """All rows in order."""
        for start in range(0, self.rows, rows):
            part = self.frame.slice(start, rows)
            yield Rows(part, part, start + np.arange(part.height, dtype=np.int64))

    def where(self, row: int) -> Where:
        """Where the user finds the row of this number: the line of a sheet, the place in an array."""
        if self.first is None:
            return Where(self.name, row=row)
        return Where(self.name, line=row + self.first)


def json_table(path: Path) -> WholeTable:
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
        return WholeTable(path, pl.DataFrame(found, infer_schema_length=None), None)


def sheet_table(path: Path) -> WholeTable:
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
    return WholeTable(path, frame, 2)


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

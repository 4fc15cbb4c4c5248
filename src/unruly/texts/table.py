"""What a file of documents is to the rest of the library: a schema, a size, and batches of rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError, Where
from unruly.progress import SILENT, Progress
from unruly.texts.columns import Layout
from unruly.wording import near_file

ENDINGS = ".csv, .tsv, .jsonl, .ndjson (each also .gz), .parquet, .arrow, .feather, .ipc, .json, .xlsx, .ods"

OnBadRow = Literal["error", "skip", "keep"]


@dataclass(frozen=True)
class BadRow:
    """A row that was left out, and why; or, of a folder, a file."""

    row: int  # its number in the file, from 0
    reason: str
    where: Where
    whole_file: bool = False  # not one row, but all of a file, or all from some row on

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a file, in order."""

    frame: pl.DataFrame  # columns of numbers are numbers
    spelt: pl.DataFrame  # the same rows with every cell as the file spells it
    numbers: NDArray[np.int64]  # (rows,): their numbers in the file, from 0
    skipped: tuple[BadRow, ...] = ()  # rows between them that could not be read
    records: pl.Series | None = (
        None  # (rows,): of a CSV file, the records as they stand, line ends included
    )


class Table(Protocol):
    """A file that has been looked through once: its columns are known and its form is sound."""

    @property
    def name(self) -> str:
        """The file, for messages."""

    @property
    def schema(self) -> pl.Schema:
        """Columns and their kinds."""

    @property
    def exact(self) -> pl.Schema:
        """The kinds that lose nothing of how the file spells its cells."""

    @property
    def rows(self) -> int:
        """How many rows can be read."""

    def batches(self, layout: Layout, rows: int) -> Iterator[Rows]:
        """All rows in order, at most so many at a time; texts and ids as the file spells them."""

    def where(self, row: int) -> Where:
        """Where the user finds the row of this number."""


def open_table(path: str | Path, progress: Progress = SILENT, *, skip: bool = False) -> Table:
    """Look through a file once, whatever its format, and refuse what cannot be read.

    With `skip`, records that are malformed are left out and counted, instead of stopping the file; of a folder of
    Parquet files, those that cannot be read.

    >>> open_table("nowhere.csv")
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: nowhere.csv: there is no such file
    """
    from unruly.texts.csv_table import CsvTable, separator_of
    from unruly.texts.folder_table import FolderTable, parquet_files
    from unruly.texts.frame_table import SHEETS, arrow_table, json_table, parquet_table, sheet_table
    from unruly.texts.jsonl_table import JsonLinesTable

    file = Path(path)
    if file.is_dir() and parquet_files(file):
        return FolderTable(file, skip)
    check_file(file)
    match ending(file):
        case ".csv":
            return CsvTable(file, separator_of(file), skip, progress)
        case ".tsv" | ".tab":
            return CsvTable(file, "\t", skip, progress)
        case ".jsonl" | ".ndjson":
            return JsonLinesTable(file, skip, progress)
        case ".parquet" | ".pq":
            return parquet_table(file)
        case ".arrow" | ".feather" | ".ipc":
            return arrow_table(file)
        case ".json":
            return json_table(file)
        case sheet if sheet in SHEETS:
            return sheet_table(file)
        case other:
            raise InputError(
                f"files ending in {other or 'nothing'!r} are not read: use one of {ENDINGS}",
                where=Where(str(file)),
            )


def ending(path: Path) -> str:
    """The ending that tells the format, without .gz."""
    inner = Path(path.stem) if path.suffix.lower() == ".gz" else path
    return inner.suffix.lower()


def check_on_bad_row(given: str) -> None:
    """Refuse what is not one of "error", "skip" and "keep"."""
    if given not in get_args(OnBadRow):
        raise InputError(f"on_bad_row = {given!r}: must be one of {', '.join(get_args(OnBadRow))}")


def check_file(path: Path) -> None:
    """Refuse a missing file, a folder and an empty file."""
    here = Where(str(path))
    if path.is_dir():
        raise InputError(
            "a folder without Parquet files, and not in WRENCH's layout (train.json, label.json): name a file in it",
            where=here,
        )
    if not path.exists():
        hint = near_file(path)
        raise InputError(f"there is no such file{hint and ': ' + hint}", where=here)
    if not path.is_file() and path.resolve() != Path(os.devnull):
        raise InputError(
            "a pipe or a device, which cannot be read twice: save it as a file, or name - for standard input",
            where=here,
        )
    if not os.access(path, os.R_OK):
        raise InputError("you may not read this file: change its permissions", where=here)
    if path.stat().st_size == 0:
        raise InputError("the file is empty: expected one document a row", where=here)

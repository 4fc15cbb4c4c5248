"""What a file of documents is to the rest of the room: a schema, a size, and batches of rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import polars as pl

from unruly.errors import InputError
from unruly.progress import SILENT, Progress
from unruly.texts.layout import Layout

ENDINGS = ".csv, .tsv, .jsonl, .ndjson (each also .gz), .parquet, .arrow, .feather, .ipc"


class Table(Protocol):
    """A file that has been looked through once: its columns are known and its form is sound."""

    @property
    def name(self) -> str:
        """The file, for messages."""

    @property
    def schema(self) -> pl.Schema:
        """Columns and their kinds."""

    @property
    def rows(self) -> int | None:
        """How many rows, where that is cheaply known."""

    def batches(self, layout: Layout, rows: int) -> Iterator[pl.DataFrame]:
        """All rows in order, at most so many at a time; texts and ids as the file spells them."""

    def place(self, row: int) -> str:
        """Where the user finds this row: 'comments.csv, line 7'."""


def open_table(path: str | Path, progress: Progress = SILENT) -> Table:
    """Look through a file once, whatever its format, and refuse what cannot be read.

    >>> open_table("nowhere.csv")
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: nowhere.csv: there is no such file
    """
    from unruly.texts.arrow_table import IpcTable, ParquetTable
    from unruly.texts.csv_table import CsvTable, separator_of
    from unruly.texts.jsonl_table import JsonLinesTable

    file = Path(path)
    check_file(file)
    match ending(file):
        case ".csv":
            return CsvTable(file, separator=separator_of(file), progress=progress)
        case ".tsv" | ".tab":
            return CsvTable(file, separator="\t", progress=progress)
        case ".jsonl" | ".ndjson":
            return JsonLinesTable(file, progress)
        case ".parquet" | ".pq":
            return ParquetTable(file)
        case ".arrow" | ".feather" | ".ipc":
            return IpcTable(file)
        case other:
            raise InputError(
                f"{file}: files ending in {other or 'nothing'!r} are not read: use one of {ENDINGS}"
            )


def ending(path: Path) -> str:
    """The ending that tells the format, without .gz."""
    inner = Path(path.stem) if path.suffix.lower() == ".gz" else path
    return inner.suffix.lower()


def check_file(path: Path) -> None:
    """Refuse a missing file, a folder and an empty file."""
    if path.is_dir():
        raise InputError(
            f"{path}: a folder, but not one in WRENCH's layout (train.json, label.json): name a file in it"
        )
    if not path.exists():
        near = _near(path)
        raise InputError(f"{path}: there is no such file{near}")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path}: you may not read this file: change its permissions")
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty: expected one document a row")


def _near(path: Path) -> str:
    """A hint when the folder holds a file of nearly that name, or is itself missing."""
    from difflib import get_close_matches

    if not path.parent.is_dir():
        return f": the folder {path.parent} does not exist"
    near = get_close_matches(path.name, [p.name for p in path.parent.iterdir()], n=1, cutoff=0.7)
    return f": did you mean {near[0]}?" if near else ""

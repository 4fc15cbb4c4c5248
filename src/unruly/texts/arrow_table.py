"""Parquet and Arrow IPC files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from unruly.errors import InputError
from unruly.texts.layout import Layout


class ParquetTable:
    """A Parquet file, read a few rows at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._scan = pl.scan_parquet(path, glob=False, low_memory=True)
            self.schema = self._scan.collect_schema()
            self.rows = int(self._scan.select(pl.len()).collect().item())
        except pl.exceptions.PolarsError as error:
            raise _unreadable(path, "Parquet", error) from None
        _check_rows(path, self.rows)

    @property
    def name(self) -> str:
        """The file, for messages."""
        return str(self.path)

    def batches(self, layout: Layout, rows: int) -> Iterator[pl.DataFrame]:
        """All rows in order."""
        return _slices(self._scan, self.rows, rows, self.path)

    def place(self, row: int) -> str:
        """Where the user finds this row."""
        return f"{self.path}, row {row}"


class IpcTable:
    """An Arrow IPC file (also called Feather), or an Arrow stream such as Hugging Face's cache keeps."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with open(path, "rb") as file:
            stream = file.read(6) != b"ARROW1"
        try:
            if stream:
                self._scan = pl.read_ipc_stream(path).lazy()
            else:
                self._scan = pl.scan_ipc(path, glob=False)
            self.schema = self._scan.collect_schema()
            self.rows = int(self._scan.select(pl.len()).collect().item())
        except (pl.exceptions.PolarsError, OSError) as error:
            raise _unreadable(path, "Arrow IPC", error) from None
        _check_rows(path, self.rows)

    @property
    def name(self) -> str:
        """The file, for messages."""
        return str(self.path)

    def batches(self, layout: Layout, rows: int) -> Iterator[pl.DataFrame]:
        """All rows in order."""
        return _slices(self._scan, self.rows, rows, self.path)

    def place(self, row: int) -> str:
        """Where the user finds this row."""
        return f"{self.path}, row {row}"


def _slices(scan: pl.LazyFrame, total: int, rows: int, path: Path) -> Iterator[pl.DataFrame]:
    for start in range(0, total, rows):
        try:
            yield scan.slice(start, rows).collect()
        except pl.exceptions.PolarsError as error:
            raise _unreadable(path, f"rows {start} and following", error) from None


def _check_rows(path: Path, rows: int) -> None:
    if not rows:
        raise InputError(f"{path}: the file has columns, but no rows: add documents")


def _unreadable(path: Path, kind: str, error: Exception) -> InputError:
    first = (str(error).splitlines() or ["unknown reason"])[0]
    return InputError(
        f"{path}: cannot be read as {kind} ({first}): is it whole, and is its ending right?"
    )

"""Parquet and Arrow IPC files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from unruly.errors import InputError, Where
from unruly.files import polars_errors
from unruly.texts.columns import Layout
from unruly.texts.table import Rows


class _ScannedTable:
    """A file that polars can scan: read a few rows at a time."""

    def __init__(self, path: Path, kind: str, scan: pl.LazyFrame) -> None:
        self.path, self._kind, self._scan = path, kind, scan
        with polars_errors(path, kind):
            self.schema = scan.collect_schema()
            self.rows = int(scan.select(pl.len()).collect().item())
        if not self.rows:
            raise InputError(
                "the file has columns, but no rows: add documents", where=Where(str(path))
            )

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
        """Where the user finds the row of this number."""
        return Where(self.name, row=row)


class ParquetTable(_ScannedTable):
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        with polars_errors(path, "Parquet"):
            scan = pl.scan_parquet(path, glob=False, low_memory=True)
        super().__init__(path, "Parquet", scan)


class IpcTable(_ScannedTable):
    """An Arrow IPC file (also called Feather), or an Arrow stream such as Hugging Face's cache keeps."""

    def __init__(self, path: Path) -> None:
        with open(path, "rb") as file:
            stream = file.read(6) != b"ARROW1"
        with polars_errors(path, "Arrow IPC"):
            scan = pl.read_ipc_stream(path).lazy() if stream else pl.scan_ipc(path, glob=False)
        super().__init__(path, "Arrow IPC", scan)

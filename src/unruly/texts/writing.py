"""Rows of a file written again with columns added, every cell of it as it was.

CSV and TSV cells pass through as they were spelt: `1234567890123456789`, `+49151`, `2.50` and `1e5`
are not numbers here. JSON Lines and Parquet tell numbers from strings, so a CSV column becomes a column
of numbers there where that loses nothing of how any cell is spelt.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl
from polars.io.plugins import register_io_source

from unruly.errors import InputError, Where
from unruly.files import written_whole
from unruly.texts.csv_table import CsvTable, cast
from unruly.texts.stream import CorpusStream
from unruly.texts.table import ending

WRITTEN = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
FLAT = (".csv", ".tsv")  # formats without lists


def format_of(target: Path) -> str:
    """The ending that tells the format; another one is refused."""
    form = ending(target)
    if form not in WRITTEN or target.suffix.lower() == ".gz":
        raise InputError(
            f"predictions are written as {', '.join(WRITTEN)}: choose one of these endings",
            where=Where(str(target)),
        )
    return form


class RowWriter:
    """Writes the rows of one stream to a file, each batch with its added columns."""

    def __init__(
        self, stream: CorpusStream, target: Path, added: Mapping[str, pl.DataType]
    ) -> None:
        self.form, self.target = format_of(target), target
        self.flat = self.form in FLAT
        table = stream.table
        spelt = isinstance(table, CsvTable)
        self.own = pl.Schema(dict.fromkeys(table.schema, pl.String())) if spelt else table.schema
        self.header = table.header if isinstance(table, CsvTable) else tuple(self.own)
        self.casts = []
        if spelt and not self.flat:
            kinds = {
                c: k for c, k in table.exact.items() if k != pl.String and c != stream.layout.text
            }
            self.own = pl.Schema({**self.own, **kinds})
            self.casts = [cast(c, k) for c, k in kinds.items()]
        if self.form != ".parquet":
            self._refuse_what_text_cannot_hold(stream.name)
        self.added = dict(added)

    def write(self, batches: Iterator[tuple[pl.DataFrame, pl.DataFrame]]) -> None:
        """Write pairs of rows as they were spelt and added columns; the file is whole or not there."""
        frames = (spelt.with_columns(self.casts).hstack(added) for spelt, added in batches)
        with written_whole(self.target) as part:
            if self.form == ".parquet":
                schema = pl.Schema({**self.own, **self.added})
                register_io_source(lambda *_: frames, schema=schema).sink_parquet(
                    part, maintain_order=True
                )
                return
            with part.open("wb") as file:
                if self.flat:
                    file.write(self._header())
                for frame in frames:
                    if self.flat:
                        frame.write_csv(file, include_header=False, separator=self._separator)
                    else:
                        frame.write_ndjson(file)

    @property
    def _separator(self) -> str:
        return "\t" if self.form == ".tsv" else ","

    def _header(self) -> bytes:
        line = io.StringIO()
        names = (*self.header, *self.added)
        csv.writer(line, delimiter=self._separator, lineterminator="\n").writerow(names)
        return line.getvalue().encode()

    def _refuse_what_text_cannot_hold(self, name: str) -> None:
        for column, kind in self.own.items():
            binary = kind in (pl.Binary, pl.Object)
            if binary or (self.flat and kind.is_nested()):
                raise InputError(
                    f"the column {column!r} of {name} holds {kind}, which {self.form} "
                    f"cannot: write {'.parquet' if binary else '.jsonl or .parquet'} instead",
                    where=Where(str(self.target)),
                )

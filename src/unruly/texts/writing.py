"""Rows of a file written again with columns added, every cell of it as it was.

CSV and TSV records pass through as the bytes that they are, our columns behind them: `1234567890123456789`,
`+49151`, `2.50`, `1e5`, quotes and line ends stay. JSON Lines and Parquet tell numbers from strings, so a CSV column becomes a column
of numbers there where that loses nothing of how any cell is spelt.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl
from polars.io.plugins import register_io_source

from unruly.errors import InputError, Where
from unruly.files import written_whole
from unruly.texts.csv_records import cut_records
from unruly.texts.csv_table import CsvTable, cast
from unruly.texts.stream import Batch, CorpusStream
from unruly.texts.table import ending

WRITTEN = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
FLAT = (".csv", ".tsv")  # formats without lists
# What a spreadsheet takes for a formula: such a beginning, unless all of it is a number.
FORMULA = r"^[=+\-@\t\r]"
NUMBER = r"^[+-]?[0-9][0-9 .,]*(?:[eE][+-]?[0-9]+)?$"


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
        self,
        stream: CorpusStream,
        target: Path,
        added: Mapping[str, pl.DataType],
        *,
        defuse: bool = False,
    ) -> None:
        self.form, self.target = format_of(target), target
        self.flat = self.form in FLAT
        table = stream.table
        spelt = isinstance(table, CsvTable)
        self.own = pl.Schema(dict.fromkeys(table.schema, pl.String())) if spelt else table.schema
        self.header = table.header if isinstance(table, CsvTable) else tuple(self.own)
        self.defuse = defuse and self.flat
        self.verbatim: CsvTable | None = None  # its records are copied as they are
        if isinstance(table, CsvTable) and self.flat and table.separator == self._separator:
            self.verbatim = None if self.defuse else table
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

    def write(self, batches: Iterator[tuple[Batch, pl.DataFrame]]) -> None:
        """Write batches of rows with their added columns; the file is whole or not there."""
        with written_whole(self.target) as part:
            if self.form == ".parquet":
                schema = pl.Schema({**self.own, **self.added})
                frames = (self._joined(batch, added) for batch, added in batches)
                register_io_source(lambda *_: frames, schema=schema).sink_parquet(
                    part, maintain_order=True
                )
                return
            with part.open("wb") as file:
                if self.flat:
                    file.write(self._header())
                for batch, added in batches:
                    file.write(self._lines(batch, added))

    def _joined(self, batch: Batch, added: pl.DataFrame) -> pl.DataFrame:
        return batch.spelt.with_columns(self.casts).hstack(added)

    def _lines(self, batch: Batch, added: pl.DataFrame) -> bytes:
        """One line for each row."""
        if not self.flat:
            return self._joined(batch, added).write_ndjson().encode()
        if self.verbatim is None or batch.records is None:
            joined = self._joined(batch, added)
            return self._csv(joined.with_columns(_defused(joined)) if self.defuse else joined)
        behind = cut_records(self._csv(added), self._separator)
        pairs = zip(batch.records, behind, strict=True)
        return b"".join(_behind(record, line, self._separator) for record, line in pairs)

    def _csv(self, frame: pl.DataFrame) -> bytes:
        return frame.write_csv(include_header=False, separator=self._separator).encode()

    @property
    def _separator(self) -> str:
        return "\t" if self.form == ".tsv" else ","

    def _header(self) -> bytes:
        line = io.StringIO()
        own = () if self.verbatim is not None else self.header
        writer = csv.writer(line, delimiter=self._separator, lineterminator="\n")
        writer.writerow([_harmless(name) if self.defuse else name for name in (*own, *self.added)])
        ours = line.getvalue().encode()
        if self.verbatim is None:
            return ours
        return _behind(self.verbatim.header_record, ours, self._separator)

    def _refuse_what_text_cannot_hold(self, name: str) -> None:
        for column, kind in self.own.items():
            binary = kind in (pl.Binary, pl.Object)
            if binary or (self.flat and kind.is_nested()):
                raise InputError(
                    f"the column {column!r} of {name} holds {kind}, which {self.form} "
                    f"cannot: write {'.parquet' if binary else '.jsonl or .parquet'} instead",
                    where=Where(str(self.target)),
                )


def _behind(record: str, line: bytes, separator: str) -> bytes:
    """A record with more cells behind it, its own line end last."""
    body = record.rstrip("\n")
    end = "\r\n" if body.endswith("\r") and record.endswith("\n") else "\n"
    return body.removesuffix("\r" if end == "\r\n" else "").encode() + (
        separator.encode() + line.rstrip(b"\n") + end.encode()
    )


def _defused(frame: pl.DataFrame) -> list[pl.Expr]:
    """Cells that a spreadsheet would run, with an apostrophe before them, which makes them text there."""
    texts = {c: pl.col(c) for c, kind in frame.schema.items() if kind == pl.String}
    return [
        pl.when(text.str.contains(FORMULA) & ~text.str.contains(NUMBER))
        .then("'" + text)
        .otherwise(text)
        .alias(column)
        for column, text in texts.items()
    ]


def _harmless(cell: str) -> str:
    return f"'{cell}" if re.match(FORMULA, cell) and not re.match(NUMBER, cell) else cell

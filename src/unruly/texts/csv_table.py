"""CSV and TSV files, plain or gzipped, of any size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from unruly.errors import InputError
from unruly.progress import SILENT, Progress, stage
from unruly.texts.csv_records import CsvRecords
from unruly.texts.layout import Layout
from unruly.texts.lines import pieces, size_of

WHOLE = r"^(?:0|-?[1-9][0-9]{0,17})$"  # written as an integer is: no leading zeros, which are ids
NUMBER = r"^[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
TRUTH = r"^(?:true|false|True|False|TRUE|FALSE)$"
# A column's kind is the first of these that every value so far fits, else a string.
KINDS: tuple[tuple[pl.DataType, str], ...] = (
    (pl.Boolean(), TRUTH),
    (pl.Int64(), WHOLE),
    (pl.Float64(), NUMBER),
)


class CsvTable:
    """A CSV file whose records have been checked once, and whose columns have found their kinds."""

    def __init__(self, path: Path, separator: str = ",", progress: Progress = SILENT) -> None:
        self.path = path
        self.separator = separator
        self.quoted = True
        try:
            self._survey(progress)
        except InputError as error:
            if separator != "\t" or "broken quote" not in str(error):
                raise
            self.quoted = False  # in a TSV without quoting, a quote is a letter like any other
            self._survey(progress)

    @property
    def name(self) -> str:
        """The file, for messages."""
        return str(self.path)

    def _survey(self, progress: Progress) -> None:
        kinds: dict[str, int] = {}
        self.rows = 0
        with stage(progress, f"checking {self.path}", size_of(self.path), "bytes"):
            for frame in self._frames(progress):
                self.rows += frame.height
                for column in frame.columns:
                    kinds[column] = _kind(frame[column], kinds.get(column, 0))
        if not self.rows:
            raise InputError(f"{self.path}: there is a header, but no row below it: add documents")
        self.schema = pl.Schema(
            {c: KINDS[kind][0] if kind < len(KINDS) else pl.String() for c, kind in kinds.items()}
        )

    def batches(self, layout: Layout, rows: int) -> Iterator[pl.DataFrame]:
        """All rows in order; texts, ids and labels are never changed by a detour over numbers."""
        casts = [
            _cast(column, kind)
            for column, kind in self.schema.items()
            if kind != pl.String and not _as_spelt(column, kind, layout)
        ]
        for frame in self._frames():
            yield from frame.with_columns(casts).iter_slices(rows)

    def place(self, row: int) -> str:
        """Where the user finds this row."""
        before = -1  # the header
        for records in self._records():
            if row < before + len(records.lines):
                return f"{self.path}, line {records.lines[row - before]}"
            before += len(records.lines)
        raise IndexError(row)

    def _records(self) -> CsvRecords:
        return CsvRecords(self.path, self.separator, self.quoted)

    def _frames(self, progress: Progress = SILENT) -> Iterator[pl.DataFrame]:
        """The rows as strings, piece by piece."""
        header: list[str] | None = None
        for records in self._records():
            frame = self._parse(records.data, header)
            progress.advance(len(records.data))
            if header is None:
                if not frame.height:
                    continue
                header = self._header(frame)
                frame = frame.slice(1).rename(dict(zip(frame.columns, header, strict=True)))
            if frame.height:
                yield frame
        if header is not None and not frame.height:
            yield frame

    def _parse(self, data: bytes, header: list[str] | None) -> pl.DataFrame:
        if not data:
            return pl.DataFrame()
        return pl.read_csv(
            data,
            has_header=False,
            separator=self.separator,
            quote_char='"' if self.quoted else None,
            infer_schema=False,
            schema=dict.fromkeys(header, pl.String) if header else None,
        )

    def _header(self, frame: pl.DataFrame) -> list[str]:
        names = [str(name).strip() if name is not None else "" for name in frame.row(0)]
        names = [name or f"column_{i + 1}" for i, name in enumerate(names)]
        for name in names:
            if names.count(name) > 1:
                raise InputError(
                    f"{self.path}, line 1: two columns are named {name!r}: rename one of them"
                )
        return names


def separator_of(path: Path) -> str:
    """The comma, unless the header has none and has a semicolon, tab or bar, as spreadsheets write.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "x.csv"
    >>> _ = path.write_text("text;label\\nyes, please;1\\n")
    >>> separator_of(path)
    ';'
    """
    start = next(pieces(path), b"").lstrip(b"\r\n")
    header = re.sub(rb'"[^"]*"', b"", start[: start.find(b"\n") % (len(start) + 1)])
    return next((s for s in ",;\t|" if s.encode() in header), ",")


def _kind(values: pl.Series, kind: int) -> int:
    """The first kind, from `kind` on, that all these values fit."""
    present = values.drop_nulls()
    while kind < len(KINDS) and len(present):
        pattern = KINDS[kind][1]
        if all(re.match(pattern, value) for value in present.head(20)) and bool(
            present.str.contains(pattern).all()
        ):
            break
        kind += 1
    return kind


def _as_spelt(column: str, kind: pl.DataType, layout: Layout) -> bool:
    """Whether a column stays a string although its values look like something else."""
    if column == layout.text or column in layout.spelt:
        return True
    if column == layout.id:
        return kind != pl.Int64
    return column == layout.label and kind == pl.Float64


def _cast(column: str, kind: pl.DataType) -> pl.Expr:
    values = pl.col(column)
    if kind == pl.Boolean:
        return values.str.to_lowercase() == "true"
    return values.cast(kind)

"""CSV and TSV files, plain or gzipped, of any size.

polars parses, piece by piece; `csv_records` cuts the bytes at record ends, and finds what polars lets pass.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError, Where
from unruly.files import polars_errors
from unruly.progress import SILENT, Progress, stage
from unruly.texts.columns import Layout
from unruly.texts.csv_records import BrokenQuote, CsvRecords, cut_records
from unruly.texts.table import (
    BadRow,
    Rows,
    pieces,
    size_of,
)

# Written as a number is: no plus, no leading zeros, no more digits than a number keeps.
WHOLE = r"^(?:0|-?[1-9][0-9]{0,17})$"
NUMBER = r"^-?(?:(?:0|[1-9][0-9]{0,14})(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
TRUTH = r"^(?:true|false|True|False|TRUE|FALSE)$"
# A column's kind is the first of these that every value so far fits, else a string.
KINDS: tuple[tuple[pl.DataType, str], ...] = (
    (pl.Boolean(), TRUTH),
    (pl.Int64(), WHOLE),
    (pl.Float64(), NUMBER),
)


class CsvTable:
    """A CSV file whose records have been checked once, and whose columns have found their kinds."""

    def __init__(
        self, path: Path, separator: str = ",", skip: bool = False, progress: Progress = SILENT
    ) -> None:
        self.path, self.separator, self.skip = path, separator, skip
        self.quoted = True
        self.header: tuple[str, ...] = ()  # as the file spells it
        self.header_record = ""  # the whole line, its end included
        try:
            self._survey(progress)
        except BrokenQuote:
            if separator != "\t":
                raise
            self.quoted = False  # in a TSV without quoting, a quote is a letter like any other
            self._survey(progress)

    @property
    def name(self) -> str:
        """The file, for messages."""
        return str(self.path)

    def _survey(self, progress: Progress) -> None:
        survey = _Survey()
        with stage(progress, f"checking {self.path}", size_of(self.path), "bytes"):
            for part in self._parts(progress):
                survey.see(part.frame)
        self.rows = survey.rows
        if not self.rows:
            raise InputError(
                "there is a header, but no row below it: add documents", where=Where(self.name)
            )
        self.schema = pl.Schema(survey.kinds())
        self.exact = pl.Schema(survey.kinds(exact=True))

    def batches(self, layout: Layout, rows: int) -> Iterator[Rows]:
        """All rows in order; texts, ids and labels are never changed by a detour over numbers."""
        casts = [
            cast(column, kind)
            for column, kind in self.schema.items()
            if kind != pl.String and not _as_spelt(column, kind, layout)
        ]
        for part in self._parts():
            skipped = part.skipped
            records = part.records()
            for start in range(0, max(1, part.frame.height), rows):
                spelt = part.frame.slice(start, rows)
                yield Rows(
                    spelt.with_columns(casts),
                    spelt,
                    part.numbers[start : start + rows],
                    skipped,
                    records.slice(start, rows),
                )
                skipped = ()

    def where(self, row: int) -> Where:
        """Where the user finds the row of this number."""
        for records in self._records():
            at = int(np.searchsorted(records.numbers, row))
            if at < len(records.numbers) and records.numbers[at] == row:
                return Where(self.name, int(records.lines[at]))
        raise IndexError(row)

    def _records(self) -> CsvRecords:
        return CsvRecords(self.path, self.separator, self.quoted, self.skip)

    def _parts(self, progress: Progress = SILENT) -> Iterator[_Part]:
        """The rows as strings, piece by piece."""
        header: list[str] | None = None
        for records in self._records():
            frame, numbers = self._parse(records.data, header), records.numbers
            progress.advance(len(records.data))
            if header is None:
                if not frame.height:
                    continue
                header = self._names(frame)
                frame = frame.slice(1).rename(dict(zip(frame.columns, header, strict=True)))
                numbers = numbers[1:]
                first = cut_records(records.data, self.separator, self.quoted)[0]
                self.header_record = first.decode()
                yield self._part(records.data[len(first) :], frame, numbers, records.skipped)
            elif frame.height or records.skipped:
                yield self._part(records.data, frame, numbers, records.skipped)

    def _part(
        self,
        data: bytes,
        frame: pl.DataFrame,
        numbers: NDArray[np.int64],
        skipped: tuple[BadRow, ...],
    ) -> _Part:
        return _Part(
            frame, numbers, skipped, lambda: cut_records(data, self.separator, self.quoted)
        )

    def _parse(self, data: bytes, header: list[str] | None) -> pl.DataFrame:
        schema = dict.fromkeys(header, pl.String()) if header else None
        if not data:
            return pl.DataFrame(schema=schema)
        with polars_errors(self.name, "TSV" if self.separator == "\t" else "CSV"):
            return pl.read_csv(
                BOM_UTF8 + data if data[:1] == b"x" else data,  # x^ may begin a zlib stream as well
                has_header=False,
                separator=self.separator,
                quote_char='"' if self.quoted else None,
                infer_schema=False,
                schema=schema,
            )

    def _names(self, frame: pl.DataFrame) -> list[str]:
        self.header = tuple("" if name is None else str(name) for name in frame.row(0))
        names = [name.strip() or f"column_{i + 1}" for i, name in enumerate(self.header)]
        name, count = Counter(names).most_common(1)[0]
        if count > 1:
            raise InputError(
                f"two columns are named {name!r}: rename one of them", where=Where(self.name, 1)
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


@dataclass(frozen=True, eq=False)
class _Part:
    frame: pl.DataFrame
    numbers: NDArray[np.int64]
    skipped: tuple[BadRow, ...]
    cut: Callable[[], list[bytes]]

    def records(self) -> pl.Series:
        """(rows,): the records as they stand."""
        return pl.Series(self.cut(), dtype=pl.Binary).cast(pl.String)


class _Survey:
    """What each column holds, as far as has been seen."""

    def __init__(self) -> None:
        self.rows = 0
        self.at: dict[str, int] = {}  # in KINDS; their number: strings
        self.faithful: dict[str, bool] = {}  # whether a number, written again, is spelt as it was

    def see(self, frame: pl.DataFrame) -> None:
        """Go on to the first kind that all values of a column fit; all columns in a few passes."""
        self.rows += frame.height
        for column in frame.columns if not self.at else ():
            self.at[column], self.faithful[column] = 0, True
        first = frame.head(20).to_dict(as_series=False)
        doubtful = [column for column, at in self.at.items() if at < len(KINDS)]
        while doubtful:
            for column in doubtful:
                self._advance(column, first[column])
            doubtful = [column for column in doubtful if self.at[column] < len(KINDS)]
            if not doubtful:
                break
            fits = frame.select(
                pl.col(column).str.contains(KINDS[self.at[column]][1]).all() for column in doubtful
            )
            doubtful = [
                column for column, fit in zip(doubtful, fits.row(0), strict=True) if not fit
            ]
            for column in doubtful:
                self.at[column] += 1
        self._check_spelling(frame)

    def _advance(self, column: str, values: list[str | None]) -> None:
        while self.at[column] < len(KINDS) and not all(
            value is None or re.match(KINDS[self.at[column]][1], value) for value in values
        ):
            self.at[column] += 1

    def _check_spelling(self, frame: pl.DataFrame) -> None:
        kinds = {c: k for c, k in self.kinds().items() if k in (pl.Boolean, pl.Float64)}
        again = [cast(c, k).cast(pl.String).eq(pl.col(c)).all() for c, k in kinds.items()]
        for column, same in zip(kinds, frame.select(again).row(0) if kinds else (), strict=True):
            self.faithful[column] = self.faithful[column] and bool(same)

    def kinds(self, *, exact: bool = False) -> dict[str, pl.DataType]:
        """Column -> kind; with `exact`, a string where the kind would spell some cell otherwise."""
        return {
            column: pl.String()
            if at == len(KINDS) or (exact and not self.faithful[column])
            else KINDS[at][0]
            for column, at in self.at.items()
        }


def _as_spelt(column: str, kind: pl.DataType, layout: Layout) -> bool:
    """Whether a column stays a string although its values look like something else."""
    if column == layout.text or column in layout.spelt:
        return True
    if column == layout.id:
        return kind != pl.Int64
    return column == layout.label and kind == pl.Float64


def cast(column: str, kind: pl.DataType) -> pl.Expr:
    """A column of strings as another kind."""
    values = pl.col(column)
    if kind == pl.Boolean:
        return values.str.to_lowercase() == "true"
    return values.cast(kind)

"""JSON Lines files, plain or gzipped, of any size."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError, Where
from unruly.files import polars_errors
from unruly.progress import SILENT, Progress, stage
from unruly.texts.columns import Layout
from unruly.texts.table import LONGEST_RECORD, BadRow, Rows, check_utf8, empty_file, pieces, size_of

# What a JSON number, truth value, list or object looks like once polars has made a string of it.
_PERHAPS_BLANK = (b"\n\n", b"\n\r", b"\n ", b"\n\t")
NOT_A_STRING = r"^(?:-?[0-9][0-9.eE+-]*|true|false|\[.*\]|\{.*\})$"


@dataclass(frozen=True, eq=False)
class _Lines:
    """Whole lines of the file; they are split only where that is needed."""

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
        """How many rows there are, those that were left out included."""
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
        """The others; `bad` maps places among the rows to what is wrong with them."""
        rows, skipped = self.rows, []
        for at, reason in bad.items():
            number, line, _ = rows[at]
            skipped.append(BadRow(number, reason, Where(name, line)))
        left = tuple(rows[at][0] - self.number for at in range(len(rows)) if at not in bad)
        return _Lines(self.data, self.line, self.number, left, (*self.skipped, *skipped))


class JsonLinesTable:
    """A JSON Lines file that has been parsed once, and whose columns have found their kinds."""

    def __init__(self, path: Path, skip: bool = False, progress: Progress = SILENT) -> None:
        self.path, self.skip = path, skip
        self.rows = 0
        empty = pl.DataFrame()
        checking = stage(progress, f"checking {path}", size_of(path), "bytes")
        with checking, polars_errors(path, "JSON Lines"):
            for lines in self._lines():
                frame, _ = self._parse(lines, None)
                self.rows += frame.height
                empty = _widened(empty, frame.clear())
                progress.advance(len(lines.data))
        if not self.rows:
            raise empty_file(path)
        self.schema = empty.schema

    @property
    def name(self) -> str:
        """The file, for messages."""
        return str(self.path)

    @property
    def exact(self) -> pl.Schema:
        """The kinds that lose nothing: JSON tells numbers from strings itself."""
        return self.schema

    def batches(self, layout: Layout, rows: int) -> Iterator[Rows]:
        """All rows in order; a text that is a number or a list in the file is refused."""
        for lines in self._lines():
            frame, good = self._parse(lines, self.schema)
            if self.schema[layout.text] == pl.String:
                frame, good = self._strings_only(frame, good, layout.text)
            skipped = good.skipped
            for start in range(0, max(1, frame.height), rows):
                part = frame.slice(start, rows)
                yield Rows(part, part, good.numbers[start : start + rows], skipped)
                skipped = ()

    def where(self, row: int) -> Where:
        """Where the user finds the row of this number."""
        for lines in self._lines():
            if row < lines.number + lines.count:
                return Where(self.name, lines.rows[row - lines.number][1])
        raise IndexError(row)

    def _lines(self) -> Iterator[_Lines]:
        left, line, number = b"", 1, 0
        for data in pieces(self.path):
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
            complaint = (str(error).splitlines() or ["unknown reason"])[0]
        faults = ((at, _fault(text)) for at, (_, _, text) in enumerate(lines.rows))
        bad = {at: fault for at, fault in faults if fault is not None}
        if not bad:
            raise InputError(f"cannot be read as JSON Lines: {complaint}", where=Where(self.name))
        return self._parse(self._left(lines, bad), schema)

    def _strings_only(
        self, frame: pl.DataFrame, lines: _Lines, column: str
    ) -> tuple[pl.DataFrame, _Lines]:
        """polars makes strings of numbers; look at what the file holds where that may be so."""
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
    """Both frames' columns, each of a kind that holds both frames' values."""
    if not known.width or not new.width:
        return known if known.width else new
    return pl.concat([known, new], how="diagonal_relaxed")

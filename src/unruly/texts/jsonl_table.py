"""JSON Lines files, plain or gzipped, of any size."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from unruly.errors import InputError
from unruly.progress import SILENT, Progress, stage
from unruly.texts.encoding import check_utf8
from unruly.texts.layout import Layout
from unruly.texts.lines import empty_file, pieces, size_of

# What a JSON number, truth value, list or object looks like once polars has made a string of it.
NOT_A_STRING = r"^(?:-?[0-9][0-9.eE+-]*|true|false|\[.*\]|\{.*\})$"


@dataclass(frozen=True)
class _Lines:
    """Whole lines of the file."""

    data: bytes
    line: int  # the number of the first one, counted from 1


class JsonLinesTable:
    """A JSON Lines file that has been parsed once, and whose columns have found their kinds."""

    def __init__(self, path: Path, progress: Progress = SILENT) -> None:
        self.path = path
        self.rows = 0
        empty = pl.DataFrame()
        with stage(progress, f"checking {path}", size_of(path), "bytes"):
            for lines in self._lines():
                frame = self._parse(lines, None)
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

    def batches(self, layout: Layout, rows: int) -> Iterator[pl.DataFrame]:
        """All rows in order; a text that is a number or a list in the file is refused."""
        for lines in self._lines():
            frame = self._parse(lines, self.schema)
            if self.schema[layout.text] == pl.String:
                self._check_strings(frame[layout.text], lines)
            yield from frame.iter_slices(rows)

    def place(self, row: int) -> str:
        """Where the user finds this row."""
        for lines in self._lines():
            for offset, line in enumerate(lines.data.split(b"\n")):
                if not line.strip():
                    continue
                if row == 0:
                    return f"{self.path}, line {lines.line + offset}"
                row -= 1
        raise IndexError(row)

    def _lines(self) -> Iterator[_Lines]:
        left, line = b"", 1
        for data in pieces(self.path):
            buffer = left + data
            end = buffer.rfind(b"\n") + 1
            if end:
                check_utf8(buffer[:end], str(self.path), line)
                yield _Lines(buffer[:end], line)
            line += buffer.count(b"\n", 0, end)
            left = buffer[end:]
        if left:
            check_utf8(left, str(self.path), line)
            yield _Lines(left, line)

    def _parse(self, lines: _Lines, schema: pl.Schema | None) -> pl.DataFrame:
        if not lines.data.strip():
            return pl.DataFrame(schema=schema)
        try:
            return pl.read_ndjson(lines.data, schema=schema, infer_schema_length=None)
        except pl.exceptions.PolarsError as error:
            raise self._broken(lines, str(error)) from None

    def _broken(self, lines: _Lines, otherwise: str) -> InputError:
        """Find the line that is not a JSON object."""
        for offset, line in enumerate(lines.data.split(b"\n")):
            where = f"{self.path}, line {lines.line + offset}"
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except json.JSONDecodeError as error:
                hint = "a JSON array is not JSON Lines: " if line.lstrip()[:1] == b"[" else ""
                return InputError(
                    f"{where}, column {error.colno}: not JSON ({error.msg}): {hint}write one whole object a line"
                )
            if not isinstance(value, dict):
                return InputError(
                    f"{where}: a {type(value).__name__}, not an object: write one object a line"
                )
        return InputError(f"{self.path}: cannot be read as JSON Lines: {otherwise.splitlines()[0]}")

    def _check_strings(self, values: pl.Series, lines: _Lines) -> None:
        """polars makes strings of numbers; look at what the file really says where that may be so."""
        doubtful = values.str.contains(NOT_A_STRING).fill_null(False).arg_true()
        if not len(doubtful):
            return
        written = [(o, t) for o, t in enumerate(lines.data.split(b"\n")) if t.strip()]
        for row in doubtful:
            offset, line = written[row]
            value = json.loads(line).get(values.name)
            if value is not None and not isinstance(value, str):
                raise InputError(
                    f"{self.path}, line {lines.line + offset}: {values.name!r} is {json.dumps(value)}, not a string, "
                    "as in other rows: write it in quotes"
                )


def _widened(known: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """Both frames' columns, each of a kind that holds both frames' values."""
    if not known.width or not new.width:
        return known if known.width else new
    return pl.concat([known, new], how="diagonal_relaxed")

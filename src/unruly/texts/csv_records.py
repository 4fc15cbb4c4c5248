"""The records of a CSV file: where each begins and ends, and whether its quotes and fields add up.

polars parses; this file only cuts the bytes at record ends, so that a file of any size can be parsed
piece by piece, and finds the line of what is wrong. The rules are RFC 4180's: a quote opens at the
start of a field, closes at its end, and is doubled inside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.texts.encoding import check_utf8
from unruly.texts.lines import PIECE, empty_file, pieces

QUOTE, NEWLINE, RETURN = 34, 10, 13
LONGEST_RECORD = 64 << 20  # bytes; a longer one is a quote that was never closed


@dataclass(frozen=True, eq=False)
class Records:
    """Some whole records of the file, without blank lines."""

    data: bytes
    lines: NDArray[np.int64]  # (records,): the line on which each begins, counted from 1


@dataclass(frozen=True)
class CsvRecords:
    """Reads a CSV file as pieces of whole records; the first record is the header."""

    path: Path
    separator: str = ","
    quoted: bool = True  # False: quotes are letters like any other
    piece: int = PIECE

    def __iter__(self) -> Iterator[Records]:
        width: int | None = None
        left, line = b"", 1
        for data, last in _with_last(pieces(self.path, self.piece)):
            buffer = left + data
            if last and not buffer.endswith(b"\n"):
                buffer += b"\n"
            marks = self._marks(buffer)
            end = int(marks.ends[-1]) + 1 if len(marks.ends) else 0
            if end:  # before the next check: a stray quote is best named where it first shows
                width = self._check(buffer, marks, line, width)
            if (last and end < len(buffer)) or len(buffer) - end > LONGEST_RECORD:
                raise self._never_closed(line + buffer.count(b"\n", 0, end))
            if end:
                yield _records(buffer, marks, line)
            line += buffer.count(b"\n", 0, end)
            left = buffer[end:]
        if width is None:
            raise empty_file(self.path)

    def _marks(self, buffer: bytes) -> _Marks:
        """Where quotes, separators and record ends stand; the buffer begins with a record."""
        table = np.zeros(256, dtype=np.bool_)
        table[[NEWLINE, ord(self.separator), *([QUOTE] if self.quoted else [])]] = True
        codes = np.frombuffer(buffer, dtype=np.uint8)
        at = np.flatnonzero(table[codes])
        kind = codes[at]
        is_quote = kind == QUOTE if self.quoted else np.zeros(len(kind), dtype=np.bool_)
        inside = (np.cumsum(is_quote, dtype=np.int32) & 1).astype(np.bool_)
        ends = at[(kind == NEWLINE) & ~inside]
        limit = ends[-1] if len(ends) else -1  # what follows belongs to the next piece
        quotes = is_quote & (at < limit)
        gaps = at[(kind == ord(self.separator)) & ~inside & (at < limit)]
        return _Marks(codes, ends, gaps, at[quotes], inside[quotes])

    def _check(self, buffer: bytes, marks: _Marks, line: int, width: int | None) -> int:
        """Encoding, quotes and the number of fields; returns the number of fields."""
        end = int(marks.ends[-1]) + 1
        check_utf8(buffer[:end], str(self.path), line)
        self._check_quotes(buffer, marks, line)
        starts = marks.starts
        record_of = np.searchsorted(marks.ends, marks.gaps)
        fields = np.bincount(record_of, minlength=len(starts)) + 1
        full = ~_blank(marks)
        if width is None:
            if not full.any():
                return 0
            width = int(fields[full][0])
        wrong = full & (fields != width)
        if wrong.any():
            record = int(np.flatnonzero(wrong)[0])
            here = line + buffer.count(b"\n", 0, int(starts[record]))
            raise InputError(
                f"{self.path}, line {here}: {fields[record]} fields, but the header has {width}: "
                f"a field that contains {self._separator_name} must stand in double quotes"
            )
        return width

    def _check_quotes(self, buffer: bytes, marks: _Marks, line: int) -> None:
        """Each quote opens a field, closes one, or is doubled."""
        if not len(marks.quotes):
            return
        before = np.where(marks.quotes > 0, marks.codes[np.maximum(marks.quotes - 1, 0)], NEWLINE)
        after = marks.codes[marks.quotes + 1]
        opens_well = np.isin(before, [ord(self.separator), NEWLINE, QUOTE])
        closes_well = np.isin(after, [ord(self.separator), NEWLINE, RETURN, QUOTE])
        wrong = np.where(marks.opening, ~opens_well, ~closes_well)
        if not wrong.any():
            return
        at = int(marks.quotes[np.flatnonzero(wrong)[0]])
        start = int(marks.starts[np.searchsorted(marks.ends, at)])
        here = line + buffer.count(b"\n", 0, start)
        there = line + buffer.count(b"\n", 0, at)
        upto = f" (noticed at line {there})" if there > here else ""
        near = buffer[max(start, at - 15) : at + 15].decode("utf-8", "replace").replace("\n", " ")
        raise InputError(
            f"{self.path}, line {here}: a broken quote{upto}, near {near.strip()!r}: put the whole "
            'field in double quotes, and double the quotes inside it ("")'
        )

    def _never_closed(self, line: int) -> InputError:
        return InputError(
            f"{self.path}, line {line}: a broken quote: a field is opened with a double quote and never "
            'closed: close it, and double the quotes inside it ("")'
        )

    @property
    def _separator_name(self) -> str:
        return {",": "a comma", "\t": "a tab"}.get(self.separator, repr(self.separator))


@dataclass(frozen=True, eq=False)
class _Marks:
    codes: NDArray[np.uint8]
    ends: NDArray[np.int64]  # newlines outside quotes
    gaps: NDArray[np.int64]  # separators outside quotes, before the last end
    quotes: NDArray[np.int64]  # quotes before the last end
    opening: NDArray[np.bool_]  # whether each of those opens

    @property
    def starts(self) -> NDArray[np.int64]:
        return np.concatenate([[0], self.ends[:-1] + 1])


def _blank(marks: _Marks) -> NDArray[np.bool_]:
    """(records,): nothing on the line but its end."""
    length = marks.ends - marks.starts
    only_return = (length == 1) & (marks.codes[marks.starts] == RETURN)
    return np.asarray((length == 0) | only_return)


def _records(buffer: bytes, marks: _Marks, line: int) -> Records:
    codes, end = marks.codes, int(marks.ends[-1]) + 1
    newlines = np.flatnonzero(codes[:end] == NEWLINE)
    lines = line + np.searchsorted(newlines, marks.starts)
    blank = _blank(marks)
    if not blank.any():
        return Records(buffer[:end], lines)
    kept = [
        buffer[s : e + 1] for s, e in zip(marks.starts[~blank], marks.ends[~blank], strict=True)
    ]
    return Records(b"".join(kept), lines[~blank])


def _with_last(items: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Each item, and whether it is the last one."""
    held = next(items, None)
    while held is not None:
        following = next(items, None)
        yield held, following is None
        held = following

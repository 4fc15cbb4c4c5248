"""The records of a CSV file: its bytes cut at record ends, and what polars lets pass found out.

That is rows with too few fields, stray quotes, and the line of each. The rules are RFC 4180's: a quote opens at the
start of a field, closes at its end, and is doubled inside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError, Where
from unruly.texts.table import (
    LONGEST_RECORD,
    PIECE,
    BadRow,
    check_utf8,
    empty_file,
    is_utf8,
    pieces,
)

QUOTE, NEWLINE, RETURN = 34, 10, 13
SMALL_PIECE = (
    1 << 18
)  # bytes at a time where bad rows are skipped: a stray quote is looked at again


class BrokenQuote(InputError):
    """A quote that neither opens nor closes a field."""


def cut_records(data: bytes, separator: str = ",", quoted: bool = True) -> list[bytes]:
    r"""Whole records, each with its line end; blank lines are left out.

    >>> cut_records(b'a,"b\n"\r\n\nc,d\n')
    [b'a,"b\n"\r\n', b'c,d\n']
    """
    marks = CsvRecords(Path(), separator, quoted)._marks(data)
    keep = ~marks.blank
    spans = zip(marks.starts[keep].tolist(), marks.ends[keep].tolist(), strict=True)
    return [data[start : end + 1] for start, end in spans]


@dataclass(frozen=True, eq=False)
class Records:
    """Some whole records of the file, without blank lines."""

    data: bytes
    lines: NDArray[np.int64]  # (records,): the line on which each begins, counted from 1
    numbers: NDArray[np.int64]  # (records,): which row each is; the header is -1
    skipped: tuple[BadRow, ...] = ()


@dataclass(frozen=True)
class CsvRecords:
    """Reads a CSV file as pieces of whole records; the first record is the header.

    With `skip`, records that are malformed are left out; they count as rows all the same.
    """

    path: Path
    separator: str = ","
    quoted: bool = True  # False: quotes are letters like any other
    skip: bool = False
    piece: int = PIECE

    def __iter__(self) -> Iterator[Records]:
        width: int | None = None
        left, line, number = b"", 1, -1
        size = min(self.piece, SMALL_PIECE) if self.skip else self.piece
        for data, last in _with_last(pieces(self.path, size)):
            buffer = left + data
            if line == 1 and b"\n" not in buffer and b"\r" in buffer:
                raise self._old_line_ends()
            if last and not buffer.endswith(b"\n"):
                buffer += b"\n"
            while buffer:
                marks = self._marks(buffer)
                fault = self._broken_quote(buffer, marks, line)
                if fault is not None:
                    marks = self._marks(buffer[: fault.start])
                end = marks.end
                if end:
                    records, width = self._sound(buffer, marks, line, number, width)
                    yield records
                    number += marks.count
                    line += buffer.count(b"\n", 0, end)
                    buffer = buffer[end:]
                if fault is None:
                    if not (last and buffer) and len(buffer) <= LONGEST_RECORD:
                        break
                    fault = _Fault(0, self._never_closed(line))
                if not self.skip or self.separator == "\t" or number < 0:
                    raise fault.error
                cut = (buffer.find(b"\n") + 1) or len(buffer)
                bad = BadRow(number, fault.error.message, Where(str(self.path), line))
                yield Records(b"", _none(), _none(), (bad,))
                number, line, buffer = number + 1, line + 1, buffer[cut:]
            left = buffer
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

    def _sound(
        self, buffer: bytes, marks: _Marks, line: int, number: int, width: int | None
    ) -> tuple[Records, int | None]:
        """The records, their encoding and number of fields checked; and that number."""
        full = ~marks.blank
        fields = np.bincount(np.searchsorted(marks.ends, marks.gaps), minlength=len(full)) + 1
        if width is None and full.any():
            width = int(fields[full][0])
        newlines = np.flatnonzero(marks.codes[: marks.end] == NEWLINE)
        lines = line + np.searchsorted(newlines, marks.starts)
        numbers = number + np.cumsum(full) - 1
        wrong = full & (fields != width)
        if not self.skip:
            check_utf8(buffer[: marks.end], str(self.path), line)
            if wrong.any():
                at = int(np.flatnonzero(wrong)[0])
                raise InputError(
                    self._wrong_width(int(fields[at]), width),
                    where=Where(str(self.path), int(lines[at])),
                )
            return _records(buffer, marks, full, lines, numbers, ()), width
        strange = np.zeros(len(full), dtype=np.bool_)
        if not is_utf8(buffer[: marks.end]):
            spans = zip(marks.starts.tolist(), marks.ends.tolist(), strict=True)
            strange = full & [not is_utf8(buffer[start:end]) for start, end in spans]
        skipped = []
        for at in np.flatnonzero(wrong | strange).tolist():
            where = Where(str(self.path), int(lines[at]))
            reason = "not valid UTF-8" if strange[at] else self._wrong_width(int(fields[at]), width)
            if numbers[at] < 0:
                raise InputError(reason, where=where)
            skipped.append(BadRow(int(numbers[at]), reason, where))
        keep = full & ~wrong & ~strange
        return _records(buffer, marks, keep, lines, numbers, tuple(skipped)), width

    def _broken_quote(self, buffer: bytes, marks: _Marks, line: int) -> _Fault | None:
        """The first quote that neither opens a field, nor closes one, nor is doubled."""
        if not len(marks.quotes):
            return None
        before = np.where(marks.quotes > 0, marks.codes[np.maximum(marks.quotes - 1, 0)], NEWLINE)
        after = marks.codes[marks.quotes + 1]
        opens_well = np.isin(before, [ord(self.separator), NEWLINE, QUOTE])
        closes_well = np.isin(after, [ord(self.separator), NEWLINE, RETURN, QUOTE])
        wrong = np.where(marks.opening, ~opens_well, ~closes_well)
        if not wrong.any():
            return None
        at = int(marks.quotes[np.flatnonzero(wrong)[0]])
        start = int(marks.starts[np.searchsorted(marks.ends, at)])
        here = line + buffer.count(b"\n", 0, start)
        there = line + buffer.count(b"\n", 0, at)
        upto = f" (noticed at line {there})" if there > here else ""
        near = buffer[max(start, at - 15) : at + 15].decode("utf-8", "replace").replace("\n", " ")
        error = BrokenQuote(
            f"a broken quote{upto}, near {near.strip()!r}: put the whole "
            'field in double quotes, and double the quotes inside it ("")',
            where=Where(str(self.path), here),
        )
        return _Fault(start, error)

    def _never_closed(self, line: int) -> BrokenQuote:
        return BrokenQuote(
            "a broken quote: a field is opened with a double quote and never closed, or a line is "
            'longer than 64 MB: close it, and double the quotes inside it ("")',
            where=Where(str(self.path), line),
        )

    def _wrong_width(self, fields: int, width: int | None) -> str:
        name = {",": "a comma", "\t": "a tab"}.get(self.separator, repr(self.separator))
        return (
            f"{fields} fields, but the header has {width}: "
            f"a field that contains {name} must stand in double quotes"
        )

    def _old_line_ends(self) -> InputError:
        return InputError(
            "the lines end in CR alone, as on old Macs: convert them, "
            f"e.g. tr '\\r' '\\n' < {self.path.name} > new.csv",
            where=Where(str(self.path), 1),
        )


@dataclass(frozen=True)
class _Fault:
    start: int  # of its record, in the buffer
    error: InputError


@dataclass(frozen=True, eq=False)
class _Marks:
    codes: NDArray[np.uint8]
    ends: NDArray[np.int64]  # newlines outside quotes
    gaps: NDArray[np.int64]  # separators outside quotes, before the last end
    quotes: NDArray[np.int64]  # quotes before the last end
    opening: NDArray[np.bool_]  # whether each of those opens

    @property
    def starts(self) -> NDArray[np.int64]:
        return np.concatenate([[0], self.ends[:-1] + 1]) if len(self.ends) else _none()

    @property
    def end(self) -> int:
        """After the last whole record."""
        return int(self.ends[-1]) + 1 if len(self.ends) else 0

    @property
    def blank(self) -> NDArray[np.bool_]:
        """(records,): nothing on the line but its end."""
        length = self.ends - self.starts
        only_return = (length == 1) & (self.codes[self.starts] == RETURN)
        return np.asarray((length == 0) | only_return)

    @property
    def count(self) -> int:
        """How many records are not blank."""
        return int((~self.blank).sum())


def _records(
    buffer: bytes,
    marks: _Marks,
    keep: NDArray[np.bool_],
    lines: NDArray[np.int64],
    numbers: NDArray[np.int64],
    skipped: tuple[BadRow, ...],
) -> Records:
    if keep.all():
        return Records(buffer[: marks.end], lines, numbers, skipped)
    spans = zip(marks.starts[keep].tolist(), marks.ends[keep].tolist(), strict=True)
    data = b"".join(buffer[start : end + 1] for start, end in spans)
    return Records(data, lines[keep], numbers[keep], skipped)


def _none() -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64)


def _with_last(items: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Each item, and whether it is the last one."""
    held = next(items, None)
    while held is not None:
        following = next(items, None)
        yield held, following is None
        held = following

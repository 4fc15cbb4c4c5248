"""CSV and TSV files, plain or gzipped, of any size.

polars parses the file piece by piece. `CsvRecords` cuts the bytes at the ends of records, and finds what polars does not
report: rows with too few fields, stray quotes, and the line of each. The rules are those of RFC 4180: a quote opens at the
start of a field, closes at its end, and is doubled inside. Blank lines are left out; but below a header of one column, where
programs write them for a missing value, each is a row.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import BadRowError, InputError, Where, polars_errors, warn
from unruly.findings import ReadAsWindows1252
from unruly.progress import SILENT, Progress, stage
from unruly.sentences import sentence
from unruly.texts.columns import Layout
from unruly.texts.table import (
    BOM,
    LONGEST_RECORD,
    PIECE,
    BadRow,
    Doubt,
    Encoding,
    NotUtf8,
    Pipe,
    Rows,
    byte_order_mark,
    check_utf8,
    empty_file,
    encoding_of,
    is_utf8,
    no_row_left,
    pieces,
    size_of,
    through,
    windows_doubt,
)

QUOTE, NEWLINE, RETURN = 34, 10, 13
SMALL_PIECE = 1 << 18  # bytes read at a time where bad rows are skipped, and so read again
# Numbers that are written again as they were: no plus, no leading zeros, not too many digits.
WHOLE = r"^(?:0|-?[1-9][0-9]{0,17})$"
NUMBER = r"^-?(?:(?:0|[1-9][0-9]{0,14})(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
TRUTH = r"^(?:true|false|True|False|TRUE|FALSE)$"
# The type of a column is the first of these that all its values fit, else a string.
KINDS: tuple[tuple[pl.DataType, str], ...] = (
    (pl.Boolean(), TRUTH),
    (pl.Int64(), WHOLE),
    (pl.Float64(), NUMBER),
)


class CsvTable:
    """A CSV file that has been read once, to check its records and to find the types of its columns.

    Standard input can be read only once: its first rows decide, and a column of numbers becomes strings when a
    later value is not a number.
    """

    def __init__(
        self,
        source: Path | Pipe,
        separator: str = ",",
        skip: bool = False,
        progress: Progress = SILENT,
    ) -> None:
        self.source, self.name = source, str(source)
        self.separator, self.skip = separator, skip
        self.quoted = True
        self.encoding = encoding_of(source)
        # Rows that are not UTF-8 are bad ones; False: perhaps the whole file is in another encoding.
        self.mixed = isinstance(source, Pipe)
        self.header: tuple[str, ...] = ()  # as the file spells it
        self.header_record = ""  # the whole line, its end included
        while not self._surveyed(progress):
            pass  # again, as another kind of file

    @property
    def mark(self) -> bytes:
        """The byte-order mark of a copy in UTF-8: spreadsheets, which write the other encodings, need it."""
        return byte_order_mark(self.source) if self.encoding is Encoding.UTF_8 else BOM

    def _surveyed(self, progress: Progress) -> bool:
        """Whether the file is what it was taken for; where it is not, it is taken for something else."""
        try:
            self._survey(progress)
        except BrokenQuote:
            if self.separator != "\t" or not self.quoted:
                raise
            self.quoted = False  # in a TSV without quoting, a quote is a letter like any other
            return False
        except NotUtf8 as error:
            self._take_for_windows(error)
            return False
        return True

    def _take_for_windows(self, error: NotUtf8) -> None:
        """Read the file as Windows-1252. What speaks against that makes rows bad ones, or the file one to refuse."""
        if isinstance(self.source, Pipe):
            raise error
        doubt = Doubt.MIXED if byte_order_mark(self.source) else windows_doubt(pieces(self.source))
        if doubt is None:
            self.encoding = Encoding.WINDOWS_1252
            line = (error.where and error.where.line) or 1
            warn(sentence(ReadAsWindows1252(self.source.name, line, error.reads)))
        elif self.skip and doubt is not Doubt.BINARY:
            self.mixed = True
        else:
            raise error.doubted(doubt)

    def _survey(self, progress: Progress) -> None:
        self._seen = _Survey()
        skipped: list[BadRow] = []
        if isinstance(self.source, Pipe):
            self._coming = self._parts()
            self._first = _until_rows(self._coming)
            for frame, records in self._first:
                self._see(frame)
                skipped += records.skipped
            self.rows: int | None = None
        else:
            size = size_of(self.source) if self.encoding is Encoding.UTF_8 else None
            with stage(progress, f"checking {self.source}", size, "bytes"):
                for frame, records in self._parts(progress):
                    self._see(frame)
                    skipped += records.skipped
            self.rows = self._seen.rows
        if not self._seen.rows and skipped:
            raise no_row_left(self.source, skipped)
        if not self._seen.rows:
            raise InputError(
                "there is a header, but no row below it: add documents", where=Where(self.name)
            )

    def _see(self, frame: pl.DataFrame) -> None:
        self._seen.see(frame)
        self.schema = pl.Schema(self._seen.kinds())
        self.exact = pl.Schema(self._seen.kinds(exact=True))

    def _again(self) -> Iterator[tuple[pl.DataFrame, Records]]:
        """All rows again; standard input has them only this once."""
        if not isinstance(self.source, Pipe):
            yield from self._parts()
            return
        while self._first:
            yield self._first.pop(0)
        for frame, records in self._coming:
            self._see(frame)
            yield frame, records

    def batches(self, layout: Layout, rows: int) -> Iterator[Rows]:
        """All rows in order; texts, ids and labels stay as the file spells them."""
        for frame, records in self._again():
            casts = [
                cast(column, kind)
                for column, kind in self.schema.items()
                if kind != pl.String and not _as_spelt(column, kind, layout)
            ]
            self._latest = records
            skipped = records.skipped
            lines = pl.Series(self._cut(records), dtype=pl.Binary).cast(pl.String)
            for start in range(0, max(1, frame.height), rows):
                spelt = frame.slice(start, rows)
                yield Rows(
                    spelt.with_columns(casts),
                    spelt,
                    records.numbers[start : start + rows],
                    skipped,
                    lines.slice(start, rows),
                )
                skipped = ()

    def where(self, row: int) -> Where:
        """The line of the row with this number; of standard input, only recent rows are known."""
        for records in [self._latest] if isinstance(self.source, Pipe) else self._records():
            at = int(np.searchsorted(records.numbers, row))
            if at < len(records.numbers) and records.numbers[at] == row:
                return Where(self.name, int(records.lines[at]))
        raise IndexError(row)

    def _records(self) -> CsvRecords:
        return CsvRecords(
            self.source,
            self.separator,
            self.quoted,
            self.skip,
            encoding=self.encoding,
            mixed=self.mixed,
        )

    def _cut(self, records: Records) -> list[bytes]:
        return cut_records(records.data, self.separator, self.quoted, blank=True)

    def _parts(self, progress: Progress = SILENT) -> Iterator[tuple[pl.DataFrame, Records]]:
        """The rows as strings, piece by piece, and the records that they came from."""
        header: list[str] | None = None
        for records in self._records():
            frame = self._parse(records.data, header)
            progress.advance(len(records.data))
            if header is None and frame.height:
                header = self._names(frame)
                frame = frame.slice(1).rename(dict(zip(frame.columns, header, strict=True)))
                first = self._cut(records)[0]
                self.header_record = first.decode()
                yield frame, records.below(len(first))
            elif header is not None and (frame.height or records.skipped):
                yield frame, records

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


def _until_rows(
    parts: Iterator[tuple[pl.DataFrame, Records]],
) -> list[tuple[pl.DataFrame, Records]]:
    """The first parts, up to one with rows: the header may come in a part of its own."""
    found = []
    for frame, records in parts:
        found.append((frame, records))
        if frame.height:
            break
    return found


def separator_of(path: Path | Pipe) -> str:
    """The delimiter: a comma, unless the header has none but a semicolon, tab or bar, as spreadsheets write.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "x.csv"
    >>> _ = path.write_text("text;label\\nyes, please;1\\n")
    >>> separator_of(path)
    ';'
    """
    start = next(pieces(path, encoding=encoding_of(path)), b"").lstrip(b"\r\n")
    header = re.sub(rb'"[^"]*"', b"", start[: start.find(b"\n") % (len(start) + 1)])
    return next((s for s in ",;\t|" if s.encode() in header), ",")


class _Survey:
    """The types of the columns, as far as the file has been read."""

    def __init__(self) -> None:
        self.rows = 0
        self.fits: dict[str, list[int]] = {}  # those of KINDS that all values fit
        self.faithful: dict[str, bool] = {}  # whether a number, written again, is spelt as it was

    def see(self, frame: pl.DataFrame) -> None:
        """Rule out types that some value does not fit; the first rows are tried first, and rule out most."""
        self.rows += frame.height
        for column in frame.columns if not self.fits else ():
            self.fits[column], self.faithful[column] = list(range(len(KINDS))), True
        first = frame.head(20).to_dict(as_series=False)
        for column, kinds in self.fits.items():
            self.fits[column] = [kind for kind in kinds if _all_fit(first[column], kind)]
        pairs = [(column, kind) for column, kinds in self.fits.items() for kind in kinds]
        found = frame.select(
            pl.col(column).str.contains(KINDS[kind][1]).all().alias(str(i))
            for i, (column, kind) in enumerate(pairs)
        )
        for (column, kind), fit in zip(pairs, found.row(0) if pairs else (), strict=True):
            if not fit:
                self.fits[column].remove(kind)
        self._check_spelling(frame)

    def _check_spelling(self, frame: pl.DataFrame) -> None:
        kinds = {c: k for c, k in self.kinds().items() if k in (pl.Boolean, pl.Float64)}
        again = [cast(c, k).cast(pl.String).eq(pl.col(c)).all() for c, k in kinds.items()]
        for column, same in zip(kinds, frame.select(again).row(0) if kinds else (), strict=True):
            self.faithful[column] = self.faithful[column] and bool(same)

    def kinds(self, *, exact: bool = False) -> dict[str, pl.DataType]:
        """Column -> type; with `exact`, a string where a cell would not be written again as it was."""
        return {
            column: KINDS[kinds[0]][0]
            if kinds and (self.faithful[column] or not exact)
            else pl.String()
            for column, kinds in self.fits.items()
        }


def _all_fit(values: list[str | None], kind: int) -> bool:
    return all(value is None or re.match(KINDS[kind][1], value) for value in values)


def _as_spelt(column: str, kind: pl.DataType, layout: Layout) -> bool:
    """Whether a column stays a string although its values look like numbers."""
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


class BrokenQuote(InputError):
    """A quote that neither opens nor closes a field."""


def cut_records(
    data: bytes, separator: str = ",", quoted: bool = True, *, blank: bool = False
) -> list[bytes]:
    r"""Whole records, each with its line end; blank lines are left out, or with `blank` are records, too.

    >>> cut_records(b'a,"b\n"\r\n\nc,d\n')
    [b'a,"b\n"\r\n', b'c,d\n']
    """
    marks = _marks(data, separator, quoted)
    keep = ~marks.blank | blank
    spans = zip(marks.starts[keep].tolist(), marks.ends[keep].tolist(), strict=True)
    return [data[start : end + 1] for start, end in spans]


@dataclass(frozen=True, eq=False)
class Records:
    """Some whole records of the file, without blank lines that are none."""

    data: bytes
    lines: NDArray[np.int64]  # (records,): the line on which each begins, counted from 1
    numbers: NDArray[np.int64]  # (records,): which row each is; the header is -1
    skipped: tuple[BadRow, ...] = ()

    def below(self, size: int) -> Records:
        """The records below the first, the header, which has so many bytes."""
        return Records(self.data[size:], self.lines[1:], self.numbers[1:], self.skipped)


@dataclass(frozen=True)
class CsvRecords:
    """Reads a CSV file as pieces of whole records; the first record is the header.

    With `skip`, malformed records are left out, but still counted as rows.
    """

    source: Path | Pipe
    separator: str = ","
    quoted: bool = True  # False: quotes are letters like any other
    skip: bool = False
    piece: int = PIECE
    encoding: Encoding = Encoding.UTF_8
    mixed: bool = True  # False: rows that are not UTF-8 are refused even with `skip`, as all may be in another encoding

    def __iter__(self) -> Iterator[Records]:
        width: int | None = None
        left, line, number = b"", 1, -1
        size = min(self.piece, SMALL_PIECE) if self.skip else self.piece
        for data in chain(pieces(self.source, size, self.encoding), [b""]):
            buffer, last = left + data, not data
            if line == 1 and b"\n" not in buffer and b"\r" in buffer[:-1]:
                raise self._old_line_ends()
            if last and buffer and not buffer.endswith(b"\n"):
                buffer += b"\n"
            while buffer:  # whole records, up to the first broken one
                marks = _marks(buffer, self.separator, self.quoted)
                fault = self._broken_quote(buffer, marks, line)
                if fault is not None:
                    marks = _marks(buffer[: fault[0]], self.separator, self.quoted)
                end = marks.end
                if end:
                    records, width = self._sound(buffer, marks, line, number, width)
                    yield records
                    number += len(records.numbers) + len(records.skipped)
                    line += buffer.count(b"\n", 0, end)
                    buffer = buffer[end:]
                if fault is None:
                    # The rest is the start of a record: read on, unless it never ends.
                    if not (last and buffer) and len(buffer) <= LONGEST_RECORD:
                        break
                    fault = 0, self._never_closed(line)
                if self.separator == "\t" or number < 0:
                    raise fault[1]
                if not self.skip:
                    raise BadRowError(fault[1].message, where=fault[1].where)
                # Skip one line, and try again behind it.
                cut = (buffer.find(b"\n") + 1) or len(buffer)
                bad = BadRow(number, fault[1].message, Where(str(self.source), line))
                yield Records(b"", _none(), _none(), (bad,))
                number, line, buffer = number + 1, line + 1, buffer[cut:]
            left = buffer
        if width is None:
            raise empty_file(self.source)

    def _sound(
        self, buffer: bytes, marks: _Marks, line: int, number: int, width: int | None
    ) -> tuple[Records, int | None]:
        """The records, with their encoding and number of fields checked; and that number."""
        full, header = ~marks.blank, 0
        fields = np.bincount(np.searchsorted(marks.ends, marks.gaps), minlength=len(full)) + 1
        if width is None and full.any():
            header = int(np.argmax(full))
            width = int(fields[header])
        if width == 1:
            full[header:] = True  # a blank line is a missing value
        newlines = np.flatnonzero(marks.codes[: marks.end] == NEWLINE)
        lines = line + np.searchsorted(newlines, marks.starts)
        numbers = number + np.cumsum(full) - 1
        wrong = full & (fields != width)
        if not (self.skip and self.mixed):
            check_utf8(buffer[: marks.end], str(self.source), line)
        if not self.skip:
            if wrong.any():
                at = int(np.flatnonzero(wrong)[0])
                raise BadRowError(
                    self._wrong_width(int(fields[at]), width),
                    where=Where(str(self.source), int(lines[at])),
                )
            return _records(buffer, marks, full, lines, numbers, ()), width
        strange = np.zeros(len(full), dtype=np.bool_)
        if not is_utf8(buffer[: marks.end]):
            spans = zip(marks.starts.tolist(), marks.ends.tolist(), strict=True)
            strange = full & [not is_utf8(buffer[start:end]) for start, end in spans]
        skipped = []
        for at in np.flatnonzero(wrong | strange).tolist():
            where = Where(str(self.source), int(lines[at]))
            reason = "not valid UTF-8" if strange[at] else self._wrong_width(int(fields[at]), width)
            if numbers[at] < 0:
                raise InputError(reason, where=where)
            skipped.append(BadRow(int(numbers[at]), reason, where))
        keep = full & ~wrong & ~strange
        return _records(buffer, marks, keep, lines, numbers, tuple(skipped)), width

    def _broken_quote(
        self, buffer: bytes, marks: _Marks, line: int
    ) -> tuple[int, InputError] | None:
        """The first stray quote (not at either end of a field, nor doubled): the start of its record, and the error."""
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
            where=Where(str(self.source), here),
        )
        return start, error

    def _never_closed(self, line: int) -> BrokenQuote:
        return BrokenQuote(
            "a broken quote: a field is opened with a double quote and never closed, or a line is "
            'longer than 64 MB: close it, and double the quotes inside it ("")',
            where=Where(str(self.source), line),
        )

    def _wrong_width(self, fields: int, width: int | None) -> str:
        name = {",": "a comma", "\t": "a tab"}.get(self.separator, repr(self.separator))
        return (
            f"{fields} fields, but the header has {width}: "
            f"a field that contains {name} must stand in double quotes"
        )

    def _old_line_ends(self) -> InputError:
        return InputError(
            "the lines end in CR alone, as on old Macs: convert them, e.g. "
            + through("tr '\\r' '\\n'", str(self.source), "new"),
            where=Where(str(self.source), 1),
        )


@dataclass(frozen=True, eq=False)
class _Marks:
    """Where quotes, separators and record ends stand in some bytes."""

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


def _marks(buffer: bytes, separator: str, quoted: bool) -> _Marks:
    """The marks in bytes that begin with a record."""
    table = np.zeros(256, dtype=np.bool_)
    table[[NEWLINE, ord(separator), *([QUOTE] if quoted else [])]] = True
    codes = np.frombuffer(buffer, dtype=np.uint8)
    at = np.flatnonzero(table[codes])
    kind = codes[at]
    is_quote = kind == QUOTE if quoted else np.zeros(len(kind), dtype=np.bool_)
    inside = (np.cumsum(is_quote, dtype=np.int32) & 1).astype(np.bool_)
    ends = at[(kind == NEWLINE) & ~inside]
    limit = ends[-1] if len(ends) else -1  # what follows belongs to the next piece
    quotes = is_quote & (at < limit)
    gaps = at[(kind == ord(separator)) & ~inside & (at < limit)]
    return _Marks(codes, ends, gaps, at[quotes], inside[quotes])


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

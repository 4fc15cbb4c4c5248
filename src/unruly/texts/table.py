"""A file of documents as the rest of the library sees it: a schema, a size, and batches of rows.

The bytes of text files, plain or gzipped, are read in pieces of bounded size, as UTF-8. Tables also come from spreadsheets,
which write UTF-16 with a byte-order mark, or Windows-1252 without one: `pieces` turns both into UTF-8 as it reads.
"""

from __future__ import annotations

import codecs
import gzip
import os
import select
import string
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import IO, Literal, Protocol, TypeVar, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError, Where
from unruly.progress import SILENT, Progress
from unruly.texts.columns import Layout
from unruly.wording import near_file, plural

PIECE = 8 << 20  # bytes read at a time
LONGEST_RECORD = 64 << 20  # bytes of one line or record; a longer one is a mistake, or an attack
LARGEST = 1 << 30  # bytes, once unpacked, of a file that cannot be read in pieces
MOMENT = 0.05  # seconds to wait for the next bytes of standard input
LONGEST_WAIT = 0.5  # seconds until what has come of it is passed on in any case
STANDARD_INPUT = "standard input"  # what a pipe is called in messages
BOM = codecs.BOM_UTF8
SNIFF = 400  # bytes at the start of a file that tell its encoding
# The first bytes of files that are often given the ending of a table.
_BINARY = {
    b"PK\x03\x04": "a ZIP archive, as .xlsx and .ods are",
    b"\xd0\xcf\x11\xe0": "an old Excel file (.xls)",
    b"PAR1": "a Parquet file",
    b"\x1f\x8b": "a gzip file",
    b"\x89PNG": "a picture (PNG)",
    b"\xff\xd8\xff": "a picture (JPEG)",
    b"%PDF": "a PDF",
}
_UNDEFINED = b"\x81\x8d\x8f\x90\x9d"  # bytes that are no character in Windows-1252
_ASCII_LETTERS = string.ascii_letters.encode()
_HIGH_LETTERS = bytes(range(0xC0, 0x100))  # where Windows encodings keep letters beyond ASCII


class Encoding(StrEnum):
    """How the bytes of a file of text spell its characters, by the name that Python knows."""

    UTF_8 = "utf-8"
    UTF_16 = "utf-16"  # with a byte-order mark, which tells the order of its bytes
    WINDOWS_1252 = "cp1252"  # western spreadsheets write it, and nothing in the file tells


class Pipe:
    """Standard input: bytes that come once, read in pieces; the first piece can be looked at before.

    A piece ends when nothing follows at once, so that a slow writer gets answers while it writes.

    >>> import io
    >>> pipe = Pipe(io.BytesIO(b'{"text": "call me"}'))
    >>> str(pipe), pipe.ending, list(pipe.pieces())
    ('standard input', '.jsonl', [b'{"text": "call me"}'])
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        first = self._read()
        while first and b"\n" not in first and len(first) <= LONGEST_RECORD:
            if not (more := self._read()):
                break
            first += more
        _check_not_wide(first, str(self))
        self.first = first.removeprefix(BOM)
        self.mark = first[: len(first) - len(self.first)]  # the byte-order mark, where there is one

    def __str__(self) -> str:
        return STANDARD_INPUT

    @property
    def ending(self) -> str:
        """The format, as the ending of a file: CSV unless it looks otherwise."""
        if self.first.startswith(b"PAR1"):
            return ".parquet"
        return {b"{": ".jsonl", b"[": ".json"}.get(self.first.lstrip()[:1], ".csv")

    def pieces(self) -> Iterator[bytes]:
        """All bytes. It can be called again as long as only the first piece was taken."""
        if self.first:
            yield self.first
        while piece := self._read():
            yield piece

    def _read(self) -> bytes:
        """The bytes that are there, and those that follow at once; empty at the end."""
        read = getattr(self._stream, "read1", self._stream.read)
        found, size, deadline = list[bytes](), 0, None
        while piece := read(PIECE):
            found.append(piece)
            size += len(piece)
            deadline = deadline or time.monotonic() + LONGEST_WAIT
            if size >= PIECE or not self._follows(deadline):
                break
        return b"".join(found)

    def _follows(self, deadline: float) -> bool:
        """Whether more comes within a moment, as far as that can be known."""
        wait = min(MOMENT, deadline - time.monotonic())
        try:
            return wait > 0 and bool(select.select([self._stream], [], [], wait)[0])
        except (OSError, ValueError, TypeError):  # no file descriptor, or none that can be asked
            return False


def pieces(
    source: Path | Pipe, size: int = PIECE, encoding: Encoding = Encoding.UTF_8
) -> Iterator[bytes]:
    """The text in order as UTF-8, unzipped when a file's name ends in .gz, without a byte-order mark.

    Bytes of UTF-8 are passed on as they are, checked by nobody.
    """
    if isinstance(source, Pipe):
        yield from source.pieces()
        return
    own = _own_pieces(source, size)
    first = next(own, b"")
    if encoding is Encoding.UTF_8:
        _check_not_wide(first, str(source))
        first = first.removeprefix(BOM)
    parts = chain([first] if first else [], own)
    yield from parts if encoding is Encoding.UTF_8 else _as_utf8(parts, encoding, str(source))


def _own_pieces(path: Path, size: int) -> Iterator[bytes]:
    """The bytes of a file, unzipped."""
    try:
        with gzip.open(path, "rb") if is_gzip(path) else open(path, "rb") as file:
            while piece := file.read(size):
                yield piece
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError(
            "not a whole gzip file: make it again, or drop the ending .gz", where=Where(str(path))
        ) from None


def _as_utf8(parts: Iterable[bytes], encoding: Encoding, name: str) -> Iterator[bytes]:
    """The same text in UTF-8; a character may be spread over two parts."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for part in parts:
            if text := decoder.decode(part):
                yield text.encode()
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        wrong = error.object[error.start : error.end].hex(" ").upper()
        raise InputError(
            f"the file begins as {encoding.upper()}, but holds bytes that are none ({wrong}): save it again as UTF-8",
            where=Where(name),
        ) from None


def byte_order_mark(source: Path | Pipe) -> bytes:
    """The byte-order mark of the file, which Excel needs to read UTF-8; empty if it has none."""
    if isinstance(source, Pipe):
        return source.mark
    return BOM if next(_own_pieces(source, SNIFF), b"").startswith(BOM) else b""


def empty_file(source: Path | Pipe) -> InputError:
    """The error for a file with nothing in it."""
    return InputError("the file is empty: expected one document a line", where=Where(str(source)))


def size_of(path: Path) -> int | None:
    """How many bytes the file's text has, where that is known without reading it."""
    return None if is_gzip(path) else path.stat().st_size


def check_read_whole(path: Path, size: int) -> None:
    """Refuse a file of so many bytes, once unpacked, that is read whole."""
    if size > LARGEST:
        raise InputError(
            f"{size:,} bytes, once unpacked, and such files are read whole: save it as CSV or Parquet",
            where=Where(str(path)),
        )


def encoding_of(source: Path | Pipe) -> Encoding:
    """UTF-16 where the file's first bytes are its mark, else UTF-8; binary files are refused."""
    if isinstance(source, Pipe):
        return Encoding.UTF_8
    return _marked_encoding(next(_own_pieces(source, SNIFF), b""), str(source))


def whole_encoding(data: bytes, name: str) -> Encoding:
    """The encoding of a file that is in memory; one that is none of those we read is refused.

    >>> whole_encoding(b"id;label", "x.csv").name, whole_encoding(b"1;caf\\xe9", "x.csv").name
    ('UTF_8', 'WINDOWS_1252')
    """
    marked = _marked_encoding(data, name)
    if marked is Encoding.UTF_16 or is_utf8(data):
        return marked
    try:
        check_utf8(data, name, 1)
    except NotUtf8 as error:
        if error.doubt is not None:
            raise
    return Encoding.WINDOWS_1252


def _marked_encoding(start: bytes, name: str) -> Encoding:
    """The encoding by the first bytes of a file; one that is neither UTF-8 nor marked UTF-16 is refused where they tell."""
    if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise _wide("UTF-32", name)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return Encoding.UTF_16
    start = start[:SNIFF]
    even, odd = start[::2].count(0), start[1::2].count(0)
    if even + odd > len(start) // 4:
        if 8 * min(even, odd) > max(even, odd):
            raise _binary(start, name)
        raise _wide("UTF-16LE" if odd > even else "UTF-16BE", name)
    known = start.startswith(tuple(_BINARY))
    if (known or even + odd) and not is_utf8(start[:-3]):  # the last character may be cut
        raise _binary(start, name)
    return Encoding.UTF_8


def _check_not_wide(start: bytes, name: str) -> None:
    """Refuse UTF-16, and what is no text, by the first bytes."""
    if _marked_encoding(start, name) is Encoding.UTF_16:
        raise _wide("UTF-16", name)


def _wide(kind: str, name: str) -> InputError:
    return InputError(
        f"the file is in {kind}, not UTF-8: convert it, e.g. {_convert(kind, name)}",
        where=Where(name, 1),
    )


def _binary(start: bytes, name: str) -> InputError:
    kind = next((kind for first, kind in _BINARY.items() if start.startswith(first)), "")
    found = f"this is {kind}, not a table of text" if kind else "this is no table of text"
    return InputError(
        f"{found}: export it as CSV in UTF-8, or give the file the ending of what it is",
        where=Where(name),
    )


class Doubt(StrEnum):
    """Why bytes that are not UTF-8 are not taken for Windows-1252."""

    MIXED = "mixed"  # other lines are UTF-8
    UNDEFINED = "undefined"  # some bytes are no characters of it
    OTHER_SCRIPT = "other script"  # it would have more accented letters than plain ones
    BINARY = "binary"  # there are zero bytes


def windows_doubt(parts: Iterable[bytes]) -> Doubt | None:
    """Why a text, given in parts, that is not UTF-8 is not read as Windows-1252; None: it is.

    >>> windows_doubt([b"one\\ncaf\\xe9\\n"]), windows_doubt(["ü\\n".encode(), b"caf\\xe9"]).name
    (None, 'MIXED')
    >>> windows_doubt(["Привет".encode("cp1251")]).name, windows_doubt([b"f\\x81r"]).name
    ('OTHER_SCRIPT', 'UNDEFINED')
    """
    left, undefined, plain, high = b"", False, 0, 0
    for part in chain(parts, [b""]):
        if b"\0" in part:
            return Doubt.BINARY
        buffer = left + part
        end = buffer.rfind(b"\n") + 1 if part and len(buffer) < LONGEST_RECORD else len(buffer)
        left, lines = buffer[end:], buffer[:end].split(b"\n")
        strange = [line for line in lines if not line.isascii()]
        if any(map(is_utf8, strange)):
            return Doubt.MIXED
        joined = b"".join(strange)
        undefined = undefined or _count(joined, _UNDEFINED) > 0
        plain, high = plain + _count(joined, _ASCII_LETTERS), high + _count(joined, _HIGH_LETTERS)
    if undefined:
        return Doubt.UNDEFINED
    return Doubt.OTHER_SCRIPT if high > plain else None


def _count(data: bytes, which: bytes) -> int:
    """How many bytes are one of these."""
    return len(data) - len(data.translate(None, which))


class NotUtf8(InputError):
    """Bytes that are not UTF-8.

    `reads`: what stands there in Windows-1252; `doubt`: why it is not that, as far as has been read.
    """

    def __init__(
        self,
        message: str = "",
        *,
        where: Where | None = None,
        byte: int = 0,
        reads: str = "",
        doubt: Doubt | None = None,
    ) -> None:
        super().__init__(message, where=where)
        self.byte, self.reads, self.doubt = byte, reads, doubt

    @classmethod
    def at(cls, where: Where, byte: int, reads: str, doubt: Doubt | None) -> NotUtf8:
        """The error for the first such byte."""
        name = where.file or ""
        sheet = "save it as CSV UTF-8 in your spreadsheet, or " if name.endswith(".csv") else ""
        match doubt:
            case Doubt.MIXED:
                then = ": other lines of the file are UTF-8, so the encodings are mixed: write that line again as UTF-8"
            case Doubt.BINARY:
                then = ", and there are zero bytes: is this a table of text?"
            case Doubt.UNDEFINED | Doubt.OTHER_SCRIPT:
                known = f"convert it from the encoding it has: {_convert('ENCODING', name)}"
                then = f", which is probably not what was meant: {sheet}{known}"
            case None:
                then = f": {sheet}convert it: {_convert('WINDOWS-1252', name)}"
        message = (
            f"byte 0x{byte:02X} is not valid UTF-8; as Windows-1252 the line reads {reads!r}{then}"
        )
        return cls(message, where=where, byte=byte, reads=reads, doubt=doubt)

    def doubted(self, doubt: Doubt | None) -> NotUtf8:
        """The same, when the whole file has been read."""
        return self.at(self.where or Where(), self.byte, self.reads, doubt)


def check_utf8(chunk: bytes, name: str, line: int) -> None:
    """Refuse a chunk (whole lines, the first of them number `line`) that is not UTF-8.

    >>> check_utf8("café".encode(), "a.csv", 1)
    >>> check_utf8(b"one\\ncaf\\xe9\\n", "a.csv", 1)
    Traceback (most recent call last):
    ...
    unruly.texts.table.NotUtf8: a.csv, line 2: byte 0xE9 is not valid UTF-8; as Windows-1252 the line reads 'café': save it as CSV UTF-8 in your spreadsheet, or convert it: iconv -f WINDOWS-1252 -t UTF-8 < a.csv > utf8.csv
    """
    if chunk.isascii():
        return
    try:
        chunk.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8(chunk, error.start, name, line) from None


def is_utf8(chunk: bytes) -> bool:
    """Whether the bytes are UTF-8.

    >>> is_utf8("café".encode()), is_utf8(b"caf\\xe9")
    (True, False)
    """
    try:
        chunk.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _not_utf8(chunk: bytes, at: int, name: str, line: int) -> NotUtf8:
    start = chunk.rfind(b"\n", 0, at) + 1
    stop = chunk.find(b"\n", at)
    words = chunk[max(start, at - 20) : min(stop if stop >= 0 else len(chunk), at + 20)]
    where = Where(name, line + chunk.count(b"\n", 0, at))
    reads = words.decode("cp1252", "replace").strip()
    return NotUtf8.at(where, chunk[at], reads, windows_doubt([chunk]))


def _convert(kind: str, name: str) -> str:
    return through(f"iconv -f {kind} -t UTF-8", name, "utf8")


def through(command: str, name: str, new: str) -> str:
    """The line of a shell that sends a file through a command, unpacked where it is packed, into a new one.

    >>> through("iconv -f WINDOWS-1252 -t UTF-8", "a.csv", "utf8")
    'iconv -f WINDOWS-1252 -t UTF-8 < a.csv > utf8.csv'
    >>> through("tr a b", "my notes.csv.gz", "new"), through("tr a b", "standard input", "new")
    ("gunzip -c 'my notes.csv.gz' | tr a b > new.csv", '… | tr a b | unruly …')
    """
    path = Path(name)
    if name == STANDARD_INPUT:
        return f"… | {command} | unruly …"
    if is_gzip(path):
        return f"gunzip -c {quote(name)} | {command} > {new}{ending(path)}"
    return f"{command} < {quote(name)} > {new}{path.suffix}"


GZIPPED = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson")
ENDINGS = ".csv, .tsv, .jsonl, .ndjson (each also .gz), .parquet, .arrow, .feather, .ipc, .json, .xlsx, .ods"

OnBadRow = Literal["error", "skip", "keep"]
Word = TypeVar("Word", bound=str)
_ON_BAD_ROW: tuple[OnBadRow, ...] = get_args(OnBadRow)
_MOST_REASONS = 3  # that are told of rows that were left out


@dataclass(frozen=True)
class BadRow:
    """A row that was left out, and why."""

    row: int  # its number in the file, from 0
    reason: str
    where: Where

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


@dataclass(frozen=True)
class BrokenFile:
    """A file of a folder that was left out, or the rest of one from a row on that could not be read.

    >>> print(BrokenFile("data/2.parquet", "cannot be read as Parquet", 400, 100))
    data/2.parquet: cannot be read as Parquet (100 rows from row 400 on are left out)
    """

    file: str
    reason: str
    start: int = 0  # the first of its rows that is left out
    rows: int | None = None  # that are left out; None: nobody knows how many it has

    def __str__(self) -> str:
        found = f"{self.file}: {self.reason}"
        if self.rows is None:
            return found
        return f"{found} ({plural(self.rows, 'row')} from row {self.start:,} on are left out)"


def row_remarks(
    skipped: Sequence[BadRow],
    missing: int = 0,
    then: str = "",
    broken: Sequence[BrokenFile] = (),
) -> list[str]:
    """A line on each kind of rows that are not like the others; `then`: what became of those without a text.

    >>> row_remarks([BadRow(2, "3 fields, but the header has 2", Where("a.csv", 4))], 1)
    ['1 row without a text', '1 row skipped: a.csv, line 4: 3 fields, but the header has 2']
    """
    return [
        *([f"{plural(missing, 'row')} without a text{then}"] if missing else ()),
        *([f"{plural(len(skipped), 'row')} skipped: {_reasons(skipped)}"] if skipped else ()),
        *(f"left out: {file}" for file in broken),
    ]


def _reasons(skipped: Sequence[BadRow]) -> str:
    """The first row of each reason, and how many there are where reasons differ.

    >>> rows = [
    ...     BadRow(n, reason, Where("a.csv", n + 2))
    ...     for n, reason in enumerate(["torn", "empty", "torn"])
    ... ]
    >>> _reasons(rows)
    '2 as a.csv, line 2: torn; 1 as a.csv, line 3: empty'
    """
    first = {row.reason: row for row in reversed(skipped)}
    if len(first) == 1:
        return str(skipped[0])
    counts = Counter(row.reason for row in skipped)
    shown = [f"{n:,} as {first[reason]}" for reason, n in counts.most_common(_MOST_REASONS)]
    rest = len(skipped) - sum(n for _, n in counts.most_common(_MOST_REASONS))
    return "; ".join([*shown, *([f"{rest:,} for other reasons"] if rest else [])])


def no_row_left(source: Path | Pipe, skipped: Sequence[BadRow]) -> InputError:
    """The error for a file of which every row was skipped.

    >>> print(no_row_left(Path("a.csv"), [BadRow(0, "3 fields", Where("a.csv", 2))]))
    a.csv: no row is left: 1 row skipped: a.csv, line 2: 3 fields
    """
    return InputError(f"no row is left: {row_remarks(skipped)[0]}", where=Where(str(source)))


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a file, in order."""

    frame: pl.DataFrame  # columns of numbers are numbers
    spelt: pl.DataFrame  # the same rows with every cell as the file spells it
    numbers: NDArray[np.int64]  # (rows,): their numbers in the file, from 0
    skipped: tuple[BadRow, ...] = ()  # rows between them that could not be read
    records: pl.Series | None = None  # (rows,): of CSV, lines with their ends; of JSON, the objects
    broken: tuple[BrokenFile, ...] = ()  # files between them that could not be read


class Table(Protocol):
    """A file that has been checked: its columns are known, and it can be read."""

    @property
    def name(self) -> str:
        """The file, for messages."""

    @property
    def schema(self) -> pl.Schema:
        """Columns and their kinds."""

    @property
    def exact(self) -> pl.Schema:
        """The types that keep every cell as the file spells it."""

    @property
    def rows(self) -> int | None:
        """How many rows can be read; None for standard input, where only the end will tell."""

    def batches(self, layout: Layout, rows: int) -> Iterator[Rows]:
        """All rows in order, at most so many at a time; texts and ids as the file spells them."""

    def where(self, row: int) -> Where:
        """Where the user finds the row of this number."""


def open_table(
    path: str | Path | Pipe, progress: Progress = SILENT, *, skip: bool = False
) -> Table:
    """Open a file of any format and check it once; of standard input, only the beginning.

    With `skip`, malformed records are left out and counted, and so are files of a folder that cannot be read.

    >>> open_table("nowhere.csv")
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: nowhere.csv: there is no such file
    """
    from unruly.texts.csv_table import CsvTable, separator_of
    from unruly.texts.frame_table import (
        SHEETS,
        FolderTable,
        arrow_table,
        parquet_files,
        parquet_table,
        sheet_table,
    )
    from unruly.texts.json_table import JsonLinesTable, json_table

    if isinstance(path, Pipe):
        if not path.first:
            raise empty_file(path)
        if path.ending == ".jsonl":
            return JsonLinesTable(path, skip, progress)
        return CsvTable(path, separator_of(path), skip, progress)
    file = Path(path)
    if file.is_dir() and parquet_files(file):
        return FolderTable(file, skip)
    check_file(file)
    if is_gzip(file) and ending(file) not in GZIPPED:
        raise InputError(
            f"of gzipped files only {', '.join(GZIPPED)} are read: unpack it, e.g. gunzip {file.name}",
            where=Where(str(file)),
        )
    match ending(file):
        case ".csv":
            return CsvTable(file, separator_of(file), skip, progress)
        case ".tsv" | ".tab":
            return CsvTable(file, "\t", skip, progress)
        case ".jsonl" | ".ndjson":
            return JsonLinesTable(file, skip, progress)
        case ".parquet" | ".pq":
            return parquet_table(file)
        case ".arrow" | ".feather" | ".ipc":
            return arrow_table(file)
        case ".json":
            return json_table(file, skip, progress)
        case sheet if sheet in SHEETS:
            return sheet_table(file)
        case other:
            raise InputError(
                f"files ending in {other or 'nothing'!r} are not read: use one of {ENDINGS}",
                where=Where(str(file)),
            )


def is_gzip(path: Path) -> bool:
    """Whether its name says so."""
    return path.suffix.lower() == ".gz"


def ending(path: Path) -> str:
    """The ending that tells the format, without .gz."""
    inner = Path(path.stem) if is_gzip(path) else path
    return inner.suffix.lower()


def on_bad_row_of(given: str | None) -> OnBadRow:
    """What is to be done with bad rows; None: they are kept. Refused where it is not one of these words.

    >>> on_bad_row_of("skip"), on_bad_row_of(None)
    ('skip', 'keep')
    """
    return "keep" if given is None else one_of("on_bad_row", given, _ON_BAD_ROW)


def one_of(option: str, given: str, known: Sequence[Word]) -> Word:
    """The value given, where it is one of the words that are known.

    >>> one_of("missing", "label", ("label", "empty"))
    'label'
    """
    for word in known:
        if word == given:
            return word
    raise InputError(f"{option} = {given!r}: must be one of {', '.join(known)}")


def check_file(path: Path) -> None:
    """Refuse a missing file, a folder and an empty file."""
    here = Where(str(path))
    if (path / "label.json").is_file():
        raise InputError(
            "a folder in WRENCH's layout has no columns to read: make a project for it (unruly new NAME --data FOLDER)",
            where=here,
        )
    if path.is_dir():
        raise InputError(
            "a folder without Parquet files, and not in WRENCH's layout (train.json, label.json): pass a file in it",
            where=here,
        )
    if not path.exists():
        hint = near_file(path)
        raise InputError(f"there is no such file{hint and ': ' + hint}", where=here)
    if not path.is_file() and path.resolve() != Path(os.devnull):
        raise InputError(
            "a pipe or a device, which cannot be read twice: save it as a file, or pass - for standard input",
            where=here,
        )
    if not os.access(path, os.R_OK):
        raise InputError("you may not read this file: change its permissions", where=here)
    if path.stat().st_size == 0:
        raise InputError("the file is empty: expected one document a row", where=here)

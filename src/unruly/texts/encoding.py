"""The bytes of a text file, plain or gzipped, in pieces of bounded size; UTF-8, or a helpful word."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from unruly.errors import InputError, Where

PIECE = 8 << 20  # bytes read at a time
LONGEST_RECORD = 64 << 20  # bytes of one line or record; a longer one is a mistake, or an attack
BOM = b"\xef\xbb\xbf"
WIDE = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def pieces(path: Path, size: int = PIECE) -> Iterator[bytes]:
    """The file's bytes in order, unzipped when the name ends in .gz, without a byte-order mark."""
    first = True
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb") as file:
            while piece := file.read(size):
                if first:
                    check_wide(piece, str(path))
                    piece, first = piece.removeprefix(BOM), False
                yield piece
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError(
            "not a whole gzip file: make it again, or drop the ending .gz", where=Where(str(path))
        ) from None


def empty_file(path: Path) -> InputError:
    """The error for a file with nothing in it."""
    return InputError("the file is empty: expected one document a line", where=Where(str(path)))


def size_of(path: Path) -> int | None:
    """How many bytes the file's text has, where that is known without reading it."""
    return None if path.suffix == ".gz" else path.stat().st_size


def check_wide(start: bytes, name: str) -> None:
    """Refuse UTF-16 by its first bytes."""
    kind = WIDE.get(start[:2])
    if kind is None and start[:400].count(0) > len(start[:400]) // 4:
        kind = "UTF-16"
    if kind:
        raise InputError(
            f"the file is in {kind}, not UTF-8: convert it, e.g. {_convert(kind, name)}",
            where=Where(name, 1),
        )


def check_utf8(chunk: bytes, name: str, line: int) -> None:
    """Refuse a chunk (whole lines, the first of them number `line`) that is not UTF-8.

    >>> check_utf8("café".encode(), "a.csv", 1)
    >>> check_utf8(b"one\\ncaf\\xe9\\n", "a.csv", 1)
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: a.csv, line 2: byte 0xE9 is not valid UTF-8; as Windows-1252 the line reads 'café': convert the file, e.g. iconv -f WINDOWS-1252 -t UTF-8 a.csv
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


def _not_utf8(chunk: bytes, at: int, name: str, line: int) -> InputError:
    start = chunk.rfind(b"\n", 0, at) + 1
    stop = chunk.find(b"\n", at)
    words = chunk[max(start, at - 20) : min(stop if stop >= 0 else len(chunk), at + 20)]
    reads = words.decode("cp1252", "replace").strip()
    rest = chunk[at:].split(b"\n")[1:]
    mixed = not chunk[:at].isascii() or any(not t.isascii() and is_utf8(t) for t in rest)
    remedy = (
        "other lines of the file are UTF-8, so the encodings are mixed: write that line again as UTF-8"
        if mixed
        else f"convert the file, e.g. {_convert('WINDOWS-1252', name)}"
    )
    return InputError(
        f"byte 0x{chunk[at]:02X} is not valid UTF-8; as Windows-1252 the line reads {reads!r}: {remedy}",
        where=Where(name, line + chunk.count(b"\n", 0, at)),
    )


def _convert(kind: str, name: str) -> str:
    return f"iconv -f {kind} -t UTF-8 {name}"

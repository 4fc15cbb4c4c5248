"""The bytes of a text file, plain or gzipped, in pieces of bounded size."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from unruly.errors import InputError
from unruly.texts.encoding import BOM, check_wide

PIECE = 8 << 20  # bytes read at a time


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
            f"{path}: not a whole gzip file: make it again, or drop the ending .gz"
        ) from None


def empty_file(path: Path) -> InputError:
    """The message for a file with nothing in it."""
    return InputError(f"{path}: the file is empty: expected one document a line")


def size_of(path: Path) -> int | None:
    """How many bytes the file's text has, where that is known without reading it."""
    return None if path.suffix == ".gz" else path.stat().st_size

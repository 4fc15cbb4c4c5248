"""Votes kept from run to run, so that after an edit only the edited source is matched again.

An entry's name is a digest of all that decides it: the source's meaning, the classes, the contents
of the documents, and the version of polars. An entry is a checksum and a Parquet file. Entries may be
deleted at any time, by anyone; a damaged one counts as missing; each is written whole, so two processes
may share the folder. A folder that cannot be written, or is full, is done without.
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import polars as pl
from polars.datatypes import DataTypeClass

from unruly.errors import InputError
from unruly.files import cache_folder, written_whole
from unruly.rules.condition import TEXT, Plain

VERSION = 2
MOST_BYTES = 512 * 1024 * 1024
_SUM = 16  # bytes of checksum before the contents
_SUFFIX = ".votes"
_KEY = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Cache:
    """A folder of entries, the least recently used of which go when it grows too large."""

    folder: Path
    most_bytes: int = MOST_BYTES

    @classmethod
    def default(cls) -> Cache:
        """The user's own cache."""
        return cls(cache_folder() / "votes")

    def get(self, key: str) -> pl.DataFrame | None:
        """What was kept under the key, or None; a damaged entry is deleted, with a warning."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        if _checksum(key, data[_SUM:]) != data[:_SUM]:
            with suppress(OSError):
                path.unlink()
            warnings.warn(
                f"the cache {self.folder} held a damaged entry: its rules are matched again",
                stacklevel=2,
            )
            return None
        with suppress(OSError):  # a cache that may only be read serves as well
            path.touch()  # the least recently used go first
        return pl.read_parquet(BytesIO(data[_SUM:]))

    def put(self, key: str, frame: pl.DataFrame) -> bool:
        """Keep a frame. A full disk or a folder that cannot be written is a warning, not an error."""
        path = self._path(key)
        try:
            buffer = BytesIO()
            frame.write_parquet(buffer)
            data = buffer.getvalue()
            path.parent.mkdir(parents=True, exist_ok=True)
            with written_whole(path) as part:
                part.write_bytes(_checksum(key, data) + data)
        except (OSError, InputError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            warnings.warn(
                f"the cache {self.folder} cannot be written ({why}): votes are not kept",
                stacklevel=2,
            )
            return False
        return True

    def trim(self) -> None:
        """Delete the least recently used entries until the rest fit."""
        entries = sorted(self._entries(), reverse=True)
        kept = 0
        for _, size, path in entries:
            kept += size
            if kept > self.most_bytes:
                with suppress(OSError):
                    path.unlink()

    def size(self) -> int:
        """How many bytes the entries take."""
        return sum(size for _, size, _ in self._entries())

    def clear(self) -> int:
        """Delete every entry, and nothing else that stands in the folder; returns how many."""
        gone = 0
        for _, _, path in list(self._entries()):
            with suppress(OSError):
                path.unlink()
                gone += 1
            with suppress(OSError):  # it is left where something else is in it
                path.parent.rmdir()
        return gone

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}{_SUFFIX}"

    def _entries(self) -> Iterator[tuple[int, int, Path]]:
        """Files that bear a name as `put` gives it: when they were used, their size, their path."""
        for path in self.folder.glob(f"??/*{_SUFFIX}"):
            key = path.name.removesuffix(_SUFFIX)
            if _KEY.fullmatch(key) and path.parent.name == key[:2]:
                with suppress(OSError):  # another process was faster
                    about = path.stat()
                    yield about.st_mtime_ns, about.st_size, path


def _checksum(key: str, data: bytes) -> bytes:
    """Of the contents, and of the name under which they are kept."""
    return hashlib.blake2b(key.encode() + data, digest_size=_SUM).digest()


def clear() -> int:
    """Delete every entry of the user's cache of votes; returns how many."""
    return Cache.default().clear()


def size() -> int:
    """How many bytes the user's cache of votes takes."""
    return Cache.default().size()


def entry_key(meaning: Plain, classes: tuple[str, ...], data: str) -> str:
    """The name of an entry."""
    parts = [VERSION, pl.__version__, list(classes), meaning, data]
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=20).hexdigest()


def texts_digest(frame: pl.DataFrame) -> str:
    """A digest of the texts in their order."""
    digest = hashlib.blake2b(digest_size=20)
    digest.update(frame[TEXT].str.len_bytes().to_numpy().tobytes())
    digest.update(str(frame[TEXT].str.join("").item()).encode())
    return digest.hexdigest()


def whole_digest(frame: pl.DataFrame) -> str:
    """A digest of texts, ids and all other columns. NaN, the infinities and null are four values."""
    digest = hashlib.blake2b(texts_digest(frame).encode(), digest_size=20)
    others = frame.select(pl.exclude(TEXT))
    digest.update(json.dumps([[n, str(t)] for n, t in others.schema.items()]).encode())
    exact = others.select(_exact(name, dtype) for name, dtype in others.schema.items())
    digest.update(exact.write_ndjson().encode())
    return digest.hexdigest()


def _exact(name: str, dtype: pl.DataType) -> pl.Expr:
    """A column as JSON can hold it without loss."""
    column = pl.col(name)
    return column.bin.encode("hex") if dtype == pl.Binary else column.cast(_as_text(dtype))


def _as_text(dtype: pl.DataType) -> pl.DataType:
    """The same type with texts in the place of floating-point numbers, which JSON has no NaN for."""
    if dtype.is_float():
        return pl.String()
    if isinstance(dtype, pl.List | pl.Array):
        return pl.List(_as_text(_instance(dtype.inner)))
    if isinstance(dtype, pl.Struct):
        return pl.Struct({field.name: _as_text(_instance(field.dtype)) for field in dtype.fields})
    return dtype


def _instance(dtype: pl.DataType | DataTypeClass) -> pl.DataType:
    return dtype if isinstance(dtype, pl.DataType) else dtype()

"""Votes kept from run to run, so that after an edit only the edited source is matched again.

An entry's name is a digest of all that decides it: the source's meaning, the classes, the contents
of the documents, and the version of polars. Entries may be deleted at any time, by anyone; a damaged
one counts as missing; each is written whole, so two processes may share the folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from unruly.files import cache_folder, written_whole
from unruly.rules.condition import ID, TEXT
from unruly.rules.place import Plain

VERSION = 1
MOST_BYTES = 512 * 1024 * 1024


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
        """What was kept under the key, or None."""
        path = self._path(key)
        try:
            frame = pl.read_parquet(path, glob=False)
            path.touch()  # the least recently used go first
        except FileNotFoundError:
            return None
        except (OSError, pl.exceptions.PolarsError):
            with suppress(OSError):
                path.unlink()
            return None
        return frame

    def put(self, key: str, frame: pl.DataFrame) -> None:
        """Keep a frame; a full disk or a folder that cannot be written is no error."""
        path = self._path(key)
        with suppress(OSError, pl.exceptions.PolarsError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with written_whole(path) as part:
                frame.write_parquet(part)

    def trim(self) -> None:
        """Delete the least recently used entries until the rest fit."""
        entries = sorted(self._entries(), reverse=True)
        kept = 0
        for _, size, path in entries:
            kept += size
            if kept > self.most_bytes:
                path.unlink(missing_ok=True)

    def size(self) -> int:
        """How many bytes the entries take."""
        return sum(size for _, size, _ in self._entries())

    def clear(self) -> int:
        """Delete every entry; tells how many there were."""
        entries = list(self._entries())
        for _, _, path in entries:
            path.unlink(missing_ok=True)
        return len(entries)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.parquet"

    def _entries(self) -> Iterator[tuple[int, int, Path]]:
        for path in self.folder.glob("??/*.parquet"):
            with suppress(FileNotFoundError):  # another process was faster
                about = path.stat()
                yield about.st_mtime_ns, about.st_size, path


def clear() -> int:
    """Delete every entry of the user's cache of votes; tells how many there were."""
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
    """A digest of texts, ids and all other columns."""
    digest = hashlib.blake2b(texts_digest(frame).encode(), digest_size=20)
    others = frame.select(pl.exclude(TEXT))
    digest.update(json.dumps([[n, str(t)] for n, t in others.schema.items()]).encode())
    digest.update(others.write_ndjson().encode())
    return digest.hexdigest() if ID in frame.columns else ""

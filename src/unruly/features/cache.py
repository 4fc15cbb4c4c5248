"""Features kept on disk, by the content of the text and the identity of the encoder.

One folder for each encoder, one file for each corpus. A new file is called `part-…` while rows are written as they are
encoded, and is renamed to the digest of the corpus when it is complete. Rows are found by their text in any file, so an
interrupted run continues where it stopped, and of a corpus that grew only the new texts are encoded. No two processes write
to one file, so several can run at once.

A file is safetensors with three tensors, mapped into memory: `keys` (n, 16 bytes), a digest of each text; `values`
(n, width) float32; and `checks` (n,), a checksum of each row and its key. Rows whose key is zero are not written yet. Rows
that were damaged on disk are encoded again, and a cache that cannot be read or written is not used; both give one warning.
"""

from __future__ import annotations

import json
import os
import platform
import re
import time
import uuid
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError, ModelFileError, UnrulyWarning, warn
from unruly.features.encoder import Encoder
from unruly.features.registry import AllowedEncoders, encoder_from_bytes, encoder_to_bytes
from unruly.files import (
    CacheFiles,
    cache_folder,
    is_running,
    with_digest,
    without_digest,
    written_whole,
)
from unruly.progress import SILENT, Inner, Progress, stage
from unruly.wording import plural

LIMIT = 4 * 1024**3  # bytes
SLICE = 1_024  # texts encoded between two writes
COPY = 65_536  # rows copied at a time
STALE = 7 * 24 * 3600.0  # seconds after which another machine's unfinished file is given up
KEY_BYTES = 16
HEADER = 10_000  # bytes of the table of contents, at most
# What this cache and `minilm` write, and all that is ever counted or deleted.
_OURS = re.compile(
    r"(?:lsa|minilm|static|transformer|custom)-\w+/(?:part-[^/]+|[0-9a-f]{32})\.features"
    r"|fitted/[0-9a-f]{32}\.encoder|graphs/minilm-[\w-]+\.graph"
)


KeyArray = NDArray[np.uint8]  # (n, 16)


class CacheWarning(UnrulyWarning):
    """The cache was damaged or cannot be used; the work went on without it."""


@dataclass(frozen=True)
class FeatureCache:
    """The features on disk. `limit` bytes are kept, the least recently used files go first.

    One that is `read_only` gives the features that others have kept, and keeps none.

    >>> import tempfile
    >>> from unruly.features.lsa import Lsa
    >>> cache = FeatureCache(Path(tempfile.mkdtemp()))
    >>> texts = ["a good film", "a bad film", "so good", "so bad"]
    >>> lsa = cache.fitted(Lsa(dim=2), texts)
    >>> first, second = cache.encode(lsa, texts), cache.encode(lsa, texts)
    >>> np.array_equal(first, second), cache.files.size() > 0
    (True, True)
    >>> cache.files.clear() > 0, cache.files.size()
    (True, 0)
    """

    folder: Path = field(default_factory=lambda: cache_folder() / "features")
    limit: int = LIMIT
    read_only: bool = False

    def encode(
        self, encoder: Encoder, texts: Sequence[str], progress: Progress = SILENT
    ) -> NDArray[np.float32]:
        """(n, width), read-only and mapped from disk; only texts never seen before are encoded."""
        if encoder.identity is None:
            return encoder.encode(texts, progress)
        if not len(texts):
            return np.zeros((0, encoder.width), dtype=np.float32)
        directory = self.folder / encoder.identity
        if self.read_only:
            return self._read(encoder, texts, directory, progress)
        whole = directory / f"{_digest(texts)}.features"
        keys = keys_of(texts)
        try:
            found = _opened(whole)
            if found is None or not found.holds(keys, encoder.width):
                directory.mkdir(parents=True, exist_ok=True)
                with _own_part(whole, len(texts), encoder.width) as file:
                    _copy_known(file, keys, directory)
                    _encode_rest(file, encoder, texts, keys, progress)
                found = _opened(whole)
                self.files.trim(self.limit, whole, _dead)
            why = "it was deleted while it was written"
        except OSError as error:
            found, why = None, error.strerror or ""
        if found is None:
            _warn(self._unusable(why))
            return encoder.encode(texts, progress)
        return np.asarray(found.values)

    def fitted(
        self, encoder: Encoder, texts: Sequence[str], progress: Progress = SILENT
    ) -> Encoder:
        """The encoder fitted on these texts, from disk when it was fitted on the same ones before."""
        if encoder.plan is None:
            return encoder.fit(texts, progress)
        plan = f"{encoder.plan} {np.__version__} {_digest(texts)}"
        name = f"{blake2b(plan.encode()).hexdigest()[:32]}.encoder"
        place = self.folder / "fitted" / name
        if (found := _read_encoder(place)) is not None:
            return found
        done = encoder.fit(texts, progress)
        if self.read_only:
            return done
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with written_whole(place) as part:
                part.write_bytes(_encoder_bytes(done))
        except OSError as error:
            _warn(self._unusable(error.strerror))
        except InputError as error:  # a folder is in the file's place
            _warn(self._unusable(error.message))
        self.files.trim(self.limit, place, _dead)
        return done

    def _read(
        self, encoder: Encoder, texts: Sequence[str], directory: Path, progress: Progress
    ) -> NDArray[np.float32]:
        """(n, width): what is on disk is read, the rest is encoded, and nothing is written."""
        if not directory.is_dir():
            return encoder.encode(texts, progress)
        file = FeatureFile.in_memory(len(texts), encoder.width)
        keys = keys_of(texts)
        try:
            _copy_known(file, keys, directory)
        except OSError as error:
            _warn(self._unusable(error.strerror))
        if not file.written.any():
            return encoder.encode(texts, progress)
        _encode_rest(file, encoder, texts, keys, progress)
        return file.values

    def _unusable(self, why: str | None) -> str:
        return f"{self.folder}: the cache cannot be used ({why or ''}): continuing without it"

    @property
    def files(self) -> CacheFiles:
        """All that it has written."""
        return CacheFiles(self.folder, _OURS)


def _encode_rest(
    file: FeatureFile,
    encoder: Encoder,
    texts: Sequence[str],
    keys: KeyArray,
    progress: Progress,
) -> None:
    """Encode the texts whose rows are not written yet."""
    new = np.flatnonzero(~file.written)
    with stage(progress, f"encoding with {encoder.name}", len(texts), "texts"):
        progress.advance(len(texts) - len(new))
        for rows, first, which in _slices(keys, new):
            inner = Inner(progress)
            values = encoder.encode([texts[int(row)] for row in rows[first]], inner)
            file.write(rows, keys[rows], values[which])
            progress.advance(len(rows) - inner.done)


@contextmanager
def _own_part(whole: Path, n: int, width: int) -> Iterator[FeatureFile]:
    """A file that only this process writes; renamed when complete, left as it is when interrupted."""
    name = f"part-{platform.node()}-{os.getpid()}-{uuid.uuid4().hex[:8]}.features"
    part = whole.parent / name
    yield FeatureFile.create(part, n, width)
    os.replace(part, whole)
    for old in whole.parent.glob("part-*.features"):
        if _dead(old):
            with suppress(OSError):
                old.unlink()


def _copy_known(file: FeatureFile, keys: KeyArray, directory: Path) -> None:
    """Copy the rows that other files of this encoder already have."""
    wanted = _halves(keys)
    missing = np.arange(len(keys))
    for path in sorted(directory.glob("*.features")):
        if path == file.path or not len(missing):
            continue
        other = _opened(path)
        if other is None or other.values.shape[1] != file.values.shape[1]:
            continue
        at = _find(_halves(np.asarray(other.keys)), wanted[missing])
        hit = at >= 0
        sound = other.sound(at[hit])
        if not sound.all() and not path.name.startswith("part-"):
            bad = plural(int((~sound).sum()), "text")
            _warn(f"{path}: the features of {bad} are damaged: they are computed again")
        hit[hit] = sound
        rows, source = missing[hit], at[hit]
        for start in range(0, len(rows), COPY):
            to = rows[start : start + COPY]
            file.write(to, keys[to], other.values[source[start : start + COPY]])
        missing = missing[~hit]


def _slices(
    keys: KeyArray, new: NDArray[np.intp]
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]]:
    """Rows to encode together, the first row of each distinct text among them, and the text of each row.

    So a text that occurs twice in a slice is encoded once.
    """
    for start in range(0, len(new), SLICE):
        rows = new[start : start + SLICE]
        halves = _halves(keys[rows])
        _, first, which = np.unique(halves[:, 0], return_index=True, return_inverse=True)
        yield rows, first, which


def _find(have: NDArray[np.uint64], want: NDArray[np.uint64]) -> NDArray[np.intp]:
    """(len(want),): the position of each key, or -1; found by one half, checked by the other."""
    order = np.argsort(have[:, 0], kind="stable")
    place = np.searchsorted(have[order, 0], want[:, 0])
    place[place == len(order)] = 0
    at = order[place]
    same = (have[at] == want).all(axis=1) & want.any(axis=1)
    return np.where(same, at, -1)


def _halves(keys: KeyArray) -> NDArray[np.uint64]:
    """(n, 16) bytes as (n, 2) whole numbers."""
    return np.ascontiguousarray(keys).view(np.uint64).reshape(-1, 2)


def _opened(path: Path) -> FeatureFile | None:
    """The file, marked as just used; None if it is missing or no file of features."""
    try:
        found = FeatureFile.open(path)
    except FileNotFoundError:
        return None
    except ValueError:
        if path.name.startswith("part-"):
            return None
        _warn(f"{path}: not a file of features, or damaged: its features are computed again")
        return None
    with suppress(OSError):  # a cache that is only to be read
        os.utime(path)
    return found


def _encoder_bytes(encoder: Encoder) -> bytes:
    """A digest of the rest, how long the JSON is, the JSON, the tensors."""
    text, tensors = encoder_to_bytes(encoder)
    body = len(text).to_bytes(8, "little") + text + tensors
    return with_digest(body)


def _read_encoder(place: Path) -> Encoder | None:
    """What `_encoder_bytes` gave; None when it is missing or damaged."""
    try:
        body = without_digest(place.read_bytes())
    except OSError:
        return None
    try:
        if body is None:
            raise ModelFileError(f"{place}: damaged")
        size = int.from_bytes(body[:8], "little")
        found = encoder_from_bytes(
            body[8 : 8 + size], body[8 + size :], AllowedEncoders(), str(place)
        )
    except ModelFileError:
        _warn(f"{place}: the fitted encoder is damaged: it is fitted again")
        return None
    with suppress(OSError):
        os.utime(place)
    return found


def _dead(path: Path) -> bool:
    """Whether this is an unfinished file of a process that no longer runs."""
    if not path.name.startswith("part-"):
        return False
    host, _, process = path.name.removeprefix("part-").rpartition("-")[0].rpartition("-")
    if host == platform.node() and process.isdigit() and os.name == "posix":
        return not is_running(int(process))
    with suppress(OSError):
        return time.time() - path.stat().st_mtime >= STALE
    return True


def _digest(texts: Sequence[str]) -> str:
    """A digest of all texts in order: their lengths, and their letters one after another."""
    digest = blake2b(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)).tobytes())
    digest.update("".join(texts).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]


def _warn(message: str) -> None:
    warn(message, CacheWarning)


@dataclass(frozen=True, eq=False)
class FeatureFile:
    """Keys, values and checksums of n texts, on disk or in memory."""

    path: Path
    keys: KeyArray  # (n, 16)
    values: NDArray[np.float32]  # (n, width)
    checks: NDArray[np.uint32]  # (n,)

    @classmethod
    def create(cls, path: Path, n: int, width: int) -> FeatureFile:
        """A new file of zeros, open for writing; an `OSError` leaves no file."""
        if n < 1 or width < 1:
            raise ValueError(f"{path}: a file of features needs rows and columns: {n} × {width}")
        first, second = n * KEY_BYTES, n * KEY_BYTES + 4 * n * width
        end = second + 4 * n
        plan: dict[str, Any] = {
            "keys": {"dtype": "U8", "shape": [n, KEY_BYTES], "data_offsets": [0, first]},
            "values": {"dtype": "F32", "shape": [n, width], "data_offsets": [first, second]},
            "checks": {"dtype": "U32", "shape": [n], "data_offsets": [second, end]},
        }
        text = json.dumps(plan).encode()
        text += b" " * (-(8 + len(text)) % 8)
        try:
            with path.open("wb") as stream:
                stream.write(len(text).to_bytes(8, "little") + text)
                stream.flush()
                _reserve(stream.fileno(), 8 + len(text) + end)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        return cls.open(path, "r+")

    @classmethod
    def in_memory(cls, n: int, width: int) -> FeatureFile:
        """The same without a file."""
        return cls(
            Path(),
            np.zeros((n, KEY_BYTES), dtype=np.uint8),
            np.zeros((n, width), dtype=np.float32),
            np.zeros(n, dtype=np.uint32),
        )

    @classmethod
    def open(cls, path: Path, mode: str = "r") -> FeatureFile:
        """Map a file that `create` made; a `ValueError` when it is another."""
        with path.open("rb") as stream:
            size = int.from_bytes(stream.read(8), "little")
            text = stream.read(min(size, HEADER))
        try:
            plan = json.loads(text)
            n, width = map(int, plan["values"]["shape"])
            starts = [8 + size + int(plan[k]["data_offsets"][0]) for k in ("values", "checks")]
            keys = _mapped(path, mode, np.uint8, 8 + size, (n, KEY_BYTES))
            values = _mapped(path, mode, np.float32, starts[0], (n, width))
            checks = _mapped(path, mode, np.uint32, starts[1], (n,))
        except (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError):
            raise ValueError(f"{path}: not a file of features") from None
        return cls(path, keys, values, checks)

    def write(
        self, rows: slice | NDArray[np.intp], keys: KeyArray, values: NDArray[np.float32]
    ) -> None:
        """Write the values first and the keys last, so that a row with a key is always complete."""
        self.values[rows] = values
        self.checks[rows] = _checks(keys, np.asarray(values, dtype=np.float32))
        self.keys[rows] = keys

    @property
    def written(self) -> NDArray[np.bool_]:
        """(n,): which rows are there."""
        return np.asarray(self.keys.any(axis=1))

    def sound(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """(rows,): which of these rows are as they were written."""
        found = _checks(np.asarray(self.keys)[rows], np.asarray(self.values)[rows])
        return np.asarray(found == np.asarray(self.checks)[rows])

    def holds(self, keys: KeyArray, width: int) -> bool:
        """Whether it has the features of exactly these texts in this order, all of them sound."""
        same = self.values.shape == (len(keys), width) and np.array_equal(self.keys, keys)
        if not same:
            return False
        found = _checks(np.asarray(self.keys), np.asarray(self.values))
        return np.array_equal(found, self.checks)


def keys_of(texts: Iterable[str]) -> KeyArray:
    """(n, 16): BLAKE2b digests of the texts."""
    joined = b"".join(
        blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()
        for text in texts
    )
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, KEY_BYTES)


def _checks(keys: KeyArray, values: NDArray[np.float32]) -> NDArray[np.uint32]:
    """(n,): a CRC-32 of each row and its key."""
    if not len(values):
        return np.zeros(0, dtype=np.uint32)
    rows = np.ascontiguousarray(values).data.cast("B")
    names = np.ascontiguousarray(keys).data.cast("B")
    wide, n = values.shape[1] * 4, len(values)
    crc, key = zlib.crc32, KEY_BYTES
    found = (
        crc(rows[i * wide : (i + 1) * wide], crc(names[i * key : (i + 1) * key])) for i in range(n)
    )
    return np.fromiter(found, dtype=np.uint32, count=n)


def _reserve(file: int, size: int) -> None:
    """Allocate the disk space now: a full disk is an error here, but a crash in mapped memory."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
    else:
        os.truncate(file, size)


def _mapped(path: Path, mode: str, kind: type, offset: int, shape: tuple[int, ...]) -> NDArray[Any]:
    access: Any = mode
    return np.memmap(path, dtype=kind, mode=access, offset=offset, shape=shape)

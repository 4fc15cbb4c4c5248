"""Features kept on disk, by the content of the text and the identity of the encoder.

One folder for each encoder, one file for each corpus. A file is first a part, `part-…`, into which
rows go as they are encoded; when it is complete it is renamed to the digest of the corpus. Every
row of every file is found by its text, so an interrupted run goes on where it stopped and a corpus
that grew is encoded only where it is new. Processes never write to one file, and a rename is all or
nothing, so two of them can run at once.
"""

from __future__ import annotations

import os
import platform
import shutil
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError

from unruly.errors import InputError
from unruly.features.encoder import Encoder
from unruly.features.lsa import Lsa
from unruly.features.stream import FeatureFile, KeyArray, keys_of
from unruly.files import cache_folder, written_whole
from unruly.progress import SILENT, Progress, stage

LIMIT = 4 * 1024**3  # bytes
SLICE = 1_024  # texts encoded between two writes
COPY = 65_536  # rows copied at a time
STALE = 7 * 24 * 3600.0  # seconds after which another machine's unfinished file is given up


@dataclass(frozen=True)
class Cache:
    """The features on disk. `limit` bytes are kept, the least recently used files go first.

    >>> import tempfile
    >>> cache = Cache(Path(tempfile.mkdtemp()))
    >>> texts = ["a good film", "a bad film", "so good", "so bad"]
    >>> lsa = cache.fitted(Lsa(dim=2), texts)
    >>> first, second = cache.encode(lsa, texts), cache.encode(lsa, texts)
    >>> np.array_equal(first, second), cache.size() > 0
    (True, True)
    >>> cache.clear() > 0, cache.size()
    (True, 0)
    """

    folder: Path = field(default_factory=lambda: cache_folder() / "features")
    limit: int = LIMIT

    def encode(
        self, encoder: Encoder, texts: Sequence[str], progress: Progress = SILENT
    ) -> NDArray[np.float32]:
        """(n, width), read-only and mapped from disk; only texts never seen before are encoded."""
        if not len(texts):
            return np.zeros((0, encoder.width), dtype=np.float32)
        room = self.folder / encoder.identity
        whole = room / f"{_digest(texts)}.safetensors"
        if (found := _opened(whole)) is None:
            _make(room)
            self._fill(encoder, texts, whole, progress)
            found = _opened(whole)
            self.trim(keep=whole)
        if found is None:
            raise InputError(f"{whole}: the cache was deleted while it was written: run again")
        return np.asarray(found.values)

    def fitted(
        self, encoder: Encoder, texts: Sequence[str], progress: Progress = SILENT
    ) -> Encoder:
        """The encoder fitted on these texts, from disk when it was fitted on the same ones before."""
        if not isinstance(encoder, Lsa):
            return encoder.fit(texts, progress)
        options = replace(encoder, terms=(), axes=())
        plan = repr((options, np.__version__))
        place = (
            self.folder / "fitted" / blake2b(f"{plan} {_digest(texts)}".encode()).hexdigest()[:32]
        )
        with suppress(OSError, ValueError, KeyError, SafetensorError):
            found = Lsa.load(place)
            os.utime(place / "lsa.safetensors")
            return found
        done = options.fit(texts, progress)
        _make(place.parent)
        with suppress(OSError), written_whole(place) as part:  # another process may be first
            part.mkdir()
            done.save(part)
        self.trim(keep=place / "lsa.safetensors")
        return done

    def size(self) -> int:
        """How many bytes are kept."""
        return sum(bytes_ for _, bytes_, _ in self._files())

    def clear(self) -> int:
        """Delete everything; how many bytes that freed."""
        freed = self.size()
        shutil.rmtree(self.folder, ignore_errors=True)
        return freed

    def trim(self, keep: Path | None = None) -> None:
        """Delete the least recently used files beyond the limit, and unfinished ones of dead runs."""
        files = sorted(self._files(), reverse=True)
        total = 0
        for _, size, path in files:
            total += size
            dead = path.name.startswith("part-") and not _alive(path)
            if path != keep and (dead or total > self.limit):
                with suppress(OSError):
                    path.unlink()
                total -= size

    def _files(self) -> Iterator[tuple[float, int, Path]]:
        """When last used, bytes and path of every file."""
        for path in self.folder.rglob("*"):
            with suppress(OSError):
                if path.is_file():
                    facts = path.stat()
                    yield facts.st_mtime, facts.st_size, path

    def _fill(
        self, encoder: Encoder, texts: Sequence[str], whole: Path, progress: Progress
    ) -> None:
        """Encode what is new into a file of this process's own, and rename it when it is complete."""
        keys = keys_of(texts)
        with _own_part(whole, len(texts), encoder.width) as file:
            _copy_known(file, keys, whole.parent)
            new = np.flatnonzero(~file.written)
            with stage(progress, f"encoding with {encoder.name}", len(texts), "texts"):
                progress.advance(len(texts) - len(new))
                for rows, first in _slices(keys, new):
                    values = encoder.encode([texts[int(row)] for row in rows[first[0]]])
                    file.write(rows, keys[rows], values[first[1]])
                    progress.advance(len(rows))


@contextmanager
def _own_part(whole: Path, n: int, width: int) -> Iterator[FeatureFile]:
    """A file that only this process writes. Renamed when done; kept as it is when interrupted."""
    name = f"part-{platform.node()}-{os.getpid()}-{uuid.uuid4().hex[:8]}.safetensors"
    part = whole.parent / name
    yield FeatureFile.create(part, n, width)
    os.replace(part, whole)
    for old in whole.parent.glob("part-*.safetensors"):
        if not _alive(old):
            with suppress(OSError):
                old.unlink()


def _copy_known(file: FeatureFile, keys: KeyArray, room: Path) -> None:
    """Copy the rows that other files of this encoder already have."""
    wanted = _halves(keys)
    missing = np.arange(len(keys))
    for path in sorted(room.glob("*.safetensors")):
        if path == file.path or not len(missing):
            continue
        other = _opened(path)
        if other is None or other.values.shape[1] != file.values.shape[1]:
            continue
        at = _find(_halves(np.asarray(other.keys)), wanted[missing])
        hit = at >= 0
        rows, source = missing[hit], at[hit]
        for start in range(0, len(rows), COPY):
            to = rows[start : start + COPY]
            file.write(to, keys[to], other.values[source[start : start + COPY]])
        missing = missing[~hit]


def _slices(
    keys: KeyArray, new: NDArray[np.intp]
) -> Iterator[tuple[NDArray[np.intp], tuple[NDArray[np.intp], NDArray[np.intp]]]]:
    """Rows to encode together; a text that occurs twice in a slice is encoded once.

    With each slice: where its different texts first stand, and which of them each row is.
    """
    for start in range(0, len(new), SLICE):
        rows = new[start : start + SLICE]
        halves = _halves(keys[rows])
        _, first, which = np.unique(halves[:, 0], return_index=True, return_inverse=True)
        yield rows, (first, which)


def _find(have: NDArray[np.uint64], want: NDArray[np.uint64]) -> NDArray[np.intp]:
    """(len(want),): where each key stands, or -1. Sorted by one half, checked by the other."""
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
    """The file, marked as used now; None when it is missing or damaged."""
    try:
        found = FeatureFile.open(path)
        os.utime(path)
    except (OSError, InputError):
        return None
    return found


def _alive(part: Path) -> bool:
    """Whether the process that writes this unfinished file may still be running."""
    host, _, rest = part.name.removeprefix("part-").rpartition("-")[0].rpartition("-")
    if os.name != "posix" or host != platform.node() or not rest.isdigit():
        with suppress(OSError):
            return time.time() - part.stat().st_mtime < STALE
        return False
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _digest(texts: Sequence[str]) -> str:
    """A digest of all texts in order: their lengths, and their letters one after another."""
    digest = blake2b(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)).tobytes())
    digest.update("".join(texts).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder}: the cache cannot be made: {error.strerror}: set UNRULY_CACHE to another folder"
        ) from None

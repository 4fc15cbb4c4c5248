"""Features kept on disk, by the content of the text and the identity of the encoder.

One folder for each encoder, one file for each corpus. A file is first a part, `part-…`, into which
rows go as they are encoded; when it is complete it is renamed to the digest of the corpus. Every
row of every file is found by its text, so an interrupted run goes on where it stopped and a corpus
that grew is encoded only where it is new. Processes never write to one file, and a rename is all or
nothing, so two of them can run at once.

Every row has a checksum: what was damaged on disk is encoded again. A cache that cannot be read or written
is not used. Either gives one warning.
"""

from __future__ import annotations

import os
import platform
import re
import time
import uuid
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unruly.errors import ModelFileError
from unruly.features.encoder import Encoder
from unruly.features.feature_file import FeatureFile, KeyArray, keys_of
from unruly.features.saving import Permitted, encoder_from_bytes, encoder_to_bytes
from unruly.files import cache_folder, with_digest, without_digest, written_whole
from unruly.progress import SILENT, Progress, stage

LIMIT = 4 * 1024**3  # bytes
SLICE = 1_024  # texts encoded between two writes
COPY = 65_536  # rows copied at a time
STALE = 7 * 24 * 3600.0  # seconds after which another machine's unfinished file is given up
# What this cache and `minilm` write, and all that is ever counted or deleted.
_OURS = re.compile(
    r"(?:lsa|minilm|static|transformer|custom)-\w+/(?:part-[^/]+|[0-9a-f]{32})\.features"
    r"|fitted/[0-9a-f]{32}\.encoder|graphs/minilm-[\w-]+\.graph"
)


class CacheWarning(UserWarning):
    """The cache was damaged or cannot be used; the work went on without it."""


@dataclass(frozen=True)
class Cache:
    """The features on disk. `limit` bytes are kept, the least recently used files go first.

    >>> import tempfile
    >>> from unruly.features.lsa import Lsa
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
        if encoder.identity is None:
            return encoder.encode(texts, progress)
        if not len(texts):
            return np.zeros((0, encoder.width), dtype=np.float32)
        room = self.folder / encoder.identity
        whole = room / f"{_digest(texts)}.features"
        keys = keys_of(texts)
        try:
            found = _opened(whole)
            if found is None or not found.holds(keys, encoder.width):
                room.mkdir(parents=True, exist_ok=True)
                self._fill(encoder, texts, keys, whole, progress)
                found = _opened(whole)
                self.trim(keep=whole)
        except OSError as error:
            _warn(
                f"{self.folder}: the cache cannot be used ({error.strerror}): continuing without it"
            )
            return encoder.encode(texts, progress)
        if found is None:
            _warn(
                f"{self.folder}: the cache was deleted while it was written: continuing without it"
            )
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
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with written_whole(place) as part:
                part.write_bytes(_encoder_bytes(done))
        except OSError as error:
            _warn(
                f"{self.folder}: the cache cannot be used ({error.strerror}): continuing without it"
            )
        self.trim(keep=place)
        return done

    def size(self) -> int:
        """How many bytes are kept."""
        return sum(bytes_ for _, bytes_, _ in self._files())

    def clear(self) -> int:
        """Delete everything that this cache wrote, and nothing else; how many bytes that freed."""
        freed = 0
        for _, size, path in list(self._files()):
            with suppress(OSError):
                path.unlink()
                freed += size
        for folder in [*self._rooms(), self.folder]:
            with suppress(OSError):
                folder.rmdir()  # where it is empty
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

    def _rooms(self) -> list[Path]:
        """The folders inside."""
        with suppress(OSError):
            return [
                path for path in self.folder.iterdir() if path.is_dir() and not path.is_symlink()
            ]
        return []

    def _files(self) -> Iterator[tuple[float, int, Path]]:
        """When last used, bytes and path of every file that is ours."""
        for room in self._rooms():
            with suppress(OSError):
                for path in list(room.iterdir()):
                    if _OURS.fullmatch(f"{room.name}/{path.name}"):
                        with suppress(OSError):
                            facts = path.lstat()
                            yield facts.st_mtime, facts.st_size, path

    def _fill(
        self,
        encoder: Encoder,
        texts: Sequence[str],
        keys: KeyArray,
        whole: Path,
        progress: Progress,
    ) -> None:
        """Encode what is new into a file of this process's own, and rename it when it is complete."""
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
    name = f"part-{platform.node()}-{os.getpid()}-{uuid.uuid4().hex[:8]}.features"
    part = whole.parent / name
    yield FeatureFile.create(part, n, width)
    os.replace(part, whole)
    for old in whole.parent.glob("part-*.features"):
        if not _alive(old):
            with suppress(OSError):
                old.unlink()


def _copy_known(file: FeatureFile, keys: KeyArray, room: Path) -> None:
    """Copy the rows that other files of this encoder already have."""
    wanted = _halves(keys)
    missing = np.arange(len(keys))
    for path in sorted(room.glob("*.features")):
        if path == file.path or not len(missing):
            continue
        other = _opened(path)
        if other is None or other.values.shape[1] != file.values.shape[1]:
            continue
        at = _find(_halves(np.asarray(other.keys)), wanted[missing])
        hit = at >= 0
        sound = other.sound(at[hit])
        if not sound.all() and not path.name.startswith("part-"):
            _warn(f"{path}: {int((~sound).sum())} features are damaged: they are computed again")
        hit[hit] = sound
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
    """The file, marked as used now; None when it is missing or no such file."""
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
        found = encoder_from_bytes(body[8 : 8 + size], body[8 + size :], Permitted(), str(place))
    except ModelFileError:
        _warn(f"{place}: the fitted encoder is damaged: it is fitted again")
        return None
    with suppress(OSError):
        os.utime(place)
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


def _warn(message: str) -> None:
    warnings.warn(message, CacheWarning, stacklevel=4)

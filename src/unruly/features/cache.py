"""Features kept on disk, by the content of the text and the identity of the encoder.

One folder for each encoder; a file holds the features of some texts: n digests of 16 bytes, then n rows of float32. Rows are
found by their text in any file, so an interrupted run continues where it stopped, and of a corpus that grew only the new
texts are encoded. Files are written whole and never changed, so several processes can run at once. A file that was
damaged is deleted and its rows are encoded again, and a cache that cannot be written is not used; both give a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unruly.errors import ModelFileError
from unruly.features.encoder import Encoder
from unruly.features.registry import AllowedEncoders, encoder_from_bytes, encoder_to_bytes
from unruly.files import DIGEST, CacheFiles, cache_folder
from unruly.progress import SILENT, Inner, Progress, stage

LIMIT = 4 * 1024**3  # bytes
SLICE = 1_024  # texts whose features go into one file
KEY = 16  # bytes of the digest of a text
UNKEPT = "features are not kept"
# What this cache and `minilm` write, and all that is ever counted or deleted.
_OURS = re.compile(
    r"(?:lsa|minilm|static|transformer|custom)-\w+/(?:part-[^/]+|[0-9a-f]{32})\.features"
    r"|fitted/[0-9a-f]{32}\.encoder|graphs/minilm-[\w-]+\.graph"
)

KeyArray = NDArray[np.uint64]  # (n, 2): digests of texts


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
        """(n, width); only texts never seen before are encoded."""
        if encoder.identity is None:
            return encoder.encode(texts, progress)
        keys, values = keys_of(texts), np.empty((len(texts), encoder.width), np.float32)
        new = self._fill(encoder.identity, keys, values)
        if self.read_only and len(new) == len(texts):
            return encoder.encode(texts, progress)
        if not len(new):
            return values
        keeping = not self.read_only
        with stage(progress, f"encoding with {encoder.name}", len(texts), "texts"):
            progress.advance(len(texts) - len(new))
            for rows, first, which in _slices(keys, new):
                inner = Inner(progress)
                found = encoder.encode([texts[int(row)] for row in rows[first]], inner)
                values[rows] = found[which]
                keeping = keeping and self._keep(encoder.identity, keys[rows[first]], found)
                progress.advance(len(rows) - inner.done)
        if keeping:
            self.files.trim(self.limit)
        return values

    def fitted(
        self, encoder: Encoder, texts: Sequence[str], progress: Progress = SILENT
    ) -> Encoder:
        """The encoder fitted on these texts, from disk when it was fitted on the same ones before."""
        if encoder.plan is None:
            return encoder.fit(texts, progress)
        plan = f"{encoder.plan} {np.__version__} {_digest(texts)}"
        name = f"fitted/{blake2b(plan.encode()).hexdigest()[:32]}.encoder"
        body = self.files.read(name, "the encoder is fitted again")
        if body is not None:
            size = int.from_bytes(body[:8], "little")
            parts = body[8 : 8 + size], body[8 + size :]
            with suppress(ModelFileError):  # another version wrote it
                return encoder_from_bytes(*parts, AllowedEncoders(), name)
        done = encoder.fit(texts, progress)
        if not self.read_only:
            text, tensors = encoder_to_bytes(done)
            self.files.write(name, len(text).to_bytes(8, "little") + text + tensors, UNKEPT)
            self.files.trim(self.limit)
        return done

    @property
    def files(self) -> CacheFiles:
        """All that it has written."""
        return CacheFiles(self.folder, _OURS)

    def _fill(self, identity: str, keys: KeyArray, values: NDArray[np.float32]) -> NDArray[np.intp]:
        """Fill in the rows (n, width) that are on disk, and give the numbers of the others."""
        row = KEY + values.itemsize * values.shape[1]
        paths = sorted((self.folder / identity).glob("*.features"))
        known = [_keys_in(path, row) for path in paths]
        ends = np.cumsum([0, *map(len, known)])
        at = _find(np.concatenate([keys[:0], *known]), keys)
        missing = at < 0
        for path, there, start, end in zip(paths, known, ends, ends[1:], strict=False):
            hit = np.flatnonzero((at >= start) & (at < end))
            if len(there) and not len(hit):
                continue
            body = self.files.read(f"{identity}/{path.name}", "its features are computed again")
            if body is not None and len(there):
                found = np.frombuffer(body, np.float32, offset=KEY * len(there))
                values[hit] = found.reshape(len(there), -1)[at[hit] - start]
            else:
                missing[hit] = True
        return np.flatnonzero(missing)

    def _keep(self, identity: str, keys: KeyArray, values: NDArray[np.float32]) -> bool:
        """Write some rows (n, width) into a file of their own; whether that could be done."""
        body = keys.tobytes() + np.ascontiguousarray(values, np.float32).tobytes()
        name = f"{identity}/{blake2b(keys.tobytes(), digest_size=16).hexdigest()}.features"
        return self.files.write(name, body, UNKEPT)


def _keys_in(path: Path, row: int) -> KeyArray:
    """(n, 2): the keys in a file whose rows have so many bytes, keys included; none where it is damaged."""
    with suppress(OSError), path.open("rb") as file:  # deleted meanwhile, or a folder
        n, odd = divmod(path.stat().st_size - DIGEST, row)
        file.seek(DIGEST)
        return np.frombuffer(file.read(0 if odd else KEY * max(n, 0)), np.uint64).reshape(-1, 2)
    return np.empty((0, 2), np.uint64)


def _slices(
    keys: KeyArray, new: NDArray[np.intp]
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]]:
    """Rows to encode together, the first row of each distinct text among them, and the text of each row.

    So a text that occurs twice in a slice is encoded once.
    """
    for start in range(0, len(new), SLICE):
        rows = new[start : start + SLICE]
        _, first, which = np.unique(keys[rows, 0], return_index=True, return_inverse=True)
        yield rows, first, which


def _find(have: KeyArray, want: KeyArray) -> NDArray[np.intp]:
    """(len(want),): the position of each key, or -1; found by one half, checked by the other."""
    if not len(have):
        return np.full(len(want), -1)
    order = np.argsort(have[:, 0], kind="stable")
    place = np.searchsorted(have[order, 0], want[:, 0])
    place[place == len(order)] = 0
    at = order[place]
    return np.where((have[at] == want).all(axis=1), at, -1)


def _digest(texts: Sequence[str]) -> str:
    """A digest of all texts in order: their lengths, and their letters one after another."""
    digest = blake2b(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)).tobytes())
    digest.update("".join(texts).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]


def keys_of(texts: Iterable[str]) -> KeyArray:
    """(n, 2): BLAKE2b digests of the texts."""
    joined = b"".join(
        blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY).digest() for text in texts
    )
    return np.frombuffer(joined, np.uint64).reshape(-1, 2)

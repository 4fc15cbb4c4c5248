"""Features too large for memory: written row by row into a memory-mapped file.

The file is plain safetensors with two tensors: `keys` (n, 16 bytes), a digest of each text, and
`values` (n, width) float32. Rows whose key is still zero have not been written yet, so a file that
was left half done tells how far it got.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.features.encoder import Encoder
from unruly.files import written_whole
from unruly.progress import SILENT, Progress, stage

KEY_BYTES = 16

KeyArray = NDArray[np.uint8]  # (n, 16)


@dataclass(frozen=True, eq=False)
class FeatureFile:
    """Keys and values of n texts on disk, mapped into memory."""

    path: Path
    keys: KeyArray  # (n, 16)
    values: NDArray[np.float32]  # (n, width)

    @classmethod
    def create(cls, path: Path, n: int, width: int) -> FeatureFile:
        """A new file of zeros, open for writing."""
        if n < 1 or width < 1:
            raise InputError(
                f"{path}: a file of features needs rows and columns, not {n} × {width}"
            )
        middle = n * KEY_BYTES
        end = middle + 4 * n * width
        plan: dict[str, Any] = {
            "keys": {"dtype": "U8", "shape": [n, KEY_BYTES], "data_offsets": [0, middle]},
            "values": {"dtype": "F32", "shape": [n, width], "data_offsets": [middle, end]},
        }
        text = json.dumps(plan).encode()
        text += b" " * (-(8 + len(text)) % 8)
        try:
            with path.open("wb") as stream:
                stream.write(len(text).to_bytes(8, "little") + text)
                stream.flush()
                _reserve(stream.fileno(), 8 + len(text) + end)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise InputError(
                f"{path}: cannot make a file of {end >> 20} MB for features: {error.strerror}"
            ) from None
        return cls.open(path, "r+")

    @classmethod
    def open(cls, path: Path, mode: str = "r") -> FeatureFile:
        """Map a file that `create` made."""
        try:
            with path.open("rb") as stream:
                size = int.from_bytes(stream.read(8), "little")
                plan = json.loads(stream.read(min(size, 10_000)))
            shape = tuple(plan["values"]["shape"])
            keys = _mapped(path, mode, np.uint8, 8 + size, (shape[0], KEY_BYTES))
            start = 8 + size + plan["values"]["data_offsets"][0]
            values = _mapped(path, mode, np.float32, start, shape)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: not a file of features: {error}") from None
        return cls(path, keys, values)

    def write(
        self, rows: slice | NDArray[np.intp], keys: KeyArray, values: NDArray[np.float32]
    ) -> None:
        """Put the values first and the keys after, so that a row with a key is always whole."""
        self.values[rows] = values
        self.keys[rows] = keys

    @property
    def written(self) -> NDArray[np.bool_]:
        """(n,): which rows are there."""
        return np.asarray(self.keys.any(axis=1))


def keys_of(texts: Iterable[str]) -> KeyArray:
    """(n, 16): BLAKE2b digests of the texts."""
    joined = b"".join(
        blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()
        for text in texts
    )
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, KEY_BYTES)


def encode_stream(
    encoder: Encoder,
    batches: Iterable[Sequence[str]],
    n: int,
    path: str | Path,
    progress: Progress = SILENT,
) -> FeatureFile:
    """Encode n texts that come in batches into a file; memory holds one batch at a time.

    >>> import tempfile
    >>> from unruly.features.lsa import Lsa
    >>> texts = ["a good film", "a bad film", "so good", "so bad"]
    >>> lsa = Lsa(dim=2).fit(texts)
    >>> path = Path(tempfile.mkdtemp()) / "features.safetensors"
    >>> done = encode_stream(lsa, [texts[:2], texts[2:]], 4, path)
    >>> np.array_equal(done.values, lsa.encode(texts))
    True
    """
    with written_whole(path) as part, stage(progress, f"encoding with {encoder.name}", n, "texts"):
        file = FeatureFile.create(part, n, encoder.width)
        start = 0
        for texts in batches:
            if start + len(texts) > n:
                raise InputError(f"{path}: more than the {n} texts that were announced")
            file.write(slice(start, start + len(texts)), keys_of(texts), encoder.encode(texts))
            start += len(texts)
            progress.advance(len(texts))
        if start != n:
            raise InputError(f"{path}: {n} texts were announced, but {start} came")
    return FeatureFile.open(Path(path))


def _reserve(file: int, size: int) -> None:
    """Take the room on disk now: a full disk is an error here, but a crash in mapped memory."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
    else:
        os.truncate(file, size)


def _mapped(path: Path, mode: str, kind: type, offset: int, shape: tuple[int, ...]) -> NDArray[Any]:
    access: Any = mode
    return np.memmap(path, dtype=kind, mode=access, offset=offset, shape=shape)

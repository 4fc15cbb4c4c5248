"""A file of features, mapped into memory and written row by row.

It is plain safetensors with three tensors: `keys` (n, 16 bytes), a digest of each text; `values` (n, width)
float32; and `checks` (n,), a checksum of each row and its key. Rows whose key is still zero have not been
written yet, so a file that was left half done tells how far it got.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

KEY_BYTES = 16
HEADER = 10_000  # bytes of the table of contents, at most

KeyArray = NDArray[np.uint8]  # (n, 16)


@dataclass(frozen=True, eq=False)
class FeatureFile:
    """Keys, values and checksums of n texts on disk."""

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
        except (
            AttributeError,
            IndexError,
            KeyError,
            OverflowError,
            RecursionError,
            TypeError,
            ValueError,
        ):
            raise ValueError(f"{path}: not a file of features") from None
        return cls(path, keys, values, checks)

    def write(
        self, rows: slice | NDArray[np.intp], keys: KeyArray, values: NDArray[np.float32]
    ) -> None:
        """Put the values first and the keys after, so that a row with a key is always whole."""
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
    """Take the room on disk now: a full disk is an error here, but a crash in mapped memory."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
    else:
        os.truncate(file, size)


def _mapped(path: Path, mode: str, kind: type, offset: int, shape: tuple[int, ...]) -> NDArray[Any]:
    access: Any = mode
    return np.memmap(path, dtype=kind, mode=access, offset=offset, shape=shape)

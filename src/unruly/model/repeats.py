"""Which documents repeat training documents: told by 64-bit digests, so that no text need be kept."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray


def text_digests(texts: Iterable[str]) -> NDArray[np.uint64]:
    """(n,): a digest of each text; case and runs of white space make no difference.

    >>> a, b = text_digests(["Nice  song", "nice song "])
    >>> bool(a == b)
    True
    """
    return _numbers(
        " ".join(text.casefold().split()).encode("utf-8", "surrogatepass") for text in texts
    )


def row_digests(features: NDArray[np.float32]) -> NDArray[np.uint64]:
    """(n,): a digest of each row of features, where there are no texts."""
    return _numbers(row.tobytes() for row in np.ascontiguousarray(features, dtype=np.float32))


def repeated(digests: NDArray[np.uint64], training: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """(n,): which of the digests stand among those of the training documents."""
    return np.asarray(np.isin(digests, training))


def _numbers(pieces: Iterable[bytes]) -> NDArray[np.uint64]:
    digests = b"".join(blake2b(piece, digest_size=8).digest() for piece in pieces)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)

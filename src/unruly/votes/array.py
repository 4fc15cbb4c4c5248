"""Any integer matrix as votes: class numbers from 0, -1 where a source abstains."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unruly.errors import InputError

ABSTAIN = -1
MOST_CLASSES = 127


def class_numbers(array: ArrayLike, abstain: int = ABSTAIN) -> NDArray[np.int8]:
    """(n, k): the matrix, checked; with `abstain=0`, classes are numbered from 1 in the input.

    >>> class_numbers([[1, 0], [2, 2]], abstain=0)
    array([[ 0, -1],
           [ 1,  1]], dtype=int8)
    """
    raw = np.asarray(array)
    if raw.ndim != 2:
        raise InputError(
            f"votes must be a matrix of documents × sources, not {raw.ndim}-dimensional"
        )
    if raw.dtype.kind == "f" and not np.array_equal(raw, np.round(raw)):
        raise InputError("votes must be whole numbers: class numbers, or the abstain value")
    if raw.dtype.kind not in "iufb":
        raise InputError(f"votes must be whole numbers, not {raw.dtype}")
    whole = raw.astype(np.int64)
    none = whole == abstain
    shift = 1 if abstain == 0 else 0
    matrix = np.where(none, ABSTAIN, whole - shift)
    high = int(matrix.max(initial=0))
    if int(matrix.min(initial=0)) < ABSTAIN or high >= MOST_CLASSES:
        raise InputError(
            f"votes range from {int(whole.min())} to {int(whole.max())} with abstain={abstain}: "
            f"class numbers must lie between 0 and {MOST_CLASSES - 1}"
        )
    return matrix.astype(np.int8)

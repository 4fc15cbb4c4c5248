"""Features as a product that is not multiplied out: sparse rows of terms, and the axes that they are projected on.

    ((R V) s - c) W  =  s R (V W) - c W,    R: (n, t) with few entries,  V: (t, d),  W: (d, m)

A classifier of m classes needs the right-hand side only. With 512 axes and two classes that is a fraction of the work of R V,
and V W is taken of the terms that occur in R alone: of one text as of a million. V is kept in small integers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from unruly.features.encoder import State
from unruly.statistics import Float32

CLIPS = (2.2, 2.6, 3.0)  # in 4 bits, the largest value: so many times the row's root mean square
_CHUNK = 4_096  # terms whose steps are made numbers at a time


@dataclass(frozen=True, eq=False)
class Axes:
    """V in small integers: row t is `steps[t] · scale[t]`.

    A text has many terms, over which the errors of rounding average out.
    """

    steps: NDArray[np.int8]  # (terms, d): -127 to 127, or -7 to 7 in 4 bits
    scale: NDArray[np.float32]  # (terms,)
    bits: int = 8

    @classmethod
    def rounded(cls, axes: NDArray[np.float32], bits: int = 8) -> Axes:
        """Each term's row rounded to steps; in 4 bits, at the best of three scales.

        >>> axes = Axes.rounded(np.array([[0.5, -1.0], [0.0, 0.0]], np.float32))
        >>> axes.steps.tolist(), np.round(axes.matrix, 2).tolist()
        ([[64, -127], [0, 0]], [[0.5, -1.0], [0.0, 0.0]])
        """
        most = 2 ** (bits - 1) - 1
        largest = np.abs(axes).max(axis=1)  # (terms,)
        size = np.sqrt((axes**2).mean(axis=1))
        widest = [largest] if bits == 8 else [np.minimum(size * clip, largest) for clip in CLIPS]
        tried = [cls._at(axes, wide / most, bits) for wide in widest]
        error = np.stack([((one.matrix - axes) ** 2).sum(axis=1) for one in tried])
        best, term = error.argmin(axis=0), np.arange(len(axes))
        steps = np.stack([one.steps for one in tried])[best, term]
        return cls(steps, np.stack([one.scale for one in tried])[best, term], bits)

    @classmethod
    def _at(cls, axes: NDArray[np.float32], scale: NDArray[np.float32], bits: int) -> Axes:
        most = 2 ** (bits - 1) - 1
        scale = np.where(scale > 0, scale, 1).astype(np.float32)
        steps = np.clip(np.round(axes / scale[:, None]), -most, most)
        return cls(steps.astype(np.int8), scale, bits)

    @cached_property
    def matrix(self) -> NDArray[np.float32]:
        """(terms, d)."""
        return self.steps * self.scale[:, None]

    def times(self, weights: Float32, terms: NDArray[np.intp]) -> Float32:
        """(t, m): the rows of these terms (t,) times the weights (d, m)."""
        product = np.empty((len(terms), weights.shape[1]), dtype=np.float32)
        for start in range(0, len(terms), _CHUNK):
            some = terms[start : start + _CHUNK]
            steps = self.steps[some].astype(np.float32)
            product[start : start + _CHUNK] = (steps @ weights) * self.scale[some, None]
        return product

    @property
    def width(self) -> int:
        """d."""
        return int(self.steps.shape[1])

    def state(self) -> State:
        """Steps of 4 bits two in a byte."""
        packed: NDArray[np.generic] = self.steps
        if self.bits == 4:
            even = np.zeros((len(self.steps), self.width + self.width % 2), dtype=np.uint8)
            even[:, : self.width] = self.steps + 8
            packed = even[:, ::2] | even[:, 1::2] << 4
        return {"width": self.width, "bits": self.bits, "packed": packed, "scale": self.scale}

    @classmethod
    def from_state(cls, state: State, terms: int) -> Axes:
        """What `state` gave, checked against the number of terms."""
        width, bits, packed, scale = (state[key] for key in ("width", "bits", "packed", "scale"))
        kind, wide = {8: (np.int8, width), 4: (np.uint8, (width + 1) // 2)}[bits]
        sound = packed.dtype == kind and packed.shape == (terms, wide) and width > 0
        if not sound or scale.dtype != np.float32 or scale.shape != (terms,):
            raise ValueError("the axes of lsa do not fit its terms")
        if not np.isfinite(scale).all():
            raise ValueError("the axes of lsa are not finite")
        if bits == 8:
            return cls(packed, scale, bits)
        steps = np.empty((terms, 2 * wide), dtype=np.int8)
        steps[:, ::2] = (packed & 15).astype(np.int8) - 8
        steps[:, 1::2] = (packed >> 4).astype(np.int8) - 8
        return cls(np.ascontiguousarray(steps[:, :width]), scale, bits)


@dataclass(frozen=True, eq=False)
class Projected:
    """(n, d): `rows @ axes * scale - shift`. Numbers are taken from it, and it is multiplied, as if it were an array.

    >>> axes = Axes.rounded(np.array([[0.5, -1.0], [1.0, 0.0], [0.0, 2.0]], np.float32))
    >>> x = Projected(csr_matrix(np.array([[1, 0, 0], [0, 2, 1]], np.float32)), axes)
    >>> np.round(x.multiplied, 1).tolist(), x.shape, x[np.array([1])].shape
    ([[0.5, -1.0], [2.0, 2.0]], (2, 2), (1, 2))
    >>> moved, weights = (x - np.ones(2, np.float32)) * 2, np.array([[1.0], [3.0]], np.float32)
    >>> np.round(moved @ weights, 1).tolist(), np.round(moved.multiplied @ weights, 1).tolist()
    ([[-13.0], [8.0]], [[-13.0], [8.0]])
    """

    rows: csr_matrix  # (n, t)
    axes: Axes  # (t, d)
    scale: float = 1.0
    shift: Float32 | None = None  # (d,); None: zeros

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)."""
        return int(self.rows.shape[0]), self.axes.width

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @property
    def multiplied(self) -> Float32:
        """(n, d): as an array."""
        values: Float32 = self.rows @ self.axes.matrix
        if self.scale != 1:
            values *= np.float32(self.scale)
        return values if self.shift is None else values - self.shift

    @property
    def finite(self) -> NDArray[np.bool_]:
        """(n,): rows without NaN and infinity; axes have none."""
        odd = np.flatnonzero(~np.isfinite(self.rows.data))
        good = np.ones(len(self), dtype=np.bool_)
        good[np.searchsorted(self.rows.indptr, odd, side="right") - 1] = False
        return good

    def __getitem__(self, rows: slice | NDArray[np.intp] | NDArray[np.bool_]) -> Projected:
        return replace(self, rows=self.rows[rows])

    def __sub__(self, shift: Float32) -> Projected:
        return replace(self, shift=shift if self.shift is None else self.shift + shift)

    def __mul__(self, scale: float) -> Projected:
        shift = None if self.shift is None else self.shift * np.float32(scale)
        return replace(self, scale=self.scale * scale, shift=shift)

    def __matmul__(self, weights: Float32) -> Float32:
        """(n, m), of weights (d, m)."""
        used = np.flatnonzero(np.bincount(self.rows.indices, minlength=self.rows.shape[1]))
        terms = np.zeros((self.rows.shape[1], weights.shape[1]), dtype=np.float32)
        terms[used] = self.axes.times(weights * np.float32(self.scale), used)
        values: Float32 = self.rows @ terms
        return values if self.shift is None else values - self.shift @ weights

"""Features: blocks of one height, joined and taken apart."""

from __future__ import annotations

import numpy as np
import pytest

from unruly.errors import InputError
from unruly.features.encoder import Block, Features

A = np.arange(6, dtype=np.float32).reshape(3, 2)
B = np.ones((3, 1), dtype=np.float32)


def test_blocks_side_by_side() -> None:
    features = Features((Block("a", A), Block("b", B)))
    assert (features.n, features.width) == (3, 3)
    assert np.array_equal(features.matrix(), np.hstack([A, B]))
    assert np.array_equal(features.take(np.array([2, 0])).matrix(), np.hstack([A, B])[[2, 0]])
    assert features.take(np.array([True, False, False])).n == 1


def test_refusals() -> None:
    with pytest.raises(InputError, match="at least one block"):
        Features(())
    with pytest.raises(InputError, match=r"differ in their number of rows \(a: 3, b: 2\)"):
        Features((Block("a", A), Block("b", B[:2])))
    with pytest.raises(InputError, match="row 0: a feature is NaN"):
        Features.from_array(np.full((2, 2), np.nan, dtype=np.float32))

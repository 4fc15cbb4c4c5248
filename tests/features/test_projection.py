"""Products that are not multiplied out give what their arrays give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, random

from unruly.features.encoder import Block, Features
from unruly.features.projection import Axes, Projected


def product(n: int, terms: int, width: int, seed: int) -> Projected:
    rng = np.random.default_rng(seed)
    rows = random(n, terms, density=0.3, format="csr", dtype=np.float32, random_state=rng)
    return Projected(
        csr_matrix(rows), Axes.rounded(rng.normal(size=(terms, width)).astype(np.float32))
    )


@given(
    st.integers(0, 6), st.integers(1, 9), st.integers(1, 5), st.integers(1, 4), st.integers(0, 99)
)
def test_a_product_with_weights_is_that_of_the_array(
    n: int, terms: int, width: int, m: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x, weights = product(n, terms, width, seed), rng.normal(size=(width, m)).astype(np.float32)
    first, second = rng.normal(size=(2, width)).astype(np.float32)
    moved = ((x * 2.0 - first) * 3.0 - second) * 0.25
    array = ((x.multiplied * 2.0 - first) * 3.0 - second) * 0.25
    np.testing.assert_allclose(moved.multiplied, array, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(moved @ weights, array @ weights, rtol=1e-4, atol=1e-4)


def test_more_terms_than_are_multiplied_at_a_time() -> None:
    x, weights = product(3, 10_000, 2, seed=0), np.eye(2, dtype=np.float32)
    np.testing.assert_allclose(x @ weights, x.multiplied, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("rows", [slice(1, 3), np.array([2, 0]), np.array([True, False, True])])
def test_rows_are_taken_as_those_of_an_array(rows: slice) -> None:
    x = product(3, 5, 2, seed=0) - np.ones(2, dtype=np.float32)
    np.testing.assert_array_equal(x[rows].multiplied, x.multiplied[rows])
    assert len(x[rows]) == len(x.multiplied[rows])


def test_a_row_that_is_not_finite_is_found_behind_empty_rows() -> None:
    rows = csr_matrix(np.array([[0, 0], [1, 2], [0, 0], [np.nan, 1]], np.float32))
    x = Projected(rows, Axes.rounded(np.eye(2, dtype=np.float32)))
    assert x.finite.tolist() == [True, True, True, False]


def test_features_are_one_matrix_whatever_their_blocks_are() -> None:
    x = product(3, 5, 2, seed=0)
    features = Features((Block("a", x), Block("b", np.ones((3, 1), dtype=np.float32))))
    expected = np.concatenate([x.multiplied, np.ones((3, 1))], axis=1)
    np.testing.assert_array_equal(features.matrix(), expected)
    np.testing.assert_array_equal(features.take(np.array([1])).matrix(), expected[[1]])

"""The vote matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from unruly.errors import InputError
from unruly.votes.votes import Votes

matrices = hnp.arrays(
    np.int8,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8),
    elements=st.integers(-1, 2),
)


def test_the_matrix_cannot_be_changed() -> None:
    votes = Votes.from_array([[0, 1]])
    with pytest.raises(ValueError, match="read-only"):
        votes.matrix[0, 0] = 1


@given(matrices, st.sampled_from([-1, 0, -9, 99]))
def test_arrays_round_trip_with_any_abstain_value(matrix: np.ndarray, abstain: int) -> None:
    votes = Votes.from_array(matrix, classes=["a", "b", "c"])
    back = Votes.from_array(votes.to_array(abstain), classes=["a", "b", "c"], abstain=abstain)
    assert np.array_equal(back.matrix, matrix)


def test_a_class_number_cannot_mean_abstain() -> None:
    with pytest.raises(InputError, match="1 cannot mean abstain: it is the number of a class"):
        Votes.from_array([[0, 1]]).to_array(abstain=1)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        ([0, 1], "votes must be a matrix"),
        ([[0.5]], "votes must be whole numbers"),
        ([["a"]], "votes must be whole numbers, not"),
        ([[-2]], "votes range from -2 to -2"),
        ([[127]], "class numbers must lie between 0 and 126"),
    ],
)
def test_arrays_that_are_no_votes(array: list[Any], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        Votes.from_array(array)


def test_names_ids_and_soft_votes_are_checked() -> None:
    with pytest.raises(InputError, match="two sources are named 'a'"):
        Votes.from_array([[0, 1]], sources=["a", "a"])
    with pytest.raises(InputError, match="votes have 2 columns, but 1 name of sources"):
        Votes.from_array([[0, 1]], sources=["a"])
    with pytest.raises(InputError, match="the id 'x' occurs more than once"):
        Votes.from_array([[0], [1]], ids=["x", "x"])
    with pytest.raises(InputError, match="votes need 2 to 127 classes, not 1"):
        Votes.from_array([[0]], classes=["only"])
    good = Votes.from_array([[0], [1]])
    with pytest.raises(
        InputError, match="soft votes of 'source_0' must be 2 documents × 2 classes"
    ):
        Votes(
            good.matrix,
            good.sources,
            good.classes,
            good.ids,
            {"source_0": np.zeros((2, 3), np.float32)},
        )


@given(matrices, st.data())
def test_batches_put_together_are_the_whole(matrix: np.ndarray, data: st.DataObject) -> None:
    votes = Votes.from_array(matrix, classes=["a", "b", "c"])
    cut = data.draw(st.integers(0, votes.n))
    back = Votes.concat([votes.take(np.arange(cut)), votes.take(np.arange(cut, votes.n))])
    assert np.array_equal(back.matrix, votes.matrix)
    assert back.ids.equals(votes.ids)
    assert votes[:cut].n == cut


def test_only_like_can_be_put_together() -> None:
    one = Votes.from_array([[0]], ids=["x"])
    with pytest.raises(InputError, match="different sources or classes"):
        Votes.concat([one, Votes.from_array([[0]], sources=["other"], ids=["y"])])
    with pytest.raises(InputError, match="the id 'x' occurs more than once"):
        Votes.concat([one, one])
    with pytest.raises(InputError, match="no votes to put together"):
        Votes.concat([])


def test_votes_without_provenance_say_so() -> None:
    with pytest.raises(InputError, match="match the rules again"):
        Votes.from_array([[0]]).matches(0)
    with pytest.raises(InputError, match="there is no document 1"):
        Votes.from_array([[0]]).matches(1)

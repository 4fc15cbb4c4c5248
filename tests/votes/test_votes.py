"""The vote matrix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
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
        ([["a"]], "votes must be whole numbers, not <U1: give class numbers, and -1 for abstain"),
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


def test_each_class_has_its_own_name() -> None:
    with pytest.raises(InputError, match="two classes are named 'ham': give each class its own"):
        Votes.from_array([[0], [1]], classes=["ham", "ham"])


@pytest.mark.parametrize(
    ("shares", "found"),
    [
        ([np.nan, np.nan], "nan, nan"),
        ([np.inf, 0], "inf, 0"),
        ([1.5, -0.5], "1.5, -0.5"),
        ([0.5, 0.25], "0.5, 0.25"),
        ([0, 0], "0, 0"),
    ],
)
def test_a_soft_vote_gives_shares_that_sum_to_one(shares: list[float], found: str) -> None:
    votes = Votes.from_array([[-1, 0], [0, 0]], classes=["ham", "spam"], sources=["a", "model"])
    soft = np.array([[0.495, 0.5], shares], np.float32)
    with pytest.raises(
        InputError, match=f"the soft vote of 'model' in row 1 is {found}: give each class"
    ):
        replace(votes, soft={"model": soft})
    assert replace(votes, soft={"a": soft[::-1]})[[0], "a"].n == 1  # it abstains there


@pytest.mark.parametrize("source", ["source_0", "other"])
def test_what_is_told_of_a_source_needs_the_source_and_all_documents(source: str) -> None:
    good = Votes.from_array([[0], [-1]], classes=["a", "b"])
    shares, unasked = np.full((2, 2), 0.5, np.float32), np.array([True, False])
    assert replace(good, soft={"source_0": shares}, unasked={"source_0": unasked}).n == 2
    rows = slice(None) if source == "other" else slice(1)
    with pytest.raises(InputError, match=f"soft votes of '{source}' must be"):
        replace(good, soft={source: shares[rows]})
    with pytest.raises(InputError, match=f"unasked documents of '{source}' must be"):
        replace(good, unasked={source: unasked[rows]})


@given(matrices, st.data())
def test_batches_put_together_are_the_whole(matrix: np.ndarray, data: st.DataObject) -> None:
    votes = Votes.from_array(matrix, classes=["a", "b", "c"])
    cut = data.draw(st.integers(0, votes.n))
    back = Votes.concat([votes.take(np.arange(cut)), votes.take(np.arange(cut, votes.n))])
    assert np.array_equal(back.matrix, votes.matrix)
    assert back.ids.equals(votes.ids)
    assert votes[:cut].n == cut


def test_only_like_can_be_put_together() -> None:
    one = Votes.from_array([[1]], ids=["x"])
    with pytest.raises(InputError, match="different sources or classes"):
        Votes.concat([one, Votes.from_array([[1]], sources=["other"], ids=["y"])])
    with pytest.raises(InputError, match="the id 'x' occurs more than once"):
        Votes.concat([one, one])
    with pytest.raises(InputError, match="no votes to put together"):
        Votes.concat([])


def test_votes_without_provenance_say_so() -> None:
    with pytest.raises(InputError, match="match the rules again"):
        Votes.from_array([[1]]).matches(0)
    with pytest.raises(InputError, match="there is no document 1"):
        Votes.from_array([[1]]).matches(1)


def test_columns_of_frames_name_the_sources() -> None:
    columns = {"links": [0, 1], "short": [-1, 1]}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns)):
        votes = Votes.from_array(frame)
        assert votes.sources == ("links", "short")
        assert votes.matrix.tolist() == [[0, -1], [1, 1]]
        assert Votes.from_array(frame, sources=["a", "b"]).sources == ("a", "b")


def test_votes_of_one_class_are_refused_unless_the_classes_are_listed() -> None:
    with pytest.raises(InputError, match="all votes name one class"):
        Votes.from_array([[0], [0]])
    assert Votes.from_array([[0], [0]], classes=["ham", "spam"]).m == 2
    assert Votes.from_array([[-1]]).m == 2  # no votes at all are votes of no class


def test_short_forms_for_notebooks() -> None:
    votes = Votes.from_array([[0, -1], [1, 1]], classes=["<b>", "spam"], sources=["<i>", "b"])
    assert repr(votes) == "Votes(2 documents × 2 sources, classes <b> and spam, coverage 100.0%)"
    assert "&lt;i&gt;" in votes._repr_html_()
    assert "<i>" not in votes._repr_html_()
    assert repr(votes.summary()) == "Summary(2 sources, 2 documents, coverage 100.0%)"


@pytest.mark.parametrize("vote", [-2, 2])
def test_a_matrix_with_a_vote_that_is_no_class_is_refused(vote: int) -> None:
    matrix = np.array([[0, 1], [vote, -1]], dtype=np.int8)
    with pytest.raises(InputError, match=f"a vote of {vote} is neither -1"):
        Votes(matrix, ("s", "t"), ("ham", "spam"), pl.Series("id", [0, 1]))


def soft_votes() -> Votes:
    shares = np.array([[0.8, 0.2], [0.3, 0.7], [0.0, 0.0]], np.float32)
    hard = Votes.from_array([[0, 1], [1, -1], [-1, 0]], sources=["s", "t"])
    return replace(hard, soft={"s": shares})


def test_some_documents_keep_their_soft_votes() -> None:
    votes = soft_votes()
    np.testing.assert_array_equal(votes.take([2, 0]).soft["s"], votes.soft["s"][[2, 0]])
    np.testing.assert_array_equal(votes[1:].soft["s"], votes.soft["s"][1:])


def test_votes_put_together_keep_their_soft_votes_and_must_have_the_same() -> None:
    votes = soft_votes()
    other = replace(votes, ids=pl.Series("id", ["x", "y", "z"]))
    both = Votes.concat([replace(votes, ids=pl.Series("id", ["a", "b", "c"])), other])
    np.testing.assert_array_equal(both.soft["s"], np.tile(votes.soft["s"], (2, 1)))
    with pytest.raises(InputError, match="different soft sources"):
        Votes.concat([votes, replace(other, soft={})])


NAMES = ["links", "praise", "short"]


@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(-1, 2), min_size=3, max_size=3), min_size=n, max_size=n
        )
    ),
    st.data(),
)
def test_rows_and_columns_are_those_of_the_matrix(
    rows: list[list[int]], data: st.DataObject
) -> None:
    matrix = np.array(rows)
    votes = Votes.from_array(matrix, classes=["a", "b", "c"], sources=NAMES)
    places = st.integers(-3, 2)
    column = data.draw(
        st.one_of(
            places,
            st.slices(3),
            st.lists(st.sampled_from([0, 1, 2]), min_size=1, unique=True),
            st.lists(st.booleans(), min_size=3, max_size=3).map(np.array),
        )
    )
    row = data.draw(
        st.one_of(
            st.slices(len(rows)), st.lists(st.integers(0, len(rows) - 1), unique=True, min_size=1)
        )
    )
    picked = votes[row, column]
    expected = matrix[row][:, [column] if isinstance(column, int) else column]
    assert np.array_equal(picked.matrix, expected)
    assert picked.sources == tuple(np.array(NAMES)[[column] if isinstance(column, int) else column])
    named = [NAMES[j] for j in range(3)[column]] if isinstance(column, slice) else picked.sources
    if len(named):
        assert np.array_equal(votes[row, list(named)].matrix, expected)
    assert np.array_equal(votes[row, ...].matrix, matrix[row])


def test_one_source_by_its_name() -> None:
    votes = Votes.from_array([[0, -1, 1], [1, 1, -1]], sources=NAMES)
    assert votes[:, "praise"].matrix.tolist() == [[-1], [1]]
    assert votes[0, 0].matrix.tolist() == [[0]]


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ((slice(None), "link"), "did you mean 'links'"),
        ((slice(None), 3), "there is no source 3"),
        ((slice(None), [0.5]), "names no sources"),
        ((slice(None), [True]), "one flag for each of 3 sources"),
        ((slice(None), None), "there is no source None"),
        ((0, 0, 0), "two dimensions"),
        ("links", "rows are picked by number"),
        ([True], "one flag for each of 2 rows"),
    ],
)
def test_what_picks_nothing_is_refused(wanted: Any, says: str) -> None:
    votes = Votes.from_array([[0, -1, 1], [1, 1, -1]], sources=NAMES)
    with pytest.raises(InputError, match=says):
        votes[wanted]


def test_soft_votes_and_what_was_not_asked_go_with_their_source() -> None:
    half = np.full((2, 2), 0.5, np.float32)
    votes = replace(
        Votes.from_array([[0, -1], [1, 1]], sources=["a", "b"]),
        soft={"a": half},
        unasked={"b": np.array([True, False])},
    )
    assert votes[:, "a"].soft.keys() == {"a"}
    assert not votes[:, "a"].unasked
    assert votes[:, "b"].unasked["b"].tolist() == [True, False]
    assert not votes[:, "b"].soft


def test_the_callers_array_stays_writeable() -> None:
    matrix = np.array([[0, 1], [1, -1]], np.int8)
    votes = Votes(matrix=matrix, classes=("a", "b"), sources=("s", "t"), ids=pl.Series([0, 1]))
    matrix[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        votes.matrix[0, 0] = 1
    assert np.array(votes, copy=True).flags.writeable


def test_the_ends_of_what_can_be_counted() -> None:
    """127 classes, all sources from either end, and nothing beyond."""
    many = Votes.from_array([[126, -1]])
    assert many.m == 127
    with pytest.raises(InputError, match="votes need 2 to 127 classes, not 128"):
        Votes.from_array([[0, 1]], classes=[str(c) for c in range(128)])
    with pytest.raises(InputError, match="there is no source -3"):
        many[:, -3]
    assert repr(many) == "Votes(1 document × 2 sources, 127 classes, coverage 100.0%)"


def test_abstentions_may_be_any_number_that_is_no_class() -> None:
    votes = Votes.from_array([[0, -1], [2, 1]])
    assert votes.to_array(abstain=3).tolist() == [[0, 3], [2, 1]]
    assert votes.to_array(abstain=-7).tolist() == [[0, -7], [2, 1]]
    assert Votes.from_array([[0, 3], [2, 1]], abstain=3).matrix.tolist() == votes.matrix.tolist()
    for number in (1, 2):
        with pytest.raises(InputError, match=f"{number} cannot mean abstain"):
            votes.to_array(abstain=number)


def test_a_frame_keeps_ids_sources_and_classes() -> None:
    ids = ["d1", "d2", "d3"]
    votes = Votes.from_array([[0, -1], [1, 1], [-1, 0]], classes=["ham", "spam"], ids=ids)
    for frame in (votes.to_frame(), votes.to_frame().lazy(), votes.to_pandas()):
        again = Votes.from_array(frame)
        assert again.matrix.tolist() == votes.matrix.tolist()
        assert (again.sources, again.classes) == (votes.sources, votes.classes)
        assert again.ids.to_list() == ids
    turned = Votes.from_array(votes.to_frame(), classes=["spam", "ham"], sources=["a", "b"])
    assert (turned.matrix.tolist(), turned.sources) == ([[1, -1], [0, 0], [-1, 1]], ("a", "b"))
    with pytest.raises(InputError, match=r"the frame of votes, row 1: the label 'spma' is"):
        Votes.from_array(pl.DataFrame({"a": ["ham", "spma"]}), classes=["ham", "spam"])
    with pytest.raises(InputError, match="no column of votes beside the ids"):
        Votes.from_array(pl.DataFrame({"id": ids}))
    assert Votes.from_array(pl.LazyFrame({"a": [0, 1]})).matrix.tolist() == [[0], [1]]

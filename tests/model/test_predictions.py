"""Predictions as a table."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.planted import planted, quick

from unruly.errors import InputError
from unruly.learner import Heads
from unruly.model.predictions import Predictions, added_schema, free_names
from unruly.votes.votes import Votes

names = st.lists(
    st.sampled_from(["label", "predicted_label", "predicted_label_2", "x"]), unique=True
)


def test_the_table_tells_what_the_heads_say() -> None:
    data = planted()
    answers = quick().fit(data.features, data.votes).predictions(data.features, data.votes)
    frame = answers.to_frame()
    assert frame.columns == [
        "id", "label", "confidence", "probability_c0", "probability_c1", "decided_by", "sources"
    ]  # fmt: skip
    assert frame["id"].to_list() == list(range(200))
    assert frame["confidence"].to_numpy() == pytest.approx(answers.proba.max(axis=1))
    best = frame.select(pl.max_horizontal("^probability_.*$")).to_series()
    assert (best == frame["confidence"]).all()
    assert frame["sources"].list.len().to_list() == data.votes.voted.sum(axis=1).tolist()
    assert frame["sources"].to_list() == answers.voters
    assert frame["label"].to_list() == answers.labels
    assert frame["decided_by"].to_list() == answers.decided_by


def test_the_schema_is_that_of_the_table() -> None:
    data = planted(n=20)
    columns = quick().fit(data.features, data.votes).predictions(data.features).columns()
    assert dict(columns.schema) == added_schema(["c0", "c1"])


def test_no_documents_make_an_empty_table_of_the_same_schema() -> None:
    none = np.zeros((0, 2), dtype=np.float32)
    heads = Heads(none, none, none, np.zeros(0, np.int8), np.zeros((0, 1), np.float32))
    votes = Votes.from_array(np.zeros((0, 1), dtype=int), classes=["c0", "c1"])
    assert dict(Predictions(heads, votes).columns().schema) == added_schema(["c0", "c1"])


def test_answers_and_votes_must_fit() -> None:
    one = np.full((1, 2), 0.5, dtype=np.float32)
    heads = Heads(one, one, one, np.zeros(1, np.int8), np.zeros((1, 1), np.float32))
    with pytest.raises(InputError, match="do not fit votes on 2 documents"):
        Predictions(heads, Votes.from_array([[0], [1]]))


@given(names)
def test_no_column_of_the_users_is_overwritten(taken: list[str]) -> None:
    new = free_names(["label", "confidence"], taken)
    assert not set(new.values()) & set(taken)
    assert len(set(new.values())) == 2

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import RuleError
from unruly.rules.column import Column
from unruly.rules.condition import TEXT, AllOf, AnyOf, Needs, Not, spans_of
from unruly.rules.keywords import Keywords, WordSequence

A, B = Keywords(["a"]), Keywords(["b"])


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=4).map(" ".join))
def test_logic(text: str) -> None:
    frame = pl.DataFrame({TEXT: [text]})
    a, b = "a" in text, "b" in text
    for condition, expected in (
        (AllOf((A, B)), a and b),
        (AnyOf((A, B)), a or b),
        (Not(A), not a),
        (AllOf((A, Not(B))), a and not b),
        (Not(AnyOf((A, B))), not (a or b)),
    ):
        assert frame.select(condition.mask()).to_series()[0] == expected


def test_spans_come_from_the_parts_that_say_yes() -> None:
    assert spans_of(AllOf((A, B)), {TEXT: "b a"}) == ((0, 1), (2, 3))
    assert spans_of(AllOf((A, Not(B))), {TEXT: "a"}) == ((0, 1),)
    assert spans_of(Not(A), {TEXT: "b"}) == ()


def test_nothing_and_votes_cannot_be_combined() -> None:
    with pytest.raises(RuleError, match="at least one"):
        AllOf(())
    with pytest.raises(RuleError, match="picks the class itself"):
        Not(Column("vendor"))
    with pytest.raises(RuleError, match="picks the class itself"):
        AnyOf((A, WordSequence(["a"], ["b"], negators=["n"], negated="flip")))


def test_needs_name_every_column_once() -> None:
    vendor = Column("vendor").needs(("ham", "spam"))
    assert (vendor + Needs(("stars",))).all_columns == ("vendor", "stars")
    assert Needs((), vendor.measures).all_columns == ("vendor",)
    assert Needs().all_columns == ()

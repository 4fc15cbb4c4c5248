from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import RuleError
from unruly.rules.condition import TEXT
from unruly.rules.length import Length


@given(
    st.lists(st.text(alphabet="aé中 \n.", max_size=12), min_size=1),
    st.integers(0, 5),
    st.integers(0, 5),
)
def test_same_as_python(texts: list[str], a: int, b: int) -> None:
    low, high = min(a, b), max(a, b)
    frame = pl.DataFrame({TEXT: texts})
    words = frame.select(Length(min_words=low, max_words=high).mask()).to_series().to_list()
    chars = frame.select(Length(min_chars=low, max_chars=high).mask()).to_series().to_list()
    assert words == [low <= len(text.split()) <= high for text in texts]
    assert chars == [low <= len(text) <= high for text in texts]


def test_no_bound_and_impossible_bounds() -> None:
    with pytest.raises(RuleError, match="needs a bound"):
        Length()
    with pytest.raises(RuleError, match="at least 5 and at most 2 words"):
        Length(min_words=5, max_words=2)

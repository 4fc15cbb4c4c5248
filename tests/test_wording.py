"""Words for messages: short lines, and names that are looked up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import InputError
from unruly.wording import index_of, shortened


@given(st.text(max_size=1000), st.integers(1, 200))
def test_a_shortened_text_is_one_line_that_stays_as_it_is(text: str, most: int) -> None:
    short = shortened(text, most)
    assert len(short) <= most
    assert len(short.splitlines()) <= 1
    assert shortened(short, most) == short


def test_a_misspelt_name_is_refused_with_a_suggestion() -> None:
    with pytest.raises(InputError, match="there is no class 'spma': did you mean 'spam'"):
        index_of("spma", ("ham", "spam"), "class")

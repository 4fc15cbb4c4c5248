"""Words for messages: short lines, and names that are looked up."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import InputError
from unruly.wording import index_of, near_file, shortened


@given(st.text(max_size=1000), st.integers(1, 200))
def test_a_shortened_text_is_one_line_that_stays_as_it_is(text: str, most: int) -> None:
    short = shortened(text, most)
    assert len(short) <= most
    assert len(short.splitlines()) <= 1
    assert shortened(short, most) == short


def test_a_misspelt_name_is_refused_with_a_suggestion() -> None:
    with pytest.raises(InputError, match="there is no class 'spma': did you mean 'spam'"):
        index_of("spma", ("ham", "spam"), "class")


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("nosuch.csv", ""),  # it shares no more than its ending with votes.csv
        ("vote.csv", "did you mean votes.csv?"),
        ("votes.tsv", "did you mean votes.csv?"),
        ("votes", "did you mean votes.csv?"),
        ("Votes.csv", "did you mean votes.csv?"),
    ],
)
def test_a_missing_file_is_compared_without_its_ending(
    tmp_path: Path, typed: str, hint: str
) -> None:
    for name in ("votes.csv", "x.csv"):
        (tmp_path / name).write_text("")
    if not (tmp_path / typed).exists():  # where case does not matter
        assert near_file(tmp_path / typed) == hint

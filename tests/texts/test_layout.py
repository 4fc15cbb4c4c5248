"""Which column is the text."""

from __future__ import annotations

import polars as pl
import pytest

from unruly.errors import InputError
from unruly.texts.layout import find_layout

STRING, NUMBER = pl.String(), pl.Int64()


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        (["text", "comment"], "text"),
        (["COMMENT_ID", "AUTHOR", "CONTENT"], "CONTENT"),
        (["title_of_song", "Review"], "Review"),
        (["whatever"], "whatever"),
        (["entity1", "entity2", "sentence"], "sentence"),
    ],
)
def test_obvious_text_columns_are_found(columns: list[str], text: str) -> None:
    schema: dict[str, pl.DataType] = {"n": NUMBER, **dict.fromkeys(columns, STRING)}
    assert find_layout(schema, name="x").text == text


def test_the_only_string_beside_the_named_ones_is_the_text() -> None:
    schema: dict[str, pl.DataType] = {"key": STRING, "words": STRING, "kind": STRING}
    layout = find_layout(schema, name="x", id="key", label="kind")
    assert layout.text == "words"
    assert layout.own == {"key", "words", "kind"}


def test_many_candidates_are_listed_shortly() -> None:
    schema: dict[str, pl.DataType] = {f"c{i}": STRING for i in range(20)}
    with pytest.raises(InputError, match=r"one of c0, c1, .*, c11 and 8 more\)"):
        find_layout(schema, name="x")

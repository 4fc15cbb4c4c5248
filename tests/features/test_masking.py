"""Only whole words are masked, whatever their case and whatever signs they have."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import settings as bounded
from hypothesis import strategies as st

from unruly.features.masking import without


@bounded(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(["Word1", "word10", "word2", "über", "x"]), max_size=8))
def test_whole_words_only_whatever_their_case(words: list[str]) -> None:
    left = without(pl.Series([" ".join(words)]), ("word1", "über"))[0].split()
    assert left == [word for word in words if word.lower() not in {"word1", "über"}]


@pytest.mark.parametrize(
    ("mask", "text", "left"),
    [
        (("check out",), "Check out my check", "my check"),
        (("sub", "subscribe now"), "subscribe now, sub", ","),
        ((":-)", "c++", "a.b"), "c++ :-) a.b axb", "axb"),
        (("don't",), "don't don", "don"),
        (("喜欢",), "我 喜欢 这", "我 这"),
        (("#win", "$5"), "#win $5 $50", "$50"),
    ],
)
def test_phrases_and_signs(mask: tuple[str, ...], text: str, left: str) -> None:
    assert " ".join(without(pl.Series([text]), mask)[0].split()) == left


@bounded(max_examples=100, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=5), st.text(max_size=30))
def test_any_word_makes_a_pattern(words: list[str], text: str) -> None:
    try:
        "".join(words).encode()
        series = pl.Series([text])
    except UnicodeEncodeError:
        return
    assert len(without(series, tuple(words))) == 1


def test_no_words_no_change() -> None:
    texts = pl.Series(["a", None])
    assert without(texts, ()) is texts
    assert without(texts, ("a",)).to_list() == [" ", None]

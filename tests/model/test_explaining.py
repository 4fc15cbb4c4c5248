"""The words that an answer hangs on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from unruly.model.explaining import telling_words

asked: list[int] = []


def by_length(texts: Sequence[str]) -> NDArray[np.float32]:
    asked.append(len(texts))
    share = np.array([len(text) for text in texts], dtype=np.float32) / 1000
    return np.column_stack([1 - share, share])


@given(st.text(max_size=200))
def test_spans_are_the_words(text: str) -> None:
    for word in telling_words(text, by_length, 1, count=50):
        assert text[word.start : word.end] == word.text
        assert word.text.strip() == word.text


def test_greatest_change_first_and_signs_kept() -> None:
    words = telling_words("a bbbb cc", by_length, 1)
    assert [word.text for word in words] == ["bbbb", "cc", "a"]
    assert words[0].effect == 0.004
    assert telling_words("a bbbb cc", by_length, 0)[0].effect == -0.004


def test_a_long_text_is_taken_in_runs_of_words() -> None:
    asked.clear()
    text = " ".join(["word"] * 5000)
    words = telling_words(text, by_length, 1, count=1000, most=100)
    assert asked == [101]
    assert len(words) == 100
    covered = sorted((word.start, word.end) for word in words)
    assert covered[0][0] == 0
    assert covered[-1][1] == len(text)
    assert sum(len(word.text.split()) for word in words) == 5000


def test_an_empty_text_has_no_words() -> None:
    assert telling_words("", by_length, 0) == ()
    assert telling_words(" \n ", by_length, 0) == ()


def test_punctuation_and_scripts_without_blanks() -> None:
    def words(text: str) -> list[str]:
        found = telling_words(text, by_length, 1, count=50)
        return [word.text for word in sorted(found, key=lambda word: word.start)]

    assert words("Don't stop!!! well-made.") == ["Don't", "stop", "!!!", "well-made"]
    assert words("歌が好き") == ["歌", "が", "好", "き"]

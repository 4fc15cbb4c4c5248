"""Every text that comes back can be written as UTF-8, and one that could be before is as it was."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from unruly.texts.surrogates import without_surrogates


@given(st.text(st.characters(codec="utf-8")))
def test_a_text_without_halves_stays(text: str) -> None:
    assert without_surrogates(text) == text


@given(st.text(st.characters()))
def test_all_that_comes_back_is_utf_8(text: str) -> None:
    found = without_surrogates(text)
    assert found.encode().decode() == found
    assert without_surrogates(found) == found


def test_halves_are_replaced_and_pairs_joined() -> None:
    assert without_surrogates("a\ud800b\udc00") == "a�b�"
    assert without_surrogates("\ud83d\ude00") == "😀"

"""Near copies come last, and nothing is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from unruly.texts.alike import MOST_COMPARED, unlike_first


@given(
    st.lists(
        st.sampled_from(
            ["", "my pen is lost", "my pen is gone", "is it open", "12", "книга", "本"]
        ),
        max_size=2 * MOST_COMPARED,
    )
)
def test_every_row_comes_once(texts: list[str]) -> None:
    found = list(unlike_first(range(len(texts)), texts.__getitem__))
    assert sorted(found) == list(range(len(texts)))
    assert found[:1] == [0][: len(texts)], "the foremost stays the first"


def test_letters_from_one_template_do_not_fill_the_page() -> None:
    letters = [f"Dear library team, may I bring the short loan {i} back at noon?" for i in range(9)]
    texts = [*letters, "the printer jams", "are you open on Sunday?", ""]
    found = list(unlike_first(range(len(texts)), texts.__getitem__))
    assert found[:4] == [0, 9, 10, 11]
    assert found[4:] == list(range(1, 9))


def test_a_text_without_words_and_one_that_is_missing_are_alike() -> None:
    texts: list[str | None] = ["12", None, "a"]
    assert list(unlike_first(range(3), texts.__getitem__)) == [0, 2, 1]

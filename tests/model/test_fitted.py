"""Documents that repeat training documents."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unruly.model.fitted import repeated, row_digests
from unruly.texts.corpus import text_digests


@given(st.lists(st.text(max_size=30), max_size=20), st.lists(st.text(max_size=30), max_size=20))
def test_repeats_are_those_that_a_set_would_find(new: list[str], old: list[str]) -> None:
    plain = [" ".join(text.casefold().split()) for text in old]
    expected = [" ".join(text.casefold().split()) in plain for text in new]
    assert repeated(text_digests(new), text_digests(old)).tolist() == expected


def test_rows_of_features() -> None:
    rows = np.array([[1, 2], [3, 4], [1, 2]], dtype=np.float32)
    digests = row_digests(rows)
    assert digests[0] == digests[2] != digests[1]
    assert repeated(row_digests(rows[:2]), row_digests(rows[1:2])).tolist() == [False, True]


def test_digests_are_the_same_for_ever() -> None:
    assert text_digests(["nice song"]).tolist() == [13219208827568848680]

"""Batches of texts of one length: every row once, no batch over its budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from unruly.features.tokens import batches, clean


@given(st.lists(st.integers(1, 40), max_size=60), st.integers(1, 100))
def test_every_row_once_one_length_a_batch(lengths: list[int], budget: int) -> None:
    found = batches(lengths, budget)
    assert sorted(row for batch in found for row in batch.tolist()) == list(range(len(lengths)))
    for batch in found:
        sizes = {lengths[row] for row in batch}
        assert len(sizes) == 1
        assert len(batch) == 1 or len(batch) * sizes.pop() <= budget


@given(st.text(alphabet=st.characters(), max_size=20))
def test_cleaned_texts_can_be_written(text: str) -> None:
    clean(text).encode()
    assert len(clean(text)) == len(text)

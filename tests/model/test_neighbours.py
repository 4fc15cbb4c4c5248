"""The nearest training documents."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.model.planted import planted, quick

from unruly.model.fitted import unit_length
from unruly.sampling import sample_rows


def test_a_training_document_is_its_own_nearest() -> None:
    data = planted()
    model = quick().fit(data.features, data.votes)
    for row in (0, 17, 199):
        first = model.explain(data.features[row], data.matrix[row]).neighbours[0]
        assert first.id == row
        assert first.similarity > 0.99
        assert len(first.votes) == data.votes.voted[row].sum()
        assert first.text is None


def test_nearest_by_cosine_as_worked_out_in_full() -> None:
    data = planted()
    model = quick().fit(data.features, data.votes)
    new = planted(n=1, seed=9).features[0]
    cosine = unit_length(data.features) @ unit_length(new[None])[0]
    found = [near.id for near in model.explain(new).neighbours]
    assert set(found) <= set(np.argsort(-cosine)[:7].tolist())  # half precision may swap near-ties


def test_no_more_documents_are_kept_than_asked_for() -> None:
    data = planted()
    few = quick().set_params(keep_documents=10).fit(data.features, data.votes)
    assert len(few.explain(data.features[0], neighbours=50).neighbours) == 10
    none = quick().set_params(keep_documents=0).fit(data.features, data.votes)
    assert none.explain(data.features[0]).neighbours == ()


@given(st.integers(0, 300), st.integers(0, 300), st.integers(0, 5))
def test_the_sample_is_drawn_by_the_seed_in_order(n: int, most: int, seed: int) -> None:
    rows = sample_rows(n, most, seed)
    assert len(rows) == min(n, most)
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(rows, sample_rows(n, most, seed))

"""Intervals of shares."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from unruly.statistics import clopper_pearson


@given(st.integers(1, 40), st.floats(0.01, 0.99))
def test_the_exact_interval_holds_in_95_of_100_samples(n: int, share: float) -> None:
    found = [clopper_pearson(hits, n) for hits in range(n + 1)]
    inside = [hits for hits, one in enumerate(found) if one.low <= share <= one.high]
    assert sum(binom.pmf(hits, n, share) for hits in inside) >= 0.95 - 1e-9


@given(st.floats(0, 1), st.floats(0.1, 50))
def test_the_share_is_in_its_interval_also_of_parts_of_documents(share: float, n: float) -> None:
    found = clopper_pearson(share * n, n)
    assert 0 <= found.low <= found.value + 1e-9
    assert found.value - 1e-9 <= found.high <= 1


def test_nothing_is_known_of_no_document() -> None:
    assert clopper_pearson(0, 0).interval is None
    assert clopper_pearson(0, 3).low == 0
    assert clopper_pearson(3, 3).high == pytest.approx(1)

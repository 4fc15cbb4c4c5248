"""Intervals of shares."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom

from unruly.statistics import (
    clopper_pearson_low,
    effective_size,
    posterior_share,
    sampling_variance,
)


@given(st.integers(1, 40), st.floats(0.01, 0.99), st.floats(0.01, 0.5))
def test_the_lower_bound_is_above_the_share_in_no_more_samples_than_its_tail(
    n: int, share: float, tail: float
) -> None:
    above = [hits for hits in range(n + 1) if clopper_pearson_low(hits, n, tail) > share]
    assert sum(binom.pmf(hits, n, share) for hits in above) <= tail + 1e-9


@given(st.floats(0, 1), st.floats(0.1, 50))
def test_the_share_is_in_its_interval_also_of_parts_of_documents(share: float, n: float) -> None:
    found = posterior_share(share, n)
    assert 0 <= found.low <= found.value <= found.high <= 1


@given(st.floats(0, 1), st.floats(0, 100))
def test_the_variance_is_that_of_a_beta_distribution(share: float, n: float) -> None:
    assert sampling_variance(share, n) == pytest.approx(
        beta(share * n + 1, (1 - share) * n + 1).var()
    )


def test_correlated_documents_tell_less_the_more_they_are() -> None:
    assert effective_size(1, 0.03) == 1
    assert effective_size(0.5, 0.03) == 0.5  # part of a soft vote
    assert effective_size(2, 0.03) == pytest.approx(2 / 1.03)
    assert effective_size(10**9, 0.03) == pytest.approx(1 / 0.03, rel=1e-6)


def test_nothing_is_known_of_no_document() -> None:
    none = posterior_share(0.5, 0)
    assert np.isnan(none.value)
    assert (none.low, none.high, str(none)) == (0, 1, "no documents")

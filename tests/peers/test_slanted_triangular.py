"""The schedule by hand, from the formula of Howard and Ruder (2018)."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import SettingsError
from unruly.peers.slanted_triangular import SlantedTriangular, discriminative_rates


def by_hand(t: int, steps: int, cut_frac: float, ratio: float, highest: float) -> float:
    cut = int(steps * cut_frac)
    p = t / cut if t < cut else 1 - (t - cut) / (cut * (1 / cut_frac - 1))
    return highest * (1 + p * (ratio - 1)) / ratio


@pytest.mark.parametrize("t", [0, 1, 99, 100, 101, 999])
def test_the_papers_formula(t: int) -> None:
    rate = 0.01 * SlantedTriangular(1000).share(t)
    assert rate == pytest.approx(by_hand(t, 1000, 0.1, 32, 0.01))


def test_the_rate_is_highest_at_the_cut_and_lowest_at_both_ends() -> None:
    plan = SlantedTriangular(400, cut_frac=0.25, ratio=10)
    rates = [plan.share(t) for t in range(401)]
    assert max(rates) == rates[100] == 1.0
    assert rates[0] == pytest.approx(0.1)
    assert rates[400] == pytest.approx(0.1)


@given(st.integers(1, 3000), st.floats(0.01, 0.9), st.floats(1, 100))
def test_the_rate_never_leaves_its_bounds(steps: int, cut_frac: float, ratio: float) -> None:
    plan = SlantedTriangular(steps, cut_frac, ratio)
    for t in {0, 1, steps // 2, steps - 1}:
        assert 1 / ratio - 1e-9 <= plan.share(t) <= 1 + 1e-9


def test_each_layer_learns_2_6_times_slower_than_the_one_above() -> None:
    rates = discriminative_rates(0.01, 4)
    assert rates[-1] == 0.01
    for lower, upper in pairwise(rates):
        assert upper / lower == pytest.approx(2.6)


@pytest.mark.parametrize(("cut", "ratio"), [(0.0, 32), (1.0, 32), (0.1, 0.5)])
def test_nonsense_is_refused(cut: float, ratio: float) -> None:
    with pytest.raises(SettingsError, match="must"):
        SlantedTriangular(10, cut, ratio)

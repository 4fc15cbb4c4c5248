"""The schedule of step sizes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.recipe.one_cycle import one_cycle


@given(st.integers(2, 500), st.floats(1e-4, 1.0))
def test_it_rises_once_and_falls_once(steps: int, peak: float) -> None:
    rates = [one_cycle(step, steps, peak) for step in range(steps)]
    top = rates.index(max(rates))
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    assert 0 < min(rates) <= max(rates) <= peak * (1 + 1e-9)


def test_a_single_step_is_small() -> None:
    assert one_cycle(0, 1, 1.0) == pytest.approx(0.04)

"""A run with nothing held: what it says of the shares of the classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.recipe.released_run import Drift

SHARE = st.floats(0.02, 0.98)


@given(SHARE, SHARE, st.floats(0, 1))
def test_the_estimate_lies_between_drift_and_votes(mass: float, voted: float, sure: float) -> None:
    drift = Drift(np.array([mass, 1 - mass]), np.array([voted, 1 - voted]), sure)
    low, high = sorted((mass, voted))
    assert low - 1e-9 <= drift.estimate[0] <= high + 1e-9


def test_sure_text_decides_and_doubt_leaves_it_to_the_votes() -> None:
    mass, voted = np.array([0.9, 0.1]), np.array([0.6, 0.4])
    assert Drift(mass, voted, sure=1.0).estimate == pytest.approx(mass)
    assert Drift(mass, voted, sure=0.0).estimate == pytest.approx(voted)

"""The settings of the default: their values, and both ends of their ranges."""

from __future__ import annotations

import pytest

from unruly.denoising.settings import Settings
from unruly.errors import SettingsError


@pytest.mark.parametrize(
    ("field", "usual", "low", "high", "step"),
    [
        ("rounds", 8, 1, 1000, 1),
        ("folds", 3, 2, 100, 1),
        ("tau", 3.0, 1.0, 100.0, 0.01),
        ("l2", 1.0, 0.0, 1e6, 0.01),
        ("threads", 1, 1, 1024, 1),
    ],
)
def test_both_ends_of_a_range_belong_to_it(
    field: str, usual: float, low: float, high: float, step: float
) -> None:
    assert getattr(Settings(), field) == usual
    for value in (low, high):
        assert getattr(Settings(**{field: value}), field) == value  # type: ignore[arg-type]
    for value in (low - step, high + step):
        with pytest.raises(SettingsError, match=f"{field} = "):
            Settings(**{field: value})  # type: ignore[arg-type]


def test_settings_are_given_by_name() -> None:
    with pytest.raises(TypeError, match="positional"):
        Settings(64)  # type: ignore[call-arg]

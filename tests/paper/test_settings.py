"""The paper's hyper-parameters: as printed, and their ranges."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import SettingsError, UnrulyError
from unruly.paper.settings import PaperSettings


def test_the_default_is_the_paper_as_printed() -> None:
    s = PaperSettings()
    found = (s.hidden, s.learning_rate, s.c1, s.c2, s.c3, s.alpha, s.p)
    assert found == (128, 0.02, 0.2, 0.7, 0.1, 0.6, 0)
    assert (s.epochs, s.batch_size, s.selection, s.ablation) == (500, None, "last", "whole")
    assert (s.attention, s.reliability, s.ensemble) == ("all", "per-document", "confident")
    assert (s.weight_decay, s.standardise, s.calibrate, s.patience) == (0.0, False, False, 0)


def test_settings_are_given_by_name() -> None:
    """Numbers in a row would tell a reader nothing, and a new setting would move the others."""
    with pytest.raises(TypeError, match="positional"):
        PaperSettings(64)  # type: ignore[call-arg, arg-type]


@pytest.mark.parametrize(
    ("field", "value", "must"),
    [
        ("hidden", 0, "a whole number from 1 to 65536"),
        ("hidden", 12.5, "a whole number"),
        ("hidden", True, "a whole number"),
        ("learning_rate", math.nan, "a number from"),
        ("learning_rate", "0.1", "a number from"),
        ("alpha", 1.0, "a number from 0 to 0.999"),
        ("ablation", "rules-only", "one of whole, rule-only"),
        ("standardise", 1, "true or false"),
        ("batch_size", 0, "a whole number, 1 or more"),
        ("epochs", None, "a whole number"),
    ],
)
def test_out_of_range_names_field_value_and_range(field: str, value: Any, must: str) -> None:
    with pytest.raises(SettingsError) as caught:
        PaperSettings(**{field: value})
    assert str(caught.value).startswith(f"{field} = {value!r}: must be ")
    assert must in str(caught.value)
    assert isinstance(caught.value, UnrulyError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "low", "high", "step"),
    [
        ("hidden", 1, 65_536, 1),
        ("learning_rate", 1e-6, 1.0, 1e-7),
        ("c1", 0.0, 1.0, 0.01),
        ("c3", 0.0, 1.0, 0.01),
        ("alpha", 0.0, 0.999, 1e-4),
        ("p", 0, 10_000, 1),
        ("epochs", 1, 1_000_000, 1),
        ("weight_decay", 0.0, 1.0, 0.01),
        ("patience", 0, 1_000_000, 1),
    ],
)
def test_both_ends_of_a_range_belong_to_it(
    field: str, low: float, high: float, step: float
) -> None:
    others = {"c1": 0.0, "c3": 0.0}
    for value in (low, high):
        assert getattr(PaperSettings(**(others | {field: value})), field) == value  # type: ignore[arg-type]
    for value in (low - step, high + step):
        with pytest.raises(SettingsError, match=f"{field} = "):
            PaperSettings(**(others | {field: value}))  # type: ignore[arg-type]
    assert PaperSettings(batch_size=10**12).batch_size == 10**12


@given(st.integers(0, 100))
def test_loss_weights_may_add_up_to_one_however_they_are_written(hundredths: int) -> None:
    """0.1 + 0.2 is more than 0.3, and 1 - 0.9 less than 0.1."""
    c1 = hundredths / 100
    for c3 in (1 - c1, (100 - hundredths) / 100, sum([0.01] * (100 - hundredths))):
        assert PaperSettings(c1=c1, c3=min(c3, 1.0)).c2 == pytest.approx(0, abs=1e-9)


def test_loss_weights_must_leave_something() -> None:
    assert PaperSettings(c1=0.5, c3=0.5).c2 == 0
    with pytest.raises(SettingsError, match="together"):
        PaperSettings(c1=0.6, c3=0.5)


@given(
    hidden=st.integers(1, 4096),
    learning_rate=st.floats(1e-6, 1),
    c1=st.floats(0, 0.5),
    c3=st.floats(0, 0.5),
    batch_size=st.none() | st.integers(1, 10**9),
)
def test_plain_and_back(**values: Any) -> None:
    s = PaperSettings(**values)
    assert PaperSettings.from_plain(s.to_plain()) == s
    assert abs(s.c1 + s.c2 + s.c3 - 1) < 1e-6

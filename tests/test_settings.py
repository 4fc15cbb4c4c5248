"""Settings: checked when they are made, read from a table, described for the command line; those of each method."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import SettingsError, UnrulyError, Where
from unruly.settings import (
    Checked,
    Option,
    PaperSettings,
    Range,
    Settings,
    choice,
    number,
    switch,
    whole,
)


@dataclass(frozen=True, kw_only=True)
class Mine(Checked):
    """Settings of every kind."""

    folds: int = whole(3, 2, 100, "parts of the documents held out in turn")
    l2: float = number(1.0, 0.0, 1e6, "penalty of the regressions")
    kind: str = choice("plain", ("plain", "fancy"), "which of the two kinds")
    loud: bool = switch(False, "whether anything is printed")
    most: int | None = whole(None, 1, 10, "the most of them; absent: no limit", optional=True)


def test_frozen() -> None:
    with pytest.raises(AttributeError):
        Mine().folds = 3  # type: ignore[misc]


def test_options_describe_every_field() -> None:
    options = Mine.options()
    assert {option.name for option in options} == set(vars(Mine()))
    for option in options:
        assert option.help
        assert option.default == getattr(Mine(), option.name)
    assert options[0].flag == "--folds"
    assert Option("learning_rate", 0.1, "", None).flag == "--learning-rate"


def test_each_kind_refuses_what_it_is_not() -> None:
    for name, value in (("folds", 1), ("l2", "1"), ("kind", "x"), ("loud", 0), ("most", 11)):
        with pytest.raises(SettingsError, match=f"{name} = "):
            Mine(**{name: value})  # type: ignore[arg-type]
    assert Mine(most=None).most is None


def test_a_plain_table_names_its_place_in_errors() -> None:
    with pytest.raises(SettingsError, match=r"unruly.toml:3: folds = -3: must be"):
        Mine.from_plain({"folds": -3}, Where(file="unruly.toml", line=3))
    with pytest.raises(SettingsError, match="no setting is called 'xyzzy': there are folds, l2"):
        Mine.from_plain({"xyzzy": 1})
    with pytest.raises(SettingsError, match="did you mean 'folds'"):
        Mine.from_plain({"fold": 1})


def test_an_option_of_another_method_says_whose_it_is() -> None:
    with pytest.raises(
        SettingsError, match='hidden is an option of method = "paper": add that line'
    ):
        Mine.from_plain({"hidden": 64}, elsewhere={"hidden": "paper"})


def test_what_is_absent_is_left_out_of_the_table() -> None:
    assert "most" not in Mine().to_plain()
    assert Mine.from_plain(Mine(most=4).to_plain()) == Mine(most=4)


def test_ranges_in_words() -> None:
    assert str(Range(0, 1)) == "a number from 0 to 1"
    assert str(Range(1, whole=True)) == "a whole number, 1 or more"
    assert str(Range(choices=("a", "b"))) == "one of a, b"


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
def test_both_ends_of_a_range_of_the_default_belong_to_it(
    field: str, usual: float, low: float, high: float, step: float
) -> None:
    assert getattr(Settings(), field) == usual
    for value in (low, high):
        assert getattr(Settings(**{field: value}), field) == value  # type: ignore[arg-type]
    for value in (low - step, high + step):
        with pytest.raises(SettingsError, match=f"{field} = "):
            Settings(**{field: value})  # type: ignore[arg-type]


def test_settings_of_the_default_are_given_by_name() -> None:
    with pytest.raises(TypeError, match="positional"):
        Settings(64)  # type: ignore[call-arg]


def test_the_default_is_the_paper_as_printed() -> None:
    s = PaperSettings()
    found = (s.hidden, s.learning_rate, s.c1, s.c2, s.c3, s.alpha, s.p)
    assert found == (128, 0.02, 0.2, 0.7, 0.1, 0.6, 0)
    assert (s.epochs, s.batch_size, s.selection, s.ablation) == (500, None, "last", "whole")
    assert (s.attention, s.reliability, s.ensemble) == ("all", "per-document", "confident")
    assert (s.weight_decay, s.standardise, s.calibrate, s.patience) == (0.0, False, False, 0)


def test_settings_of_the_paper_are_given_by_name() -> None:
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
def test_both_ends_of_a_range_of_the_paper_belong_to_it(
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

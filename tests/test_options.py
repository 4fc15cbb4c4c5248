"""Options: checked when they are made, read from a table, and described for the command line."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from unruly.errors import SettingsError, Where
from unruly.options import Checked, Option, Range, choice, number, switch, whole


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

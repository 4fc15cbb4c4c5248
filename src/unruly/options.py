"""Options of a method: frozen dataclasses whose fields carry a range and a line of help.

A settings class derives from `Checked` and declares its fields with `number`, `whole`, `choice` and
`switch`. The same fields are then checked on construction, read from the project file, and turned into
options of the command line.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from unruly.errors import SettingsError, Where
from unruly.wording import did_you_mean


@dataclass(frozen=True)
class Range:
    """What one option may be: a span of numbers, or one of a few words."""

    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    whole: bool = False  # whole numbers only
    optional: bool = False  # may be absent (None)

    def __str__(self) -> str:
        if self.choices:
            return "one of " + ", ".join(self.choices)
        kind = "a whole number" if self.whole else "a number"
        if self.high == math.inf:
            return f"{kind}, {self.low:g} or more"
        return f"{kind} from {self.low:g} to {self.high:g}"

    def __contains__(self, value: object) -> bool:
        """Whether the value is of the right kind and inside.

        >>> (
        ...     3 in Range(1, 5),
        ...     True in Range(0, 1),
        ...     2.5 in Range(1, 5, whole=True),
        ...     math.nan in Range(),
        ... )
        (True, False, False, False)
        """
        if value is None:
            return self.optional
        if self.choices:
            return value in self.choices
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if self.whole and not isinstance(value, int):
            return False
        return self.low <= value <= self.high  # false for NaN


@dataclass(frozen=True)
class Option:
    """One option as the command line and the docs see it."""

    name: str
    default: Any
    help: str
    range: Range | None  # None for a switch

    @property
    def flag(self) -> str:
        """The name as it is typed.

        >>> Option("learning_rate", 0.02, "step size of Adam", Range(0, 1)).flag
        '--learning-rate'
        """
        return "--" + self.name.replace("_", "-")

    def check(self, value: object) -> None:
        """Refuse a value of the wrong kind or out of range."""
        if self.range is None:
            good, must = isinstance(value, bool), "true or false"
        else:
            good, must = value in self.range, str(self.range)
        if not good:
            raise SettingsError(f"{self.name} = {value!r}: must be {must}", option=self.name)


def number(default: float, low: float, high: float, help: str) -> Any:
    """A field that holds a number from `low` to `high`."""
    return field(default=default, metadata={"range": Range(low, high), "help": help})


def whole(default: int | None, low: int, high: float, help: str, optional: bool = False) -> Any:
    """A field that holds a whole number from `low` to `high`, or None if `optional`."""
    span = Range(low, high, whole=True, optional=optional)
    return field(default=default, metadata={"range": span, "help": help})


def choice(default: str, choices: tuple[str, ...], help: str) -> Any:
    """A field that holds one of a few words."""
    return field(default=default, metadata={"range": Range(choices=choices), "help": help})


def switch(default: bool, help: str) -> Any:
    """A field that is true or false."""
    return field(default=default, metadata={"range": None, "help": help})


@dataclass(frozen=True, kw_only=True)
class Checked:
    """The settings of one method, checked when they are made.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Mine(Checked):
    ...     folds: int = whole(3, 2, 100, "parts of the documents that are held out in turn")
    >>> Mine(folds=1)
    Traceback (most recent call last):
    ...
    unruly.errors.SettingsError: folds = 1: must be a whole number from 2 to 100
    """

    def __post_init__(self) -> None:
        for option in self.options():
            option.check(getattr(self, option.name))

    @classmethod
    def options(cls) -> tuple[Option, ...]:
        """Every option with its default, range and help."""
        return tuple(
            Option(f.name, f.default, f.metadata["help"], f.metadata["range"]) for f in fields(cls)
        )

    @classmethod
    def from_plain(
        cls,
        table: Mapping[str, Any],
        where: Where | None = None,
        elsewhere: Mapping[str, str] | None = None,
    ) -> Self:
        """Settings from a table of the project file; `where` names it in errors.

        `elsewhere` maps options of other methods to the method that has them, so that the error can
        say whose they are.
        """
        names = [option.name for option in cls.options()]
        for key in table:
            if key not in names:
                raise SettingsError(_unknown(key, names, elsewhere or {}), where=where, option=key)
        try:
            return cls(**{str(key): value for key, value in table.items()})
        except SettingsError as error:
            raise (error if where is None else error.located(where)) from None

    def to_plain(self) -> dict[str, Any]:
        """The settings as a table for TOML or JSON; what is absent is left out."""
        values = {option.name: getattr(self, option.name) for option in self.options()}
        return {name: value for name, value in values.items() if value is not None}


def _unknown(key: str, names: list[str], elsewhere: Mapping[str, str]) -> str:
    if key in elsewhere:
        return (
            f'{key} is an option of method = "{elsewhere[key]}": add that line, or leave {key} out'
        )
    return f"no setting is called {key!r}: {did_you_mean(key, names, 'there are')}"

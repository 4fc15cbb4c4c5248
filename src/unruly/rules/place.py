"""Plain values (what TOML and JSON can hold), and reading them with errors that name the place."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from unruly.errors import RuleError

Plain: TypeAlias = "str | int | float | bool | Sequence[Plain] | Mapping[str, Plain]"
Table: TypeAlias = "Mapping[str, Plain]"
Path_ = tuple[str | int, ...]
Where: TypeAlias = Callable[[Path_], str]
# What people write from habit, and what it is called here.
ELSEWHERE = {
    "regex": "pattern",
    "regexp": "pattern",
    "re": "pattern",
    "vote": "label",
    "votes": "label",
    "class": "label",
    "target": "label",
    "words": "keywords",
    "terms": "keywords",
    "case_sensitive": "ignore_case",
}


@dataclass(frozen=True)
class Place:
    """Where in a project file we are reading, so that every complaint can say so."""

    where: Where  # keys from the source's table down -> "unruly.toml, line 12"
    classes: tuple[str, ...]
    folder: Path  # file names are relative to it
    path: Path_ = ()
    rule: str = ""  # 'source "subscribe", rule 1'

    def at(self, *keys: str | int) -> Place:
        """The same place, deeper by some keys."""
        return replace(self, path=(*self.path, *keys))

    def named(self, rule: str) -> Place:
        """The same place, known to readers by this name."""
        return replace(self, rule=rule)

    def error(self, problem: str) -> RuleError:
        """An error that begins with the place."""
        return RuleError(
            ": ".join(part for part in (self.where(self.path), self.rule, problem) if part)
        )

    def only(self, table: Mapping[str, object], known: Sequence[str], what: str) -> None:
        """Refuse a key that is not known, and suggest the nearest, or tell all."""
        for key in table:
            if key not in known:
                meant = ELSEWHERE.get(key, "")
                near = f"; did you mean {meant!r}?" if meant in known else suggestion(key, known)
                told = near or f"; its keys are {', '.join(known)}"
                raise self.at(key).error(f"{key!r} is no key of {what}{told}")

    def table(self, value: object) -> Mapping[str, object]:
        """The value, if it is a table."""
        if not isinstance(value, Mapping):
            raise self.error(f"expected a table in braces, found {shown(value)}")
        return value

    def text(self, value: object) -> str:
        """The value, if it is a text that is not empty."""
        if not isinstance(value, str) or not value:
            raise self.error(f"expected a text in quotes, found {shown(value)}")
        return str(value)

    def texts(self, value: object) -> tuple[str, ...]:
        """The value, if it is a list of texts; a single text counts as a list of one."""
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, Sequence):
            raise self.error(f"expected a list of texts, found {shown(value)}")
        return tuple(self.at(i).text(item) for i, item in enumerate(value))

    def number(self, value: object) -> float:
        """The value, if it is a number."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(f"expected a number, found {shown(value)}")
        return float(value)

    def count(self, value: object) -> int:
        """The value, if it is a whole number from 0."""
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self.error(f"expected a whole number from 0, found {shown(value)}")
        return int(value)

    def flag(self, value: object) -> bool:
        """The value, if it is true or false."""
        if not isinstance(value, bool):
            raise self.error(f"expected true or false, found {shown(value)}")
        return value

    def choice(self, value: object, choices: Sequence[str]) -> str:
        """The value, if it is one of a few words."""
        if value not in choices:
            offered = " or ".join(f'"{c}"' for c in choices)
            raise self.error(
                f"expected {offered}, found {repr(value) if isinstance(value, str) else shown(value)}"
                f"{suggestion(value, choices)}"
            )
        return str(value)

    def label(self, value: object) -> str:
        """The value, if it is one of the task's classes."""
        if value not in self.classes:
            raise self.error(
                f"{repr(value) if isinstance(value, str) else shown(value)} is not a class: the classes are {', '.join(self.classes)}"
                f"{suggestion(value, self.classes)}"
            )
        return str(value)

    def file(self, value: object) -> Path:
        """The path of a file that the value names, if it is there."""
        path = self.folder / self.text(value)
        try:
            found = path.resolve(strict=True)
        except (RuntimeError, OSError) as error:
            loop = isinstance(error, RuntimeError) or "symbolic links" in str(error)
            raise self.error(
                f"the link {value} leads back to itself: point it at a real file"
                if loop
                else f"there is no file {value} in {self.folder}: check the name and the folder"
            ) from None
        if not found.is_file():
            raise self.error(f"{value} is a folder, not a file")
        return path


def suggestion(got: object, known: Sequence[str]) -> str:
    """'; did you mean "keywords"?' where something known is near.

    >>> suggestion("keyword", ["keywords", "pattern"])
    "; did you mean 'keywords'?"
    >>> suggestion("x", ["keywords", "pattern"])
    ''
    """
    near = difflib.get_close_matches(str(got), known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def shown(value: object) -> str:
    """A value as an error shows it: short, and with its type when that is the problem."""
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"

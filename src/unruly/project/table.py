"""A TOML table that knows its lines: values read by type, strange keys refused with a suggestion."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from unruly.errors import ProjectError
from unruly.project.positions import Place, lines_of

_AT_LINE = re.compile(r"^(?P<what>.*) \(at line (?P<line>\d+), column (?P<column>\d+)\)$")
_NAMES: dict[type, str] = {
    str: "a text in quotes",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}


@dataclass(frozen=True)
class Table:
    """One table of the file, with the way down to it."""

    file: str  # as the user named it
    values: Mapping[str, object]
    lines: Mapping[Place, int] = field(default_factory=dict)
    place: Place = ()

    @classmethod
    def parse(cls, text: str, file: str) -> Table:
        """The whole document; a syntax error names its line.

        >>> Table.parse("[task]\\nclasses = ham", "unruly.toml")
        Traceback (most recent call last):
        ...
        unruly.errors.ProjectError: unruly.toml:2: not valid TOML (column 11): Invalid value
        """
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ProjectError(_syntax(file, text, str(error))) from None
        return cls(file, values, lines_of(text))

    @classmethod
    def read(cls, path: Path) -> Table:
        """The document in a file."""
        try:
            return cls.parse(path.read_bytes().decode("utf-8-sig"), str(path))
        except UnicodeDecodeError as error:
            line = path.read_bytes()[: error.start].count(b"\n") + 1
            raise ProjectError(
                f"{path}:{line}: not UTF-8: save the file with that encoding"
            ) from None
        except OSError as error:
            raise ProjectError(f"{path}: cannot be read: {error.strerror}") from None

    def at(self, *steps: str | int) -> str:
        """`file:line` of what stands there, or of the nearest thing around it that has a line."""
        place = (*self.place, *steps)
        while place and place not in self.lines:
            place = place[:-1]
        return f"{self.file}:{self.lines[place]}" if place else self.file

    def error(self, message: str, *steps: str | int) -> ProjectError:
        """An error at that place, to be raised."""
        return ProjectError(f"{self.at(*steps)}: {message}")

    def only(self, known: Collection[str]) -> None:
        """Refuse every key that is not known, with the nearest known one.

        >>> Table.parse("[task]\\nclases = []", "unruly.toml").table("task").only(
        ...     ["classes", "prior"]
        ... )
        Traceback (most recent call last):
        ...
        unruly.errors.ProjectError: unruly.toml:2: unknown key 'clases' in [task]: did you mean 'classes'?
        """
        for key in self.values:
            if key not in known:
                inside = f" in {self.title}" if self.place else ""
                raise self.error(f"unknown key {key!r}{inside}: {suggest(key, known)}", key)

    @property
    def title(self) -> str:
        """`[task]` or `[[source]]`, as in the file."""
        name = ".".join(str(step) for step in self.place if isinstance(step, str))
        return f"[[{name}]]" if isinstance(self.place[-1], int) else f"[{name}]"

    def table(self, key: str) -> Table:
        """The table under a key; an empty one where there is none."""
        return Table(
            self.file, self._dict(self.values.get(key, {}), key), self.lines, (*self.place, key)
        )

    def tables(self, key: str) -> tuple[Table, ...]:
        """The array of tables under a key, `[[key]]`; empty where there is none."""
        found = self.values.get(key, [])
        if isinstance(found, dict):
            raise self.error(f"write [[{key}]] with double brackets: there may be several", key)
        if not isinstance(found, list):
            raise self._wrong(key, found, list)
        return tuple(
            Table(self.file, self._dict(item, key, i), self.lines, (*self.place, key, i))
            for i, item in enumerate(found)
        )

    def _dict(self, found: object, *steps: str | int) -> Mapping[str, object]:
        if not isinstance(found, dict):
            raise self._wrong(str(steps[0]), found, dict)
        return found

    def text(self, key: str) -> str | None:
        """The text under a key, or nothing."""
        found = self.values.get(key)
        if found is None:
            return None
        if not isinstance(found, str):
            raise self._wrong(key, found, str)
        if not found:
            raise self.error(f"{key} is empty: write something or leave it out", key)
        return found

    def texts(self, key: str) -> tuple[str, ...]:
        """The list of texts under a key; empty where there is none."""
        found = self.values.get(key, [])
        if not isinstance(found, list):
            raise self._wrong(key, found, list)
        for i, item in enumerate(found):
            if not isinstance(item, str):
                raise self.error(
                    f"{key}: expected {_NAMES[str]}, found {found_as(item)}: write {str(item)!r}",
                    key,
                    i,
                )
        return tuple(found)

    def _wrong(self, key: str, found: object, expected: type) -> ProjectError:
        return self.error(f"{key}: expected {_NAMES[expected]}, found {found_as(found)}", key)


def suggest(key: str, known: Collection[str]) -> str:
    """What a misspelt word was probably meant to be; else all that it may be.

    >>> suggest("keyword", ["keywords", "pattern"]), suggest("foo", ["keywords", "pattern"])
    ("did you mean 'keywords'?", 'expected one of keywords, pattern')
    """
    near = get_close_matches(key, list(known), n=1)
    return f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(known)}"


def found_as(value: object) -> str:
    """A value in an error: its kind, and itself when short.

    >>> found_as(3), found_as({"a": 1}), found_as("x" * 50)
    ('a whole number, 3', 'a table', 'a text in quotes')
    """
    kind = _NAMES.get(type(value), f"a {type(value).__name__}")
    if isinstance(value, dict | list):
        return kind
    shown = str(value).lower() if isinstance(value, bool) else repr(value)
    return f"{kind}, {shown}" if len(shown) < 40 else kind


def _syntax(file: str, text: str, message: str) -> str:
    match = _AT_LINE.match(message)
    if match:
        return f"{file}:{match['line']}: not valid TOML (column {match['column']}): {match['what']}"
    line = text.rstrip("\n").count("\n") + 1
    return f"{file}:{line}: not valid TOML: {message.removesuffix(' (at end of document)')} (at the end of the file)"

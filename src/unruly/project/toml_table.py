"""A TOML file that knows its lines: values read by type, strange keys refused with a suggestion.

The standard parser does not give the line of a key or a list item, so the text is scanned for it.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from unruly.errors import ProjectError, Where
from unruly.wording import did_you_mean

Place = tuple[str | int, ...]  # ("source", 1, "rule", 0, "keywords"): a way down into the document

_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}\n#]*")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
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
        unruly.errors.ProjectError: unruly.toml:2: not valid TOML (column 11): Invalid value: text needs quotes: "ham"
        """
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise _syntax(file, text, str(error)) from None
        return cls(file, values, lines_of(text))

    @classmethod
    def read(cls, path: Path) -> Table:
        """The document in a file."""
        try:
            return cls.parse(path.read_bytes().decode("utf-8-sig"), str(path))
        except UnicodeDecodeError as error:
            line = path.read_bytes()[: error.start].count(b"\n") + 1
            raise ProjectError(
                "not UTF-8: save the file with that encoding", where=Where(str(path), line)
            ) from None
        except OSError as error:
            raise ProjectError(
                f"cannot be read: {error.strerror}", where=Where(str(path))
            ) from None

    def where(self, *steps: str | int) -> Where:
        """File and line of a place, or of the nearest one around it that has a line."""
        place = (*self.place, *steps)
        while place and place not in self.lines:
            place = place[:-1]
        return Where(self.file, self.lines.get(place))

    def error(self, message: str, *steps: str | int) -> ProjectError:
        """An error at that place, to be raised."""
        return ProjectError(message, where=self.where(*steps))

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
                raise self.error(
                    f"unknown key {key!r}{inside}: {did_you_mean(key, known, 'expected one of')}",
                    key,
                )

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


def _syntax(file: str, text: str, message: str) -> ProjectError:
    """The parser's complaint; its line is known from its text alone."""
    match = _AT_LINE.match(message)
    if match:
        line, column = int(match["line"]), int(match["column"])
        found = f"not valid TOML (column {column}): {match['what']}"
        hint = _remedy(text.split("\n")[line - 1].removesuffix("\r"), column - 1, match["what"])
        return ProjectError(found + (hint and f": {hint}"), where=Where(file, line))
    line = text.rstrip("\n").count("\n") + 1
    found = message.removesuffix(" (at end of document)")
    return ProjectError(
        f"not valid TOML: {found} (at the end of the file)", where=Where(file, line)
    )


def _remedy(line: str, at: int, what: str) -> str:
    r"""What most likely is wrong with a line that the parser stopped at, where that can be told.

    >>> _remedy("train = comments.csv", 8, "Invalid value")
    'text needs quotes: "comments.csv"'
    >>> _remedy("quiet = True", 8, "Invalid value")
    'write true in small letters'
    >>> _remedy(r'train = "C:\users"', 14, "Invalid hex value")
    'a backslash in double quotes begins an escape: use single quotes, or double it'
    """
    if "hex value" in what or "Unescaped" in what:
        return "a backslash in double quotes begins an escape: use single quotes, or double it"
    word = re.match(r"[^\s,#\[\]{}\"'=]+", line[at:])
    if what == "Invalid value" and word:
        if (small := word[0].lower()) in ("true", "false"):
            return f"write {small} in small letters"
        return f'text needs quotes: "{word[0]}"'
    if what == "Invalid value":
        return "a value is missing after the ="
    if what == "Illegal character '\\n'":
        return "a text that begins with a quote must end with one on the same line"
    if what.startswith("Invalid initial character") and not line[at:].strip() and "{" in line:
        return "what stands in { } must be on one line"
    if what == "Unclosed array":
        return "a list ends with ], and has a comma between its items"
    return ""


def lines_of(text: str) -> dict[Place, int]:
    """The line of every key and every list item of a TOML document that is known to be valid.

    >>> lines = lines_of('[task]\\nclasses = [\\n  "ham",\\n  "spam"]')
    >>> lines["task", "classes"], lines["task", "classes", 1]
    (2, 4)
    """
    return _Scanner(text).scan().found


@dataclass(frozen=True)
class Span:
    """Where a pair or a list item is in the text, as offsets."""

    start: int  # of the key, or of the item
    value: int  # where the value begins
    end: int  # behind the value


@dataclass(frozen=True)
class TomlLayout:
    """Where everything is in a TOML document that is known to be valid.

    >>> layout = TomlLayout.of('[task]\\nclasses = ["ham"]')
    >>> layout.spans["task", "classes"], layout.headers
    (Span(start=7, value=17, end=24), {('task',): 0})
    """

    spans: Mapping[Place, Span]  # of pairs and list items
    headers: Mapping[Place, int]  # `[a]` and `[[a]]`: the table -> the offset of its bracket

    @classmethod
    def of(cls, text: str) -> TomlLayout:
        """The layout of a text."""
        scanner = _Scanner(text).scan()
        return cls(scanner.spans, scanner.headers)


class _Scanner:
    """Walks once over the text; remembers where it saw what."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: dict[Place, int] = {}
        self.spans: dict[Place, Span] = {}
        self.headers: dict[Place, int] = {}
        self.lengths: dict[Place, int] = {}  # of the arrays of tables, so far
        self.newlines = [i for i, letter in enumerate(text) if letter == "\n"]

    def scan(self) -> _Scanner:
        table: Place = ()
        self.skip_blank()
        while self.at < len(self.text):
            if self.sees("["):
                table = self.header()
            else:
                self.pair(table)
            self.skip_blank()
        return self

    def header(self) -> Place:
        """`[a.b]` or `[[a.b]]`: the table that the following pairs belong to."""
        start, many = self.at, self.sees("[[")
        self.at += 2 if many else 1
        *parents, last = self.key()
        place: Place = ()
        for name in parents:
            place = self.newest((*place, name), start)
        place = (*place, last)
        if many:
            count = self.lengths.get(place, 0)
            self.lengths[place] = count + 1
            self.note(place, start)
            place = (*place, count)
        self.note(place, start)
        self.headers[place] = start
        self.skip_blank()
        self.at += 2 if many else 1
        return place

    def newest(self, place: Place, start: int) -> Place:
        """A table on the way down; of an array of tables, the last one so far."""
        self.note(place, start)
        return (*place, self.lengths[place] - 1) if place in self.lengths else place

    def pair(self, table: Place) -> None:
        """`key = value`, where the key may be dotted."""
        start, place = self.at, table
        for name in self.key():
            place = (*place, name)
            self.note(place, start)
        self.skip_blank()
        self.at += 1  # the equals sign
        self.value(place, start)

    def key(self) -> list[str]:
        names: list[str] = []
        while True:
            self.skip_blank()
            if quoted := _STRING.match(self.text, self.at):
                names.append(tomllib.loads(f"k = {quoted.group()}")["k"])
                self.at = quoted.end()
            else:
                bare = _BARE_KEY.match(self.text, self.at)
                assert bare is not None, f"no key at {self.at}: the text was not parsed before"
                names.append(bare.group())
                self.at = bare.end()
            self.skip_blank()
            if not self.sees("."):
                return names
            self.at += 1

    def value(self, place: Place, start: int) -> None:
        self.skip_blank()
        begin = self.at
        if self.sees("["):
            self.items(place)
        elif self.sees("{"):
            self.inline_table(place)
        else:
            match = _STRING.match(self.text, self.at) or _SCALAR.match(self.text, self.at)
            assert match is not None
            self.at = begin + len(match.group().rstrip())
        self.spans[place] = Span(start, begin, self.at)

    def items(self, place: Place) -> None:
        self.at += 1
        self.skip_blank()
        count = 0
        while not self.sees("]"):
            self.note((*place, count), self.at)
            self.value((*place, count), self.at)
            count += 1
            self.skip_comma()
        self.at += 1

    def inline_table(self, place: Place) -> None:
        self.at += 1
        self.skip_blank()
        while not self.sees("}"):
            self.pair(place)
            self.skip_comma()
        self.at += 1

    def skip_comma(self) -> None:
        self.skip_blank()
        if self.sees(","):
            self.at += 1
            self.skip_blank()

    def skip_blank(self) -> None:
        blank = _BLANK.match(self.text, self.at)
        assert blank is not None
        self.at = blank.end()

    def sees(self, what: str) -> bool:
        return self.text.startswith(what, self.at)

    def note(self, place: Place, offset: int) -> None:
        self.found.setdefault(place, bisect_right(self.newlines, offset - 1) + 1)

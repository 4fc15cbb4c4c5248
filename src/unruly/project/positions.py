"""On which line of a TOML file each key and each list item stands: the standard parser does not say."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right

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


def lines_of(text: str) -> dict[Place, int]:
    """The line of every key and every list item of a TOML document that is known to be valid.

    >>> lines = lines_of('[task]\\nclasses = [\\n  "ham",\\n  "spam"]')
    >>> lines["task", "classes"], lines["task", "classes", 1]
    (2, 4)
    """
    return _Scanner(text).scan()


class _Scanner:
    """Walks once over the text; remembers where it saw what."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: dict[Place, int] = {}
        self.lengths: dict[Place, int] = {}  # of the arrays of tables, so far
        self.newlines = [i for i, letter in enumerate(text) if letter == "\n"]

    def scan(self) -> dict[Place, int]:
        table: Place = ()
        self.skip_blank()
        while self.at < len(self.text):
            if self.sees("["):
                table = self.header()
            else:
                self.pair(table)
            self.skip_blank()
        return self.found

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
        self.value(place)

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

    def value(self, place: Place) -> None:
        self.skip_blank()
        if self.sees("["):
            self.items(place)
        elif self.sees("{"):
            self.inline_table(place)
        else:
            match = _STRING.match(self.text, self.at) or _SCALAR.match(self.text, self.at)
            assert match is not None
            self.at = match.end()

    def items(self, place: Place) -> None:
        self.at += 1
        self.skip_blank()
        count = 0
        while not self.sees("]"):
            self.note((*place, count), self.at)
            self.value((*place, count))
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

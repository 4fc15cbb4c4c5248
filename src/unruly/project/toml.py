"""TOML that knows its lines: values read by type, strange keys refused with a suggestion, and edits that keep the rest.

The standard parser does not give the line of a key or a list item, so the text is scanned for it. An edit takes a text
and gives a text, and leaves everything else as it is: comments, order, quotes, white space. A table may be written under
a header or in braces, a list of tables as `[[headers]]` or in brackets; edits keep to the way that the file has chosen.
Line ends are "\\n" (see `editing`).
"""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
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
_DIGITS = re.compile(r"\d[\d_]*")
_LARGEST = 5_000_000  # bytes of a document; each million takes half a second
_TOO_LARGE = "a whole number has at most 64 bits in TOML, this one has more: make it smaller"
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
            found, large = cls(file, values, lines_of(text)), _too_large(values)
        except tomllib.TOMLDecodeError as error:
            raise _syntax(file, text, str(error)) from None
        except RecursionError:
            raise ProjectError(
                "lists or tables are too deep within each other: write them flatter",
                where=Where(file),
            ) from None
        except ValueError:  # a number of more digits than Python reads
            line = 1 + text[: max(_DIGITS.finditer(text), key=_length).start()].count("\n")
            raise ProjectError(_TOO_LARGE, where=Where(file, line)) from None
        if large is not None:
            raise found.error(_TOO_LARGE, *large)
        return found

    @classmethod
    def read(cls, path: Path) -> Table:
        """The document in a file."""
        try:
            if (size := path.stat().st_size) > _LARGEST:
                raise ProjectError(
                    f"{size:,} bytes, and at most {_LARGEST:,} are read: put long lists of words into files",
                    where=Where(str(path)),
                )
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


def _length(match: re.Match[str]) -> int:
    return len(match[0])


def _too_large(value: object, place: Place = ()) -> Place | None:
    """Where a whole number is that has more than the 64 bits of TOML.

    >>> _too_large({"task": {"prior": [0.5, 2**63]}})
    ('task', 'prior', 1)
    """
    if isinstance(value, int):
        return place if not -(2**63) <= value < 2**63 else None
    inside: dict[str | int, object] = {}
    if isinstance(value, dict | list):
        inside = dict(value.items() if isinstance(value, dict) else enumerate(value))
    found = (_too_large(part, (*place, step)) for step, part in inside.items())
    return next((one for one in found if one is not None), None)


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


LONG = 80  # columns: longer lists get one line for each item
_REST_OF_LINE = re.compile(r"[ \t]*(?:#[^\n]*)?(?=\n|\Z)")
_COMMENT_LINES = re.compile(r"(?:[ \t]*#[^\n]*\n)*")


def toml_value(value: object) -> str:
    """The text of a value: tables in braces, patterns in single quotes.

    >>> print(toml_value({"first": ["my"], "within words": 2}))
    {first = ["my"], "within words" = 2}
    >>> print(toml_value([r"\\d+", True, 0.5]))
    ['\\d+', true, 0.5]
    """
    match value:
        case bool():
            return str(value).lower()
        case str():
            literal = "\\" in value and "'" not in value and value.isprintable()
            return f"'{value}'" if literal else _quoted(value)
        case Mapping():
            pairs = (f"{_key(key)} = {toml_value(inner)}" for key, inner in value.items())
            return f"{{{', '.join(pairs)}}}"
        case list() | tuple():
            items = [toml_value(inner) for inner in value]
            plain = not any(isinstance(inner, Mapping | list | tuple) for inner in value)
            if plain and sum(len(item) + 2 for item in items) > LONG:
                return "[\n" + "".join(f"    {item},\n" for item in items) + "]"
            return f"[{', '.join(items)}]"
        case _:
            return str(value)


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_pairs(values: Mapping[str, object]) -> str:
    """A line `key = value` for each."""
    return "".join(f"{_key(key)} = {toml_value(value)}\n" for key, value in values.items())


def set_key(text: str, table: Place, key: str, value: object) -> str:
    """Give a key of a table a value: in its place if it is there, else behind the table's others.

    >>> print(set_key('[task]\\nprior = "votes"  # guessed\\n', ("task",), "prior", [0.9, 0.1]))
    [task]
    prior = [0.9, 0.1]  # guessed
    <BLANKLINE>
    """
    layout = TomlLayout.of(text)
    place = (*table, key)
    if place in layout.spans:
        span = layout.spans[place]
        return text[: span.value] + toml_value(value) + text[span.end :]
    if _is_written(layout, place):  # as [task.prior], or as task.prior.ham = 0.9
        return set_key(drop_key(text, place), table, key, value)
    if table in layout.headers:
        at = _end_of_pairs(text, layout, table)
        return text[:at] + toml_pairs({key: value}) + text[at:]
    if table in layout.spans:
        return _added_in_braces(text, layout, table, toml_pairs({key: value}).rstrip())
    near = [place for place in layout.spans if place[: len(table)] == table]
    assert len(table) == 1, f"{table}: new tables inside of others are added whole"
    if not near:
        return text + f"\n[{table[0]}]\n" + toml_pairs({key: value})
    at = _line_end(text, layout.spans[max(near, key=lambda p: layout.spans[p].start)].end)
    return text[:at] + f"{table[0]}.{toml_pairs({key: value})}" + text[at:]


def drop_key(text: str, place: Place) -> str:
    """Remove a key and its value, with whatever else is on its lines; nothing happens where it is not there."""
    layout = TomlLayout.of(text)
    if place in layout.spans:
        if any(place[:i] in layout.spans for i in range(1, len(place))):
            return _dropped_from_braces(text, layout, place)
        span = layout.spans[place]
        return text[: _line_start(text, span.start)] + text[_line_end(text, span.end) :]
    for header in reversed([h for h in layout.headers if h[: len(place)] == place]):
        text = cut(text, block(text, header))
    dotted = [p for p in TomlLayout.of(text).spans if p[: len(place)] == place]
    while dotted:
        text = drop_key(text, dotted[0])
        dotted = [p for p in TomlLayout.of(text).spans if p[: len(place)] == place]
    return text


def add_items(text: str, place: Place, values: Sequence[object]) -> str:
    """Add to the end of a list in brackets, on lines of their own where the last one has its own.

    >>> print(add_items('words = [\\n  "a",  # first\\n]\\n', ("words",), ["b"]))
    words = [
      "a",  # first
      "b",
    ]
    <BLANKLINE>
    """
    layout = TomlLayout.of(text)
    new = [toml_value(value) for value in values]
    items = _items(layout, place)
    if not new:
        return text
    if not items:
        at = layout.spans[place].value + 1
        return text[:at] + ", ".join(new) + text[at:]
    last = items[-1]
    comma = _comma(text, last.end)
    at = last.end if comma is None else comma + 1
    before = text[: last.end] + "," + text[last.end : at] if comma is None else text[:at]
    indent = text[_line_start(text, last.start) : last.start]
    if indent.strip():  # the last item shares its line
        return before + " " + ", ".join(new) + ("" if comma is None else ",") + text[at:]
    rest = _REST_OF_LINE.match(text, at)
    ended = rest.end() if rest else at
    lines = ",".join(f"\n{indent}{item}" for item in new) + ("" if comma is None else ",")
    return before + text[at:ended] + lines + text[ended:]


def drop_item(text: str, place: Place, index: int) -> str:
    """Remove one item of a list in brackets, with the comment on its own line."""
    items = _items(TomlLayout.of(text), place)
    span = items[index]
    comma = _comma(text, span.end)
    end = span.end if comma is None else comma + 1
    start = _line_start(text, span.start)
    rest = _REST_OF_LINE.match(text, end)
    if not text[start : span.start].strip() and rest and text[rest.end() : rest.end() + 1]:
        return text[:start] + text[rest.end() + 1 :]
    if index and comma is None and re.fullmatch(r"[ \t,]*", text[items[-2].end : span.start]):
        return text[: items[index - 1].end] + text[end:]
    return text[: span.start] + text[end:].lstrip(" \t")


@dataclass(frozen=True)
class Block:
    """The lines of one table under its header, with the comment directly above it."""

    start: int
    end: int  # behind the last line


def block(text: str, place: Place) -> Block:
    """The lines of a table that is written under a header, with all that is inside it.

    Comments that are set apart by a blank line belong to nobody and stay where they are.
    """
    layout = TomlLayout.of(text)
    begin = layout.headers[place]
    inside = [h for h in layout.headers if h[: len(place)] == place]
    ends = [layout.spans[p].end for p in layout.spans if p[: len(place)] == place]
    last = max([*ends, *(_header_end(text, layout.headers[h]) for h in inside)])
    if any(begin < at < last for h, at in layout.headers.items() if h not in inside):
        raise ProjectError(
            f"[{'.'.join(str(step) for step in place if isinstance(step, str))}] is written in several "
            "parts, with other tables between: bring them together to edit them"
        )
    end = _line_end(text, last)
    comments = _COMMENT_LINES.match(text, end)
    after = comments.end() if comments else end
    if not text.startswith("[", after):  # else the comment is the next table's
        end = after
    above = max([s.end for s in layout.spans.values() if s.end <= begin], default=0)
    return Block(_with_comment(text, begin, above), end)


def cut(text: str, where: Block) -> str:
    """The text without a block, and without the gap that it would leave."""
    before, after = text[: where.start], text[where.end :]
    if not before or before.endswith("\n\n"):
        after = after.lstrip("\n")
    return before.rstrip("\n") + "\n" if before and not after else before + after


def insert_after(text: str, place: Place, new: str) -> str:
    """Put the lines of a new table behind the one at `place`, with blank lines around."""
    there = block(text, place)
    before, after = text[: there.end], text[there.end :]
    space = "\n" if after and not after.startswith("\n") else ""
    return f"{before}\n{new}{space}{after}"


def order_tables(text: str, place: Place, order: Sequence[int]) -> str:
    """The tables, or items, of a list in another order; what is between them stays in its place."""
    layout = TomlLayout.of(text)
    spans = [(s.start, s.end) for s in _items(layout, place)]
    if not spans:
        blocks = [block(text, (*place, i)) for i in range(len(order))]
        spans = [(b.start, b.end) for b in blocks]
    parts = [text[start:end] for start, end in spans]
    for i in reversed(range(len(order))):
        start, end = spans[i]
        text = text[:start] + parts[order[i]] + text[end:]
    return text


def is_list(text: str, place: Place) -> bool:
    """Whether the value there is in brackets or braces after an equals sign, not under [[headers]]."""
    return place in TomlLayout.of(text).spans


def _items(layout: TomlLayout, place: Place) -> list[Span]:
    found: list[Span] = []
    while (*place, len(found)) in layout.spans:
        found.append(layout.spans[(*place, len(found))])
    return found


def _is_written(layout: TomlLayout, place: Place) -> bool:
    known = (*layout.headers, *layout.spans)
    return any(p[: len(place)] == place for p in known)


def _added_in_braces(text: str, layout: TomlLayout, table: Place, pair: str) -> str:
    inner = [s for p, s in layout.spans.items() if _within(p, table)]
    if not inner:
        at = layout.spans[table].value + 1
        return f"{text[:at]} {pair} {text[at:].lstrip(' ')}"
    at = max(span.end for span in inner)
    return f"{text[:at]}, {pair}{text[at:]}"


def _within(place: Place, table: Place) -> bool:
    return len(place) > len(table) and place[: len(table)] == table


def _dropped_from_braces(text: str, layout: TomlLayout, place: Place) -> str:
    span = layout.spans[place]
    comma = _comma(text, span.end)
    if comma is not None:
        return text[: span.start] + text[comma + 1 :].lstrip(" \t")
    before = text[: span.start].rstrip()
    return (before[:-1] if before.endswith(",") else text[: span.start]) + text[span.end :]


def _comma(text: str, at: int) -> int | None:
    """The offset of the comma that follows an item, if one does."""
    blank = _BLANK.match(text, at)
    after = blank.end() if blank else at
    return after if text.startswith(",", after) else None


def _end_of_pairs(text: str, layout: TomlLayout, table: Place) -> int:
    """Behind the last line of a table's own pairs, before the next header."""
    begin = layout.headers[table]
    following = min([at for at in layout.headers.values() if at > begin], default=len(text))
    ends = [s.end for s in layout.spans.values() if begin < s.start < following]
    return _line_end(text, max([*ends, _header_end(text, begin)]))


def _header_end(text: str, start: int) -> int:
    """Behind the brackets of a header: quoted names may hold brackets of their own."""
    quoted = r'"(?:\\.|[^"\\])*"|\'[^\']*\''
    match = re.compile(rf"\[+(?:{quoted}|[^\]\"'])*\]+").match(text, start)
    assert match is not None
    return match.end()


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    """Behind the end of the line, or of the text."""
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _with_comment(text: str, start: int, floor: int) -> int:
    """The start of the comment lines directly above, if there are any; a value may end at `floor`."""
    start = _line_start(text, start)
    while start:
        above = _line_start(text, start - 1)
        if above < floor or not text[above:start].lstrip().startswith("#"):
            break
        start = above
    return start

"""Edits of a TOML text that leave everything else as it is: comments, order, quotes, white space.

Each function takes a text and gives a text. Places are those of `toml_table`: ("source", 1, "rule", 0,
"keywords"). A table may be written under a header or in braces, a list of tables as `[[headers]]` or in
brackets; edits keep to the way that the file has chosen. Line ends are "\\n" (see `editing`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import tomlkit
from tomlkit.items import Item

from unruly.errors import ProjectError
from unruly.project.toml_table import Place, Span, TomlLayout

LONG = 80  # columns: longer lists get one line for each item
_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_REST_OF_LINE = re.compile(r"[ \t]*(?:#[^\n]*)?(?=\n|\Z)")
_COMMENT_LINES = re.compile(r"(?:[ \t]*#[^\n]*\n)*")


def toml_item(value: object) -> Item:
    """A value on the right of an equals sign: tables in braces, patterns in single quotes."""
    if isinstance(value, Mapping):
        braces = tomlkit.inline_table()
        for key, inner in value.items():
            braces.append(key, toml_item(inner))
        return braces
    if isinstance(value, list | tuple):
        items = [toml_item(inner) for inner in value]
        brackets = tomlkit.array()
        brackets.extend(items)
        plain = not any(isinstance(inner, Mapping | list | tuple) for inner in value)
        return brackets.multiline(plain and sum(len(item.as_string()) + 2 for item in items) > LONG)
    if isinstance(value, str):
        literal = "\\" in value and "'" not in value and value.isprintable()
        return tomlkit.string(value, literal=literal)
    return tomlkit.item(value)


def toml_value(value: object) -> str:
    """The text of a value.

    >>> print(toml_value({"first": ["my"], "within_words": 2}))
    {first = ["my"], within_words = 2}
    """
    return toml_item(value).as_string()


def toml_pairs(values: Mapping[str, object]) -> str:
    """A line `key = value` for each."""
    return "".join(f"{key} = {toml_value(value)}\n" for key, value in values.items())


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
        return _added_in_braces(text, layout, table, f"{key} = {toml_value(value)}")
    near = [place for place in layout.spans if place[: len(table)] == table]
    assert len(table) == 1, f"{table}: new tables inside of others are added whole"
    if not near:
        return text + f"\n[{table[0]}]\n" + toml_pairs({key: value})
    at = _line_end(text, layout.spans[max(near, key=lambda p: layout.spans[p].start)].end)
    return text[:at] + f"{table[0]}.{key} = {toml_value(value)}\n" + text[at:]


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

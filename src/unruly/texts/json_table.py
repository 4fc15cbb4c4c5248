"""JSON Lines, plain or gzipped, of any size; and JSON files that hold one array.

Every object is kept as the file spells it, beside its values as columns. The first reading finds the columns: a type that
holds all values under a key, which is a string where no other does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import BadRowError, InputError, Where, warn
from unruly.progress import SILENT, Progress, stage
from unruly.texts.columns import Layout, without_surrogates
from unruly.texts.table import (
    LONGEST_RECORD,
    BadRow,
    Pipe,
    Rows,
    check_read_whole,
    check_utf8,
    empty_file,
    is_utf8,
    no_row_left,
    pieces,
    size_of,
)
from unruly.wording import shortened

MOST_KEYS = 100_000  # different ones in a file
MOST_FIELDS = (
    1_000  # different keys of objects inside objects: with more, they are read as JSON text
)
DEEPEST = 16  # lists and objects inside one another: what is deeper is read as JSON text
# Where a table of all keys would have so many cells, and fewer than 1 in `RARE` filled, rare keys are no columns.
MOST_EMPTY = 5_000_000
RARE = 100
_BLANK = " \t\r\x0b\x0c"
_BETWEEN = re.compile(r"[\s,]*")  # two elements of an array
_LINE_END = re.compile(r"\s*[\r\n]\s*")

Object = dict[str, Any]


@dataclass(frozen=True, eq=False)
class _Part:
    """Some objects of a file, and each as the file spells it."""

    objects: Sequence[Object]
    records: Sequence[str]
    numbers: NDArray[np.int64]  # (rows,): their numbers in the file, from 0
    skipped: tuple[BadRow, ...] = ()

    def without(self, bad: Mapping[int, BadRow]) -> _Part:
        """The part without some of its rows, by their places in it."""
        left = [at for at in range(len(self.objects)) if at not in bad]
        return _Part(
            [self.objects[at] for at in left],
            [self.records[at] for at in left],
            self.numbers[left],
            (*self.skipped, *bad.values()),
        )


class JsonTable:
    """Objects of JSON as rows, and their keys as columns."""

    def __init__(self, name: str, skip: bool) -> None:
        self.name, self.skip = name, skip
        self.rows: int | None = None
        self.schema = self.exact = pl.Schema()
        self.keys: dict[str, _Kind] = {}  # all that were seen
        self._columns: dict[str, str] = {}  # the name of a column -> its key
        self._seen = 0

    @property
    def left_out(self) -> int:
        """How many keys are no columns, because few objects have them."""
        return len(self.keys) - len(self._columns)

    def where(self, row: int) -> Where:
        """Where the user finds the row of this number."""
        return Where(self.name, row=row)

    def _parts(self) -> Iterator[_Part]:
        """All objects in order; standard input has them only once."""
        raise NotImplementedError

    def _see(self, part: _Part) -> None:
        """Note the keys of some objects, and what stands under them."""
        self._seen += len(part.objects)
        for key, values in _by_key(part.objects).items():
            self.keys.setdefault(key, _Kind()).see(values)
        if len(self.keys) > MOST_KEYS:
            raise InputError(
                f"more than {MOST_KEYS:,} different keys: put what differs from object to object into one under a key "
                "of its own",
                where=Where(self.name),
            )

    def _settle(self) -> None:
        """Decide on the columns, by all that was seen."""
        keys = self.keys
        cells, filled = len(keys) * self._seen, sum(kind.count for kind in keys.values())
        if cells > MOST_EMPTY and filled * RARE < cells:
            keys = {key: kind for key, kind in keys.items() if kind.count * RARE >= self._seen}
        self._columns = {_sound(key): key for key in keys}
        kinds = {name: self.keys[key].type() for name, key in self._columns.items()}
        self.schema = self.exact = pl.Schema(kinds)

    def _warn(self) -> None:
        if self.left_out:
            warn(
                f"{self.name}: {self.left_out:,} of {len(self.keys):,} keys are each in fewer than 1 of {RARE} objects: "
                "they are not read as columns",
            )

    def batches(self, layout: Layout, rows: int) -> Iterator[Rows]:
        """All rows in order; a text that is a number or a list in the file is refused."""
        for part in self._parts():
            good = self._with_texts(part, layout.text)
            frame = pl.DataFrame(
                [
                    _series(name, [found.get(key) for found in good.objects], self.keys[key])
                    for name, key in self._columns.items()
                ]
            )
            records, skipped = pl.Series(good.records, dtype=pl.String), good.skipped
            for start in range(0, max(1, frame.height), rows):
                some, numbers = frame.slice(start, rows), good.numbers[start : start + rows]
                yield Rows(some, some, numbers, skipped, records.slice(start, rows))
                skipped = ()

    def _with_texts(self, part: _Part, column: str) -> _Part:
        """The part without rows whose text is something else, where these may be skipped."""
        if self.schema[column] != pl.String:
            return part
        texts = [found.get(self._columns[column]) for found in part.objects]
        if set(map(type, texts)) <= {str, NoneType}:
            return part
        odd = (at for at, text in enumerate(texts) if not (isinstance(text, str) or _absent(text)))
        return self._left(
            part,
            {
                at: f"{column!r} is {_shown(texts[at])}, not a string: write it in quotes"
                for at in odd
            },
        )

    def _left(self, part: _Part, bad: Mapping[int, str]) -> _Part:
        """The part without some of its rows, for these reasons, where they may be skipped."""
        found = {}
        for at, reason in bad.items():
            row = int(part.numbers[at])
            found[at] = BadRow(row, reason, self.where(row))
            if not self.skip:
                raise BadRowError(reason, where=found[at].where)
        return part.without(found) if found else part


class JsonLinesTable(JsonTable):
    """A JSON Lines file that has been parsed once, to find its columns and their types.

    Standard input can be read only once: its first rows decide, and later rows widen the types.
    """

    def __init__(
        self, source: Path | Pipe, skip: bool = False, progress: Progress = SILENT
    ) -> None:
        super().__init__(str(source), skip)
        self.source = source
        self._latest: _Lines | None = None
        skipped: list[BadRow] = []
        if isinstance(source, Pipe):
            self._coming = (self._part(lines) for lines in self._lines())
            self._first = list[_Part]()
            for part in self._coming:
                self._first.append(part)
                self._see(part)
                skipped += part.skipped
                if part.objects:
                    break
        else:
            with stage(progress, f"checking {source}", size_of(source), "bytes"):
                for lines in self._lines():
                    part = self._part(lines)
                    self._see(part)
                    skipped += part.skipped
                    progress.advance(lines.size)
            self.rows = self._seen
        if not self._seen:
            raise no_row_left(source, skipped) if skipped else empty_file(source)
        self._settle()
        self._warn()

    def _parts(self) -> Iterator[_Part]:
        if not isinstance(self.source, Pipe):
            yield from (self._part(lines) for lines in self._lines())
            return
        while self._first:
            yield self._first.pop(0)
        for part in self._coming:
            self._see(part)
            self._settle()
            yield part

    def where(self, row: int) -> Where:
        """The line of the row with this number; of standard input, only recent rows are known."""
        latest = [self._latest] if self._latest is not None else []
        for lines in latest if isinstance(self.source, Pipe) else chain(latest, self._lines()):
            if 0 <= row - lines.number < len(lines.texts):
                return Where(self.name, int(lines.lines[row - lines.number]))
        raise IndexError(row)

    def _lines(self) -> Iterator[_Lines]:
        left, line, number = b"", 1, 0
        for data in pieces(self.source):
            buffer = left + data
            end = buffer.rfind(b"\n") + 1
            if len(buffer) - end > LONGEST_RECORD:
                raise InputError(
                    "a line is longer than 64 MB: write one object a line",
                    where=Where(self.name, line + buffer.count(b"\n")),
                )
            if end:
                lines = self._cut(buffer[:end], line, number)
                yield lines
                number += len(lines.texts)
            line += buffer.count(b"\n", 0, end)
            left = buffer[end:]
        if left:
            yield self._cut(left, line, number)

    def _cut(self, data: bytes, line: int, number: int) -> _Lines:
        if not self.skip:
            check_utf8(data, self.name, line)
        texts = data.decode("utf-8", "surrogateescape").split("\n")
        kept = [(at, text) for at, text in enumerate(texts, line) if text.strip(_BLANK)]
        lines = np.array([at for at, _ in kept], dtype=np.int64)
        return _Lines([text for _, text in kept], lines, number, len(data), is_utf8(data))

    def _part(self, lines: _Lines) -> _Part:
        self._latest = lines
        numbers = lines.number + np.arange(len(lines.texts), dtype=np.int64)
        objects = _parsed_at_once(lines.texts) if lines.utf8 else None
        if objects is not None:
            return _Part(objects, lines.texts, numbers)
        one_by_one = [_parsed(text) for text in lines.texts]
        bad = {at: found for at, found in enumerate(one_by_one) if isinstance(found, str)}
        whole = [{} if isinstance(found, str) else found for found in one_by_one]
        return self._left(_Part(whole, lines.texts, numbers), bad)


@dataclass(frozen=True, eq=False)
class _Lines:
    """Some whole lines of a file, without blank ones."""

    texts: list[str]
    lines: NDArray[np.int64]  # (rows,): the number of each, from 1
    number: int  # the row of the first one, from 0
    size: int  # bytes
    utf8: bool  # False: some line is not


class JsonArrayTable(JsonTable):
    """A file that holds one array, of objects or of texts; null in the place of a text is a row without one."""

    def __init__(self, path: Path, skip: bool = False) -> None:
        super().__init__(str(path), skip)
        check_read_whole(path, path.stat().st_size)
        data = b"".join(pieces(path))
        check_utf8(data, self.name, 1)
        self._part = self._checked(data.decode())
        self._see(self._part)
        self.rows = self._seen
        if not self.rows:
            raise InputError("there is no row: add documents", where=Where(self.name))
        self._settle()
        self._warn()

    def _parts(self) -> Iterator[_Part]:
        yield self._part

    def _checked(self, text: str) -> _Part:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"not JSON: {error}", where=Where(self.name)) from None
        if not isinstance(found, list):
            raise InputError(
                "of JSON one array is read, of objects, [{...}, {...}], or of texts, or one object a line, as .jsonl",
                where=Where(self.name),
            )
        spelt = list(_elements(text, len(found)))
        texts = isinstance(next((one for one in found if one is not None), None), str)
        objects = [{"text": one} if texts else one for one in found]
        if texts:
            spelt = [json.dumps(one) for one in objects]
        expected: tuple[type, ...] = (str, NoneType) if texts else (dict,)
        what = "a text, as the elements before it" if texts else "an object"
        bad = {
            at: f"{_shown(one)} is not {what}: write an array of objects, [{{...}}, {{...}}], or of texts"
            for at, one in enumerate(found)
            if not isinstance(one, expected)
        }
        return self._left(_Part(objects, spelt, np.arange(len(found), dtype=np.int64)), bad)


def json_table(path: Path, skip: bool = False, progress: Progress = SILENT) -> JsonTable:
    """A file that ends in .json: one array or, as other programs name it too, one object a line."""
    first, end, rest = next(pieces(path), b"").lstrip().partition(b"\n")
    if end and rest.strip() and is_utf8(first) and isinstance(_parsed(first.decode()), dict):
        return JsonLinesTable(path, skip, progress)
    return JsonArrayTable(path, skip)


def with_more(record: str, more: str) -> str:
    r"""An object, spelt as it was, with the keys of another one behind its own, and its line end.

    >>> with_more('{"a": 1.50 }\r', '{"b":2}'), with_more("{}", '{"b":2}')
    ('{"a": 1.50 ,"b":2}\r\n', '{"b":2}\n')
    """
    inside = record.rstrip(_BLANK)[:-1]
    comma = "" if inside.strip() == "{" else ","
    return f"{inside}{comma}{more[1:]}" + ("\r\n" if record.endswith("\r") else "\n")


def _parsed_at_once(texts: Sequence[str]) -> list[Object] | None:
    """The object on each line, parsed together, which takes half the time; None where some line is not one object."""
    mark = "-"
    while any(f'"{mark}"' in text for text in texts):  # between two lines, and nowhere else
        mark += "-"
    try:
        found = json.loads("[" + f',"{mark}",'.join(texts) + "]")
    except (ValueError, RecursionError):
        return None
    alone = len(found) == max(0, 2 * len(texts) - 1) and all(one == mark for one in found[1::2])
    return found[::2] if alone and all(type(one) is dict for one in found[::2]) else None


def _parsed(text: str) -> Object | str:
    """The object on a line, or why it is none."""
    try:
        text.encode()
        found = json.loads(text)
    except UnicodeEncodeError:
        return "not valid UTF-8"
    except json.JSONDecodeError as error:
        hint = "a JSON array is not JSON Lines: " if text.lstrip()[:1] == "[" else ""
        return f"not JSON (column {error.colno}: {error.msg}): {hint}write one whole object a line"
    except ValueError:  # Python refuses to read it
        return "a number of more than 4,300 digits"
    except RecursionError:
        return "nested too deeply"
    if not isinstance(found, dict):
        return f"a {type(found).__name__}, not an object: write one object a line"
    return found


def _elements(text: str, count: int) -> Iterator[str]:
    """The elements of an array that is sound, each as it is spelt but on one line.

    >>> list(_elements('[{"a":\\n 1.50}, 2]', 2))
    ['{"a": 1.50}', '2']
    """
    decode, at = json.JSONDecoder().raw_decode, text.index("[") + 1
    for _ in range(count):
        start = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]
        _, at = decode(text, start)
        yield _LINE_END.sub(" ", text[start:at])  # no string holds a bare line end


class _Kind:
    """What stands under one key, as far as the file has been read, and the type that holds all of it."""

    __slots__ = ("count", "fields", "items", "largest", "real", "types")

    def __init__(self) -> None:
        self.count = 0
        self.types: set[type] = set()  # of Python; `object`: read as JSON text
        self.largest = 0  # whole number, regardless of its sign
        self.real = False  # whether some number with a point is not NaN
        self.items: _Kind | None = None  # of lists
        self.fields: dict[str, _Kind] = {}  # of objects

    def see(self, values: Sequence[Any], depth: int = 0) -> None:
        """Take note of more values."""
        self.count += len(values)
        types = set(map(type, values))
        self.types |= types
        if int in types:
            self.largest = max(self.largest, max(abs(v) for v in values if type(v) is int))
        if float in types and not self.real:
            self.real = any(v == v for v in values if type(v) is float)
        if depth == DEEPEST and types & {list, dict}:
            self.types.add(object)
        if object in self.types:
            return
        if list in types:
            self.items = self.items or _Kind()
            self.items.see([one for v in values if type(v) is list for one in v], depth + 1)
        if dict in types:
            for key, inner in _by_key(v for v in values if type(v) is dict).items():
                self.fields.setdefault(key, _Kind()).see(inner, depth + 1)
            if len(self.fields) > MOST_FIELDS:
                self.types.add(object)
                self.fields.clear()

    def _own(self) -> set[type]:
        """The types without null, and without NaN where it stands for null."""
        own = self.types - {NoneType}
        return own - {float} if own > {float} and not self.real else own

    def type(self) -> pl.DataType:
        """The type of a column; a string where numbers would lose digits."""
        own = self._own()
        if not own:
            return pl.Null()
        if own == {bool}:
            return pl.Boolean()
        if own == {int}:
            return pl.Int64() if self.largest < 2**63 else pl.String()
        if own <= {int, float}:
            return pl.Float64() if self.largest <= 2**53 else pl.String()
        if own == {list} and self.items is not None:
            return pl.List(self.items.type())
        if own == {dict} and self.fields:
            return pl.Struct({_sound(key): kind.type() for key, kind in self.fields.items()})
        return pl.String()

    def as_they_are(self) -> bool:
        """Whether polars takes the values as Python has them."""
        own, inner = self.types - {NoneType}, [*self.fields.values()]
        if len(own) > 1 or (self.type() == pl.String and own != {str}):
            return False
        return all(kind.as_they_are() for kind in (inner if self.items is None else [self.items]))


def _by_key(objects: Iterable[Object]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for one in objects:
        for key, value in one.items():
            if key in found:
                found[key].append(value)
            else:
                found[key] = [value]
    return found


def _series(name: str, values: list[Any], kind: _Kind) -> pl.Series:
    dtype = kind.type()
    if not kind.as_they_are():
        values = [_fitted(value, dtype) for value in values]
    try:
        return pl.Series(name, values, dtype=dtype, strict=False)
    except UnicodeEncodeError:  # half of a character, as programs write that cut texts short
        return pl.Series(name, list(map(_sound, values)), dtype=dtype, strict=False)


def _fitted(value: Any, kind: Any) -> Any:
    """A value as a column of this type holds it; in strings, what is none as JSON."""
    if _absent(value):
        return value if kind == pl.Float64 else None
    match kind:
        case pl.String():
            return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        case pl.Float64():
            return float(value)
        case pl.List():
            return [_fitted(one, kind.inner) for one in value]
        case pl.Struct():
            return {
                field.name: _fitted(value.get(field.name), field.dtype) for field in kind.fields
            }
        case _:
            return value


def _absent(value: object) -> bool:
    """Whether there is no value: null, or the NaN that Python writes for it."""
    return value is None or (isinstance(value, float) and value != value)


def _sound(value: Any) -> Any:
    """A value in whose strings � stands for halves of characters."""
    match value:
        case str():
            return without_surrogates(value)
        case list():
            return [_sound(one) for one in value]
        case dict():
            return {_sound(key): _sound(one) for key, one in value.items()}
        case _:
            return value


def _shown(value: object) -> str:
    return shortened(json.dumps(value), 80)

"""What can be done about a critique of the rules: drop a word, disable a source, merge two; or keep things as they are.

A remedy is an edit of `unruly.toml`, from text to text, with comments and layout kept. Refused remedies are kept in
`kept.csv` in the project's folder, one line each, and the critique behind them is not shown again.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from unruly.errors import InputError, Where
from unruly.files import written_whole
from unruly.model.advice import Critique, RepeatedSource, SilentSource, WeakSource, WeakWord
from unruly.project.editing import (
    drop_words,
    merge_source,
    switch_source,
)

Row = TypeVar("Row")
KEPT = "kept.csv"
HEADER = ("kind", "source", "rule", "word", "into")


@dataclass(frozen=True)
class DropWord:
    """Take a word out of a rule's list."""

    kind: ClassVar[str] = "drop_word"
    source: str
    rule: int  # its number in the source, from 1
    word: str

    def __str__(self) -> str:
        return f"drop {self.word!r} from {self.source}"

    def applied(self, text: str) -> str:
        """The project file's text after it."""
        return drop_words(text, self.source, self.rule, [self.word])


@dataclass(frozen=True)
class DisableSource:
    """Leave a source out; its rules stay in the file."""

    kind: ClassVar[str] = "disable_source"
    source: str

    def __str__(self) -> str:
        return f"disable {self.source}"

    def applied(self, text: str) -> str:
        """The project file's text after it."""
        return switch_source(text, self.source, on=False)


@dataclass(frozen=True)
class MergeSource:
    """Put the rules of a source behind those of another."""

    kind: ClassVar[str] = "merge_source"
    source: str
    into: str

    def __str__(self) -> str:
        return f"merge {self.source} into {self.into}"

    def applied(self, text: str) -> str:
        """The project file's text after it."""
        return merge_source(text, self.source, self.into)


Remedy = DropWord | DisableSource | MergeSource
_REMEDIES: dict[str, type[Remedy]] = {
    remedy.kind: remedy for remedy in (DropWord, DisableSource, MergeSource)
}


def remedy_of(critique: Critique) -> Remedy | None:
    """The edit that a critique asks for; None where it needs a person to write or to read something.

    >>> str(remedy_of(SilentSource("links")))
    'disable links'
    """
    match critique:
        case WeakWord():
            if critique.contradicted:
                return None
            return DropWord(critique.source, critique.rule, critique.word)
        case WeakSource():
            return DisableSource(critique.source) if critique.clear else None
        case SilentSource(source=source):
            return DisableSource(source)
        case RepeatedSource(source=source, other=other):
            return MergeSource(source, other)
        case _:
            return None


def remedy_to_plain(remedy: Remedy) -> dict[str, Any]:
    """A remedy as JSON has it: its kind and its values."""
    return {"kind": remedy.kind, **asdict(remedy)}


def remedy_from_plain(plain: Mapping[str, Any]) -> Remedy:
    """A remedy back from JSON, or from a line of `kept.csv`.

    >>> remedy_from_plain(
    ...     {"kind": "drop_word", "source": "a", "rule": "1", "word": "song", "into": ""}
    ... )
    DropWord(source='a', rule=1, word='song')
    """
    kind = _REMEDIES[plain["kind"]]
    values = {field.name: plain[field.name] for field in fields(kind)}
    if "rule" in values:
        values["rule"] = int(values["rule"])
    if not all(values.values()):
        raise ValueError("a value is missing")
    return kind(**values)


def read_kept(folder: Path) -> tuple[Remedy, ...]:
    """The remedies that were refused, from the project's folder."""
    problem = f"not a refused remedy: the columns are {', '.join(HEADER)}"
    return read_rows(folder / KEPT, remedy_from_plain, problem)


def keep(folder: Path, refused: Iterable[Remedy]) -> Path:
    """Refuse remedies: keep them in the project's folder, each once."""
    known = list(read_kept(folder))
    return write_kept(folder, [*known, *(one for one in refused if one not in known)])


def write_kept(folder: Path, refused: Sequence[Remedy]) -> Path:
    """These refusals and no others."""
    return write_rows(folder / KEPT, HEADER, map(remedy_to_plain, refused))


def read_rows(path: Path, parse: Callable[[dict[str, str]], Row], problem: str) -> tuple[Row, ...]:
    """The lines of a small CSV file that people may edit, none where it is not there; `problem` of a line that is no row."""
    if not path.is_file():
        return ()
    found: list[Row] = []
    rows = csv.DictReader(StringIO(path.read_bytes().decode("utf-8-sig")), strict=True)
    try:
        for row in rows:
            found.append(parse(row))
    except (csv.Error, KeyError, TypeError, ValueError) as error:
        where = Where(str(path), len(found) + 2)
        what = "a quote is not closed" if isinstance(error, csv.Error) else problem
        raise InputError(f"{what}; correct the line, or delete it", where=where) from None
    return tuple(found)


def write_rows(path: Path, header: Sequence[str], rows: Iterable[Mapping[str, object]]) -> Path:
    """These lines and no others, whole or not at all."""
    with written_whole(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, header, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def without_kept(critique: Iterable[Critique], kept: Collection[Remedy]) -> tuple[Critique, ...]:
    """The critique without that whose remedy was refused."""
    return tuple(one for one in critique if remedy_of(one) not in kept)

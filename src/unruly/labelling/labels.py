"""`labels.csv`: answers of people, one line each, appended; what is written is never changed.

    id,label,when,by,why,probability,note
    17,spam,2026-11-16T20:31:04.120Z,ada,balance#3f9c21,0.08,
    17,(withdrawn),2026-11-16T20:31:09.412Z,ada,balance#3f9c21,0.08,

A line is on disk before the next document is shown. Git merges such a file line by line, and what it
comes to (`LabelFile.standing`) does not depend on the order of its lines, for each says when it was written.
`why` is how the document was drawn, and in which draw; `probability` with what probability, where that is
known. Two columns suffice, `id` and `label`: files made elsewhere or edited by hand are read as well.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from unruly.errors import InputError, Where
from unruly.files import written_whole
from unruly.labelling.label_lines import (
    Line,
    LineLayout,
    completed,
    continued,
    decoded,
    fit_to_continue,
    read_lines,
)
from unruly.texts.table import check_wide

CANNOT_TELL, SKIPPED, WITHDRAWN = "(cannot tell)", "(skipped)", "(withdrawn)"
NO_CLASS = (CANNOT_TELL, SKIPPED, WITHDRAWN)
FILE_NAME = "labels.csv"
_ENDINGS = (".csv", ".tsv", ".txt", "")


@dataclass(frozen=True)
class Answer:
    """One line: what somebody said about a document."""

    id: str
    label: str  # a class, or one of NO_CLASS
    when: str = ""  # ISO 8601, UTC
    by: str = ""
    why: str = ""  # balance#3f9c21: how it was drawn, and in which draw
    probability: float | None = None  # with which it was drawn; None: not at random, or not known
    note: str = ""

    @property
    def reason(self) -> str:
        """How it was drawn: the part of `why` before the draw.

        >>> Answer("17", "spam", why="source:my links#3f9c21").reason
        'source:my links'
        """
        return self.why.rpartition("#")[0] or self.why

    @classmethod
    def of(cls, cells: Mapping[str, str]) -> Self | None:
        """From a line's values; None where it has no id or no label."""
        own = {name: value.strip() for name, value in cells.items()}
        if not own.get("id") or not own.get("label"):
            return None
        words = {name: own.get(name, "") for name in ("id", "label", "when", "by", "why", "note")}
        return cls(**words, probability=_chance(own.get("probability", "")))

    def values(self) -> dict[str, str]:
        """By column.

        >>> Answer("17", "spam", probability=0.08).values()["probability"]
        '0.08'
        """
        chance = "" if self.probability is None else f"{self.probability:.6g}"
        return {
            "id": self.id,
            "label": self.label,
            "when": self.when,
            "by": self.by,
            "why": self.why,
            "probability": chance,
            "note": self.note,
        }

    def to_line(self) -> str:
        r"""The line of the file, with its end.

        >>> Answer("17", "spam", note='so "funny",\nreally').to_line()
        '17,spam,,,,,"so ""funny"", really"\n'
        """
        return LineLayout().line(self.values())


@dataclass(frozen=True)
class UnreadableLine:
    """A line that is not an answer: cut short, or without an id or a label."""

    line: int
    text: str


@dataclass(frozen=True)
class LabelFile:
    """The answers in a file, in its order; `append` adds one, on disk at once.

    >>> import tempfile
    >>> file = LabelFile.open(Path(tempfile.mkdtemp()) / "labels.csv")
    >>> file = file.append(Answer("17", "spam", by="ada")).append(Answer("4", "ham", by="ada"))
    >>> [answer.label for answer in LabelFile.open(file.path).answers]
    ['spam', 'ham']
    """

    path: Path
    answers: tuple[Answer, ...] = ()
    unreadable: tuple[UnreadableLine, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)  # own name -> the file's, of a column

    @classmethod
    def open(cls, path: str | Path, names: Mapping[str, str] | None = None) -> LabelFile:
        """Read a file; one that is not there yet has no answers.

        `names`, as in `{"id": "key"}`: what its columns are called, where not as we call them.
        """
        file, names = Path(path), names or {}
        if file.is_dir():
            raise InputError("a folder: name a file for the labels", where=Where(str(file)))
        if file.suffix.lower() not in _ENDINGS:
            raise InputError(
                f"labels are kept as CSV, not {file.suffix}: save it as .csv with the columns id and label",
                where=Where(str(file)),
            )
        if not file.exists():
            return cls(file, names=names)
        data = file.read_bytes()
        check_wide(data[:400], str(file))
        answers: list[Answer] = []
        unreadable: list[UnreadableLine] = []
        for line in read_lines(decoded(data), str(file), names):
            answer = Answer.of(line.cells)
            if answer is None:
                unreadable.append(_unreadable(line))
            else:
                answers.append(answer)
        return cls(file, tuple(answers), tuple(unreadable), names)

    def check_writable(self) -> None:
        """Refuse, before anything is asked, a file that answers cannot be written to."""
        file = self.path if self.path.exists() else self.path.parent
        if file.exists() and not os.access(file, os.W_OK):
            what = "the file" if file is self.path else f"the folder {file}"
            raise InputError(
                f"cannot write there: {what} is read-only", where=Where(str(self.path))
            )

    def append(self, *answers: Answer) -> LabelFile:
        """Write lines to the end of the file and wait until they are on disk.

        The file is read anew each time, so what others have written meanwhile stays.
        """
        if not self.path.parent.is_dir():
            raise InputError(
                "cannot write there: there is no such folder", where=Where(str(self.path))
            )
        before = self.path.read_bytes() if self.path.exists() else b""
        if not fit_to_continue(before, self.names):
            before = completed(before, self.names)
            with written_whole(self.path) as part:
                part.write_bytes(before)
        _add(self.path, continued(before, [answer.values() for answer in answers], self.names))
        return replace(self, answers=(*self.answers, *answers))

    def merge(self, others: Iterable[Answer]) -> LabelFile:
        """Append the answers that are not there yet."""
        known = set(self.answers)
        new = [answer for answer in dict.fromkeys(others) if answer not in known]
        return self.append(*new) if new else self

    def standing(self) -> dict[str, tuple[Answer, ...]]:
        """id -> the answers that stand, whatever the order of the lines.

        Of each annotator the latest counts, and none that was withdrawn; several that were written at the same time
        (or without one) stand beside each other.

        >>> answers = Answer("4", "ham", "2026-01-02"), Answer("4", "spam", "2026-01-01")
        >>> [answer.label for answer in LabelFile(Path("labels.csv"), answers).standing()["4"]]
        ['ham']
        """
        groups: dict[tuple[str, str], list[Answer]] = defaultdict(list)
        for answer in self.answers:
            groups[answer.id, answer.by].append(answer)
        found: dict[str, list[Answer]] = defaultdict(list)
        for (own, _), answers in groups.items():
            last = max(moment(answer.when) for answer in answers)
            latest = {answer for answer in answers if moment(answer.when) == last}
            if all(answer.label != WITHDRAWN for answer in latest):
                found[own] += latest
        return {own: tuple(sorted(answers, key=_order)) for own, answers in found.items()}

    def now(self, own: str) -> str:
        """The time for the next line about a document: later than all others, so that it overrides them."""
        others = (moment(answer.when) for answer in self.answers if answer.id == own)
        return timestamp(max(others, default=_NEVER))


def _unreadable(line: Line) -> UnreadableLine:
    return UnreadableLine(line.number, line.text)


def _order(answer: Answer) -> tuple[object, ...]:
    return (
        moment(answer.when),
        answer.by,
        answer.label,
        answer.why,
        str(answer.probability),
        answer.note,
    )


def _chance(text: str) -> float | None:
    """A probability as written, with a comma where a spreadsheet put one; None where it is none."""
    try:
        chance = float(text.replace(",", "."))
    except ValueError:
        return None
    return chance if 0 < chance <= 1 else None


def _add(path: Path, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        while data:
            data = data[os.write(handle, data) :]
        os.fsync(handle)
    finally:
        os.close(handle)


_NEVER = datetime.min.replace(tzinfo=UTC)
_LAST_YEAR = 9000  # later times are mistakes


def timestamp(after: datetime = _NEVER) -> str:
    """The time now, to the millisecond, and later than `after`."""
    now = max(datetime.now(UTC), after + timedelta(milliseconds=1))
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment(when: str) -> datetime:
    """A time as written; what is none counts as before all others.

    >>> moment("2026-11-16T20:31:04Z") < moment("2026-11-16 21:31:05+01:00"), moment("monday").year
    (True, 1)
    """
    try:
        found = datetime.fromisoformat(when.strip())
    except ValueError:
        return _NEVER
    if found.year > _LAST_YEAR:
        return _NEVER
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)

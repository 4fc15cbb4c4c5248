"""`labels.csv`: answers of people, one line each, appended; what is written is never changed.

    id,label,when,by,why,probability,note
    17,spam,2026-11-16T20:31:04.120Z,ada,balance#3f9c21,0.08,
    17,(withdrawn),2026-11-16T20:31:09.412Z,ada,balance#3f9c21,0.08,

A line is on disk before the next document is shown. Git merges such a file line by line, and what it
comes to (`LabelFile.resolve`) does not depend on the order of its lines, for each says when it was written.
`why` is how the document was drawn, and in which draw; `probability` with what probability, where that is
known. Two columns suffice, `id` and `label`: files made elsewhere or edited by hand are read as well.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from unruly.errors import InputError, Where
from unruly.files import written_whole
from unruly.texts.encoding import BOM, check_wide

COLUMNS = ("id", "label", "when", "by", "why", "probability", "note")
CANNOT_TELL, SKIPPED, WITHDRAWN = "(cannot tell)", "(skipped)", "(withdrawn)"
NO_CLASS = (CANNOT_TELL, SKIPPED, WITHDRAWN)
FILE_NAME = "labels.csv"
_CONFLICT = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")  # lines that git leaves in a conflict


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

    @property
    def draw(self) -> str:
        """The draw that it was part of; without a name of its own, all of the same reason are one."""
        return self.why

    def to_line(self) -> str:
        r"""One line of the file, with its end; breaks within a value become blanks.

        >>> Answer("17", "spam", note='so "funny",\nreally').to_line()
        '17,spam,,,,,"so ""funny"", really"\n'
        """
        chance = "" if self.probability is None else f"{self.probability:.6g}"
        cells = (self.id, self.label, self.when, self.by, self.why, chance, self.note)
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow([" ".join(c.splitlines()) for c in cells])
        return text.getvalue()


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

    @classmethod
    def open(cls, path: str | Path) -> LabelFile:
        """Read a file; one that is not there yet has no answers."""
        file = Path(path)
        if file.is_dir():
            raise InputError("a folder: name a file for the labels", where=Where(str(file)))
        if not file.exists():
            return cls(file)
        data = file.read_bytes()
        check_wide(data[:400], str(file))
        answers, unreadable = _parse(_decoded(data), str(file))
        return cls(file, tuple(answers), tuple(unreadable))

    def append(self, *answers: Answer) -> LabelFile:
        """Write lines to the end of the file and wait until they are on disk.

        The file is opened anew each time, so what others have written meanwhile stays.
        """
        before = self.path.read_bytes() if self.path.exists() else b""
        if not _ready(before):
            _complete(self.path, before)
            before = self.path.read_bytes()
        columns, separator = _layout(before)
        lines = [_in_columns(answer, columns, separator) for answer in answers]
        text = "".join(lines) if before.strip() else ",".join(COLUMNS) + "\n" + "".join(lines)
        if b"\r\n" in before:
            text = text.replace("\n", "\r\n")
        if not self.path.parent.is_dir():
            raise InputError(
                "cannot write there: there is no such folder", where=Where(str(self.path))
            )
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(handle, (_mended_end(before) + text).encode())
            os.fsync(handle)
        finally:
            os.close(handle)
        return replace(self, answers=(*self.answers, *answers))

    def merge(self, others: Sequence[Answer]) -> LabelFile:
        """Append the answers that are not there yet."""
        known = set(self.answers)
        new = [answer for answer in dict.fromkeys(others) if answer not in known]
        return self.append(*new) if new else self

    def resolved(self) -> dict[tuple[str, str], Answer]:
        """(id, annotator) -> the answer that stands: the latest; withdrawn ones are left out."""
        latest: dict[tuple[str, str], tuple[datetime, int, Answer]] = {}
        for place, answer in enumerate(self.answers):
            key = (answer.id, answer.by)
            found = (moment(answer.when), place, answer)
            if key not in latest or found[:2] > latest[key][:2]:
                latest[key] = found
        standing = {key: answer for key, (_, _, answer) in latest.items()}
        return {key: answer for key, answer in standing.items() if answer.label != WITHDRAWN}

    def now(self) -> str:
        """The time for the next line: later than all others, so that it overrides them."""
        return timestamp(max((moment(answer.when) for answer in self.answers), default=_NEVER))


_NEVER = datetime.min.replace(tzinfo=UTC)


def timestamp(after: datetime = _NEVER) -> str:
    """The time now, to the millisecond, and later than `after`."""
    now = datetime.now(UTC)
    if after >= now - timedelta(milliseconds=1) and after < now + timedelta(days=1):
        now = after + timedelta(milliseconds=1)
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
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _decoded(data: bytes) -> str:
    """UTF-8 with or without a mark; else as Excel in the west saves it."""
    data = data.removeprefix(BOM)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def _parse(text: str, name: str) -> tuple[list[Answer], list[UnreadableLine]]:
    first = next((line for line in text.splitlines() if line.strip()), "")
    if not first:
        return [], []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(first))
    columns: list[str] | None = None
    answers: list[Answer] = []
    unreadable: list[UnreadableLine] = []
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            break
        except csv.Error as error:  # a NUL, or a field without an end
            unreadable.append(UnreadableLine(reader.line_num, str(error)))
            continue
        if not any(cell.strip() for cell in cells):
            continue
        if columns is None:
            columns = _columns(cells, name)
            continue
        if cells[0].startswith(_CONFLICT) or _columns_again(cells, columns):
            continue
        answer = _answer(dict(zip(columns, cells, strict=False)))
        if answer is None:
            unreadable.append(UnreadableLine(reader.line_num, ",".join(cells)[:80]))
        else:
            answers.append(answer)
    return answers, unreadable


def _separator(header: str) -> str:
    return max((",", ";", "\t"), key=header.count)


def _columns(cells: Sequence[str], name: str) -> list[str]:
    columns = [cell.strip().casefold() for cell in cells]
    missing = [needed for needed in ("id", "label") if needed not in columns]
    if missing:
        raise InputError(
            f"no column is called {missing[0]!r} (there are {', '.join(cells)}): a file of labels begins with "
            f"{','.join(COLUMNS)}",
            where=Where(name, 1),
        )
    return columns


def _columns_again(cells: Sequence[str], columns: Sequence[str]) -> bool:
    """A header in the middle, as files that were joined have it."""
    return [cell.strip().casefold() for cell in cells] == list(columns)


def _answer(cells: dict[str, str]) -> Answer | None:
    own = {name: cells.get(name, "").strip() for name in COLUMNS}
    if not own["id"] or not own["label"]:
        return None
    try:
        chance = float(own["probability"]) if own["probability"] else None
    except ValueError:
        chance = None
    if chance is not None and not 0 < chance <= 1:
        chance = None
    return Answer(**{**own, "probability": chance})  # type: ignore[arg-type]


def _layout(data: bytes) -> tuple[tuple[str, ...], str]:
    """The columns of a file, and what stands between them; ours where it is empty."""
    first = next((line for line in _decoded(data).splitlines() if line.strip()), "")
    if not first:
        return COLUMNS, ","
    separator = _separator(first)
    cells = next(csv.reader([first], delimiter=separator))
    return tuple(cell.strip().casefold() for cell in cells), separator


def _ready(data: bytes) -> bool:
    """Whether lines of ours can be added as they are: UTF-8, and all columns are there."""
    if not data.strip():
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return set(COLUMNS) <= set(_layout(data)[0])


def _complete(path: Path, data: bytes) -> None:
    """Write a file from elsewhere once more, in UTF-8 and with the columns that it lacks."""
    columns, separator = _layout(data)
    more = [name for name in COLUMNS if name not in columns]
    rows = [
        row
        for row in csv.reader(io.StringIO(_decoded(data), newline=""), delimiter=separator)
        if row
    ]
    width = len(rows[0])
    with written_whole(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=separator, lineterminator="\n")
        writer.writerow([*rows[0], *more])
        writer.writerows(
            [*row[:width], *[""] * (width - len(row)), *[""] * len(more)] for row in rows[1:]
        )


def _in_columns(answer: Answer, columns: tuple[str, ...], separator: str) -> str:
    """The line in the order of the file's columns."""
    if columns == COLUMNS and separator == ",":
        return answer.to_line()
    values = dict(zip(COLUMNS, next(csv.reader([answer.to_line()])), strict=True))
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow([values.get(name, "") for name in columns])
    return text.getvalue()


def _mended_end(data: bytes) -> str:
    """What a line that was cut short needs, so that the next begins on its own."""
    if not data or data.endswith(b"\n"):
        return ""
    last = data.rsplit(b"\n", 1)[-1]
    return '"\n' if last.count(b'"') % 2 else "\n"

"""`labels.csv`: people's answers, one line each, appended; a line that was written is never changed.

    id,label,when,by,why,probability,note
    17,spam,2026-11-16T20:31:04.120Z,ada,balance#3f9c21,0.08,
    17,(withdrawn),2026-11-16T20:31:09.412Z,ada,balance#3f9c21,0.08,

A line is on disk before the next document is shown. Git merges such a file line by line, and its meaning
(`LabelFile.standing`) does not depend on the order of its lines, because each has the time when it was written.
`why` is how the document was drawn, and in which draw; `probability` its probability in that draw, where known.

Two columns suffice, `id` and `label`. Files from spreadsheets, editors and git are read as well: commas,
semicolons or tabs; a byte order mark; CRLF; Excel's quoting and its western encoding; columns in any order;
git's conflict markers; a repeated header where files were joined; a last line cut short.
"""

from __future__ import annotations

import csv
import getpass
import io
import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from unruly.errors import InputError, Where
from unruly.files import written_whole
from unruly.findings import UnreadableLine
from unruly.texts.table import BOM, Encoding, whole_encoding

CANNOT_TELL, SKIPPED, WITHDRAWN = "(cannot tell)", "(skipped)", "(withdrawn)"
NO_CLASS = (CANNOT_TELL, SKIPPED, WITHDRAWN)
AGAIN = "contested:"  # before `why`: the document was asked about once more, to settle it
FILE_NAME = "labels.csv"
COLUMNS = ("id", "label", "when", "by", "why", "probability", "note")
_ENDINGS = (".csv", ".tsv", ".txt", "")
_CONFLICT = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")  # lines that git leaves in a conflict


@dataclass(frozen=True)
class Answer:
    """One line: a person's answer about a document."""

    id: str
    label: str  # a class, or one of NO_CLASS
    when: str = ""  # ISO 8601, UTC
    by: str = ""
    why: str = ""  # balance#3f9c21: how it was drawn, and in which draw
    probability: float | None = None  # with which it was drawn; None: not at random, or not known
    note: str = ""

    @property
    def draw(self) -> str:
        """How and in which draw the document was drawn, first of all where it was asked about again.

        >>> Answer("17", "spam", why="contested:balance#3f9c21").draw
        'balance#3f9c21'
        """
        return self.why.removeprefix(AGAIN)

    @property
    def reason(self) -> str:
        """How it was drawn: the part of `draw` before the number of the draw.

        >>> Answer("17", "spam", why="source:my links#3f9c21").reason
        'source:my links'
        """
        return self.draw.rpartition("#")[0] or self.draw

    @property
    def again(self) -> bool:
        """Whether it answers a question that was asked once more, to settle it."""
        return self.why.startswith(AGAIN)

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
        return {**vars(self), "probability": chance}

    def to_line(self) -> str:
        r"""The line of the file, with its end.

        >>> Answer("17", "spam", note='so "funny",\nreally').to_line()
        '17,spam,,,,,"so ""funny"", really"\n'
        """
        return LineLayout().line(self.values())


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
    names: Mapping[str, str] = field(default_factory=dict)  # column names: ours -> the file's

    @classmethod
    def open(cls, path: str | Path, names: Mapping[str, str] | None = None) -> LabelFile:
        """Read a file; one that is not there yet has no answers.

        `names`, as in `{"id": "key"}`: columns that go by other names in the file.
        """
        file, names = Path(path), names or {}
        if file.is_dir():
            raise InputError("a folder: pass a file for the labels", where=Where(str(file)))
        if file.exists() and not file.is_file():
            raise InputError(
                "a pipe or a device: pass a file for the labels", where=Where(str(file))
            )
        if file.suffix.lower() not in _ENDINGS:
            raise InputError(
                f"labels are kept as CSV, not {file.suffix}: save it as .csv with the columns id and label",
                where=Where(str(file)),
            )
        if not file.exists():
            return cls(file, names=names)
        data = file.read_bytes()
        answers: list[Answer] = []
        unreadable: list[UnreadableLine] = []
        for line in read_lines(decoded(data, str(file)), str(file), names):
            answer = Answer.of(line.cells)
            if answer is None:
                unreadable.append(UnreadableLine(line.number, line.text))
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
        before, name = self.path.read_bytes() if self.path.exists() else b"", str(self.path)
        list(read_lines(decoded(before, name), name, self.names))  # refused where it has no end
        if not can_append(before, self.names):
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
        """id -> the answers that are valid, whatever the order of the lines.

        Of each annotator the latest counts, and none that was withdrawn; several that were written at the same time
        (or without one) are all valid. An answer that settles a document counts alone, whoever gave the ones before it.

        >>> answers = Answer("4", "ham", "2026-01-02"), Answer("4", "spam", "2026-01-01")
        >>> [answer.label for answer in LabelFile(Path("labels.csv"), answers).standing()["4"]]
        ['ham']
        """
        groups: dict[tuple[str, str, bool], list[Answer]] = defaultdict(list)
        for answer in self.answers:
            groups[answer.id, answer.by, answer.again].append(answer)
        found: dict[str, list[Answer]] = defaultdict(list)
        for (own, *_), answers in groups.items():
            last = max(moment(answer.when) for answer in answers)
            latest = {answer for answer in answers if moment(answer.when) == last}
            if all(answer.label != WITHDRAWN for answer in latest):
                found[own] += latest
        return {own: tuple(sorted(_settled(some), key=_order)) for own, some in found.items()}

    def now(self, own: str) -> str:
        """The time for the next line about a document: later than all others, so that it overrides them."""
        others = (moment(answer.when) for answer in self.answers if answer.id == own)
        return timestamp(max(others, default=_NEVER))


def _settled(answers: Sequence[Answer]) -> list[Answer]:
    """Without those before the last that settles the document; one that was skipped settles nothing."""
    settling = [moment(a.when) for a in answers if a.again and a.label != SKIPPED]
    since = max(settling, default=_NEVER)
    return [answer for answer in answers if moment(answer.when) >= since]


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
    """A probability, perhaps with a decimal comma; None if it is not one."""
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


def user_name() -> str:
    """Who answers, unless they say otherwise; nothing where this machine has no name for them, as in some containers."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


_NEVER = datetime.min.replace(tzinfo=UTC)
_LAST_YEAR = 9000  # later times are mistakes


def timestamp(after: datetime = _NEVER) -> str:
    """The time now, to the millisecond, and later than `after`."""
    now = max(datetime.now(UTC), after + timedelta(milliseconds=1))
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment(when: str) -> datetime:
    """A time as written; anything else counts as before all others.

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


@dataclass(frozen=True)
class Line:
    """A line that was read: its values by column, none where it could not be split."""

    number: int  # from 1
    cells: Mapping[str, str]
    text: str


@dataclass(frozen=True)
class LineLayout:
    """The columns of a file in their order, and their separator."""

    columns: tuple[str, ...] = COLUMNS
    separator: str = ","

    @classmethod
    def of(cls, text: str) -> Self:
        """From the header; the default where there is none yet.

        >>> LineLayout.of("ID;Label\\n17;spam\\n")
        LineLayout(columns=('id', 'label'), separator=';')
        """
        header = next((line for line in text.splitlines() if _has_content(line)), None)
        if header is None:
            return cls()
        separator = max((",", ";", "\t"), key=header.count)
        cells = next(csv.reader([header], delimiter=separator))
        return cls(tuple(cell.strip().casefold() for cell in cells), separator)

    def named(self, names: Mapping[str, str]) -> LineLayout:
        """The same with columns renamed to ours; `names`: our name -> the file's."""
        other = {given.casefold(): own for own, given in names.items() if own not in self.columns}
        return LineLayout(tuple(other.get(name, name) for name in self.columns), self.separator)

    def is_header(self, cells: Sequence[str]) -> bool:
        """Whether a line names the columns."""
        return tuple(cell.strip().casefold() for cell in cells) == self.columns

    def values(self, cells: Sequence[str], *names: str) -> tuple[str, ...]:
        """What a line has in these columns."""
        found = dict(zip(self.columns, cells, strict=False))
        return tuple(found.get(name, "").strip() for name in names)

    def is_answer(self, cells: Sequence[str], labels: Collection[str]) -> bool:
        """Whether a line looks like an answer: all columns, an id, and a time or one of these labels."""
        own, label, when = self.values(cells, "id", "label", "when")
        if len(cells) != len(self.columns) or not own or not label:
            return False
        return label in labels or moment(when) != _NEVER

    def line(self, values: Mapping[str, str]) -> str:
        r"""One line with its end; breaks within a value become blanks.

        >>> LineLayout(("id", "note"), ";").line({"id": "17", "note": 'so "funny";\nreally'})
        '17;"so ""funny""; really"\n'
        """
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self.separator, lineterminator="\n")
        writer.writerow([" ".join(values.get(name, "").splitlines()) for name in self.columns])
        return text.getvalue()


def _has_content(line: str) -> bool:
    return bool(line.strip()) and not line.startswith(_CONFLICT)


def decoded(data: bytes, name: str = "") -> str:
    """The text of a file, whether UTF-8, UTF-16 or Windows-1252, as western Excel saves it."""
    return data.removeprefix(BOM).decode(whole_encoding(data, name))


def read_lines(text: str, name: str, names: Mapping[str, str] | None = None) -> Iterator[Line]:
    """All lines below the header. `names`: our name -> the file's."""
    layout = LineLayout.of(text)
    columns = layout.named(names or {}).columns
    header = False
    for record in _records(text, name, layout.named(names or {})):
        cells = record.cells
        if record.error:
            yield Line(record.number, {}, record.error)
        elif not any(cell.strip() for cell in cells) or cells[0].startswith(_CONFLICT):
            continue
        elif not header:
            _check_columns(columns, cells, name)
            header = True
        elif not layout.is_header(cells):  # files that were joined have it again
            shown = layout.separator.join(cells)[:80]
            yield Line(record.number, dict(zip(columns, cells, strict=False)), shown)


@dataclass(frozen=True)
class _Record:
    """The cells of a row, which quotes may spread over several lines."""

    number: int  # of its last line, from 1
    cells: list[str]
    error: str = ""  # where it could not be split


def _records(text: str, name: str, layout: LineLayout) -> Iterator[_Record]:
    """All rows, the header too. A quote without an end is refused: it would make one row of all that follow."""
    lines = list(io.StringIO(text, newline=""))
    reader, known = csv.reader(lines, delimiter=layout.separator), set(NO_CLASS)
    while True:
        begun = reader.line_num
        try:
            cells, error = next(reader), ""
        except StopIteration:
            return
        except csv.Error as found:  # a NUL, or a field without an end
            cells, error = [], str(found)
        own = lines[begun : reader.line_num]
        if '"' in own[0] and _runs_on(own, layout, known):
            raise InputError(
                "a quote is opened in this line and not closed, so the rows below it would be taken for one cell: close "
                "it, or take it out; line breaks that belong to a note become blanks",
                where=Where(name, begun + 1),
            )
        known |= {value for value in layout.values(cells, "label") if value}
        yield _Record(reader.line_num, cells, error)


def _runs_on(lines: Sequence[str], layout: LineLayout, known: Collection[str]) -> bool:
    """Whether a row of these lines has a quote without an end, or one that the next row's quote ends.

    A last line that was cut short, without its line break, is another matter: it is ended when more is written.
    """
    several = len(lines) > 1
    try:
        rows = len(list(csv.reader([*lines, "end"], delimiter=layout.separator, strict=several)))
    except csv.Error:
        return several
    if rows == 1:
        return several or lines[0].endswith(("\n", "\r"))
    inside = (next(csv.reader([line], delimiter=layout.separator), []) for line in lines[1:])
    return any(layout.is_answer(cells, known) for cells in inside)


def _check_columns(columns: Sequence[str], cells: Sequence[str], name: str) -> None:
    for needed in ("id", "label"):
        if needed not in columns:
            raise InputError(
                f"no column is called {needed!r} (there are {', '.join(cells)}): a file of labels begins with "
                f"{','.join(COLUMNS)}, of which id and label suffice",
                where=Where(name, 1),
            )


def continued(data: bytes, lines: Sequence[Mapping[str, str]], names: Mapping[str, str]) -> bytes:
    """The bytes that append these lines to a file for which `can_append` holds."""
    layout = LineLayout.of(decoded(data)).named(names)
    text = _mended_end(data)
    if not decoded(data).strip():
        text += layout.line({name: name for name in layout.columns})
    text += "".join(layout.line(line) for line in lines)
    return text.replace("\n", "\r\n" if b"\r\n" in data else "\n").encode()


def can_append(data: bytes, names: Mapping[str, str]) -> bool:
    """Whether lines can be appended as they are: UTF-8, and all columns are there."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    return set(COLUMNS) <= set(LineLayout.of(text).named(names).columns)


def completed(data: bytes, names: Mapping[str, str]) -> bytes:
    """A file from elsewhere, rewritten in UTF-8 with the missing columns added.

    A byte-order mark stays. What was in another encoding gets one: spreadsheets, which write those, need it.
    """
    text = decoded(data)
    layout = LineLayout.of(text)
    known = layout.named(names).columns
    more = [name for name in COLUMNS if name not in known]
    rows = [record.cells for record in _records(text, "", layout.named(names)) if record.cells]
    width = len(layout.columns)
    out = io.StringIO()
    ending = "\r\n" if "\r\n" in text else "\n"
    writer = csv.writer(out, delimiter=layout.separator, lineterminator=ending)
    header = False
    for row in rows:
        if row[0].startswith(_CONFLICT):
            writer.writerow(row)
        elif not header:
            writer.writerow([*row, *more])
            header = True
        elif not layout.is_header(row):
            writer.writerow([*row[:width], *[""] * (width - len(row)), *[""] * len(more)])
    marked = data.startswith(BOM) or whole_encoding(data, "") is not Encoding.UTF_8
    return (BOM if marked else b"") + out.getvalue().encode()


def _mended_end(data: bytes) -> str:
    """What ends a line that was cut short, so that the next one starts on its own."""
    if not data or data.endswith(b"\n"):
        return ""
    last = data.rsplit(b"\n", 1)[-1]
    return '"\n' if last.count(b'"') % 2 else "\n"

"""The lines of a file of labels as text: read whatever spreadsheets, editors and git make of it, and add to it.

Commas, semicolons or tabs; a byte order mark; CRLF; Excel's quoting and its western encoding; columns in any order;
the marks that git leaves in a conflict; a header once more where files were joined; a last line cut short.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from unruly.errors import InputError, Where
from unruly.texts.table import BOM

COLUMNS = ("id", "label", "when", "by", "why", "probability", "note")
_CONFLICT = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")  # lines that git leaves in a conflict


@dataclass(frozen=True)
class Line:
    """A line that was read: its values by column, or what is wrong with it."""

    number: int  # from 1
    cells: Mapping[str, str]
    text: str


@dataclass(frozen=True)
class LineLayout:
    """The columns of a file in their order, and what stands between them."""

    columns: tuple[str, ...] = COLUMNS
    separator: str = ","

    @classmethod
    def of(cls, text: str) -> Self:
        """As the header says; ours where there is none yet.

        >>> LineLayout.of("ID;Label\\n17;spam\\n")
        LineLayout(columns=('id', 'label'), separator=';')
        """
        header = next((line for line in text.splitlines() if _tells(line)), None)
        if header is None:
            return cls()
        separator = max((",", ";", "\t"), key=header.count)
        cells = next(csv.reader([header], delimiter=separator))
        return cls(tuple(cell.strip().casefold() for cell in cells), separator)

    def named(self, names: Mapping[str, str]) -> LineLayout:
        """The same with columns called as we call them, where they go by other names."""
        other = {given.casefold(): own for own, given in names.items() if own not in self.columns}
        return LineLayout(tuple(other.get(name, name) for name in self.columns), self.separator)

    def is_header(self, cells: Sequence[str]) -> bool:
        """Whether a line names the columns."""
        return tuple(cell.strip().casefold() for cell in cells) == self.columns

    def line(self, values: Mapping[str, str]) -> str:
        r"""One line with its end; breaks within a value become blanks.

        >>> LineLayout(("id", "note"), ";").line({"id": "17", "note": 'so "funny";\nreally'})
        '17;"so ""funny""; really"\n'
        """
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self.separator, lineterminator="\n")
        writer.writerow([" ".join(values.get(name, "").splitlines()) for name in self.columns])
        return text.getvalue()


def _tells(line: str) -> bool:
    return bool(line.strip()) and not line.startswith(_CONFLICT)


def decoded(data: bytes) -> str:
    """UTF-8 with or without a mark; else as Excel in the west saves it."""
    data = data.removeprefix(BOM)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def read_lines(text: str, name: str, names: Mapping[str, str] | None = None) -> Iterator[Line]:
    """All lines below the header; one without a cell could not be read. `names`: own name -> the file's."""
    layout = LineLayout.of(text)
    columns = layout.named(names or {}).columns
    header = False
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=layout.separator)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:  # a NUL, or a field without an end
            yield Line(reader.line_num, {}, str(error))
            continue
        if not any(cell.strip() for cell in cells) or cells[0].startswith(_CONFLICT):
            continue
        if not header:
            _check_columns(columns, cells, name, names or {})
            header = True
        elif not layout.is_header(cells):  # files that were joined have it again
            shown = layout.separator.join(cells)[:80]
            yield Line(reader.line_num, dict(zip(columns, cells, strict=False)), shown)


def _check_columns(
    columns: Sequence[str], cells: Sequence[str], name: str, names: Mapping[str, str]
) -> None:
    for needed in ("id", "label"):
        if needed not in columns:
            called = names.get(needed, needed)
            raise InputError(
                f"no column is called {called!r} (there are {', '.join(cells)}): a file of labels begins with "
                f"{','.join(COLUMNS)}, of which id and label suffice",
                where=Where(name, 1),
            )


def continued(data: bytes, lines: Sequence[Mapping[str, str]], names: Mapping[str, str]) -> bytes:
    """What is to be added to a file, so that these lines stand at its end; `fit_to_continue` holds."""
    layout = LineLayout.of(decoded(data)).named(names)
    text = _mended_end(data)
    if not decoded(data).strip():
        text += layout.line({name: name for name in layout.columns})
    text += "".join(layout.line(line) for line in lines)
    return text.replace("\n", "\r\n" if b"\r\n" in data else "\n").encode()


def fit_to_continue(data: bytes, names: Mapping[str, str]) -> bool:
    """Whether lines of ours can be added as they are: UTF-8, and all columns are there."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    return set(COLUMNS) <= set(LineLayout.of(text).named(names).columns)


def completed(data: bytes, names: Mapping[str, str]) -> bytes:
    """A file from elsewhere once more, in UTF-8 and with the columns that it lacks."""
    text = decoded(data)
    layout = LineLayout.of(text)
    known = layout.named(names).columns
    more = [name for name in COLUMNS if name not in known]
    rows = [
        row for row in csv.reader(io.StringIO(text, newline=""), delimiter=layout.separator) if row
    ]
    width = len(layout.columns)
    out = io.StringIO()
    writer = csv.writer(out, delimiter=layout.separator, lineterminator="\n")
    header = False
    for row in rows:
        if row[0].startswith(_CONFLICT):
            writer.writerow(row)
        elif not header:
            writer.writerow([*row, *more])
            header = True
        elif not layout.is_header(row):
            writer.writerow([*row[:width], *[""] * (width - len(row)), *[""] * len(more)])
    return out.getvalue().encode()


def _mended_end(data: bytes) -> str:
    """What a line that was cut short needs, so that the next begins on its own."""
    if not data or data.endswith(b"\n"):
        return ""
    last = data.rsplit(b"\n", 1)[-1]
    return '"\n' if last.count(b'"') % 2 else "\n"

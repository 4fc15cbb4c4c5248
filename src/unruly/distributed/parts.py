"""Parts: runs of rows of Parquet files, small enough for one worker, numbered in the order of the documents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unruly.errors import InputError, Where
from unruly.texts.columns import find_layout
from unruly.texts.frame_table import PARQUET, ParquetPart, open_files, parquet_files
from unruly.texts.stream import CorpusStream
from unruly.texts.table import BadRow, OnBadRow, check_file

ROWS = 20_000  # of a part


@dataclass(frozen=True)
class Part:
    """Rows `start` to `start + rows` of one file."""

    number: int  # among all parts, in the order of the documents
    path: str
    start: int  # in the file
    rows: int
    first: int  # the number of its first row among all documents

    @property
    def name(self) -> str:
        """What is written for it; names sort as parts do."""
        return f"part-{self.number:07}.parquet"

    def open(self, text: str | None, id: str | None, on_bad_row: OnBadRow) -> CorpusStream:
        """Its documents."""
        table = ParquetPart(Path(self.path), self.start, self.rows, self.first)
        layout = find_layout(table.schema, name=table.name, text=text, id=id, label=None)
        return CorpusStream(table, layout, on_bad_row=on_bad_row)


@dataclass(frozen=True)
class Plan:
    """All parts of a file or a folder."""

    parts: tuple[Part, ...]
    rows: int
    broken: tuple[BadRow, ...]  # files that cannot be read

    def to_plain(self) -> list[Any]:
        """As JSON has it: what a run depends on."""
        return [[part.path, part.start, part.rows] for part in self.parts]


def planned(data: Path, rows: int = ROWS, skip: bool = False) -> Plan:
    """Cut a Parquet file, or a folder of them, into parts of at most so many rows."""
    if rows < 1:
        raise InputError(f"{rows} rows a part: at least one is needed")
    files = parquet_files(data) if data.is_dir() else (data,)
    if not files:
        raise InputError("a folder without Parquet files", where=Where(str(data)))
    if not data.is_dir():
        check_file(data)
        if data.suffix.lower() not in PARQUET:
            raise InputError(
                "many machines read Parquet only: convert it, or leave --engine ray out",
                where=Where(str(data)),
            )
    opened = open_files(files, skip)
    if not opened.tables:
        raise opened_nothing(data, opened.broken)
    parts, first = list[Part](), 0
    for table in opened.tables:
        for start in range(0, table.rows, rows):
            size = min(rows, table.rows - start)
            parts.append(Part(len(parts), str(table.path.resolve()), start, size, first + start))
        first += table.rows
    return Plan(tuple(parts), first, opened.broken)


def opened_nothing(data: Path, broken: tuple[BadRow, ...]) -> InputError:
    """No file of a folder can be read."""
    return InputError(
        f"none of its {len(broken)} Parquet files can be read: {broken[0]}", where=Where(str(data))
    )

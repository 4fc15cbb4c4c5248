"""The work of a cluster: data cut into parts of so many rows, and what workers do with a part.

A worker predicts, votes, encodes or draws documents; it writes one file, whole, and reports what it counted.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from unruly.errors import InputError, UnrulyError, Where
from unruly.texts.columns import find_layout
from unruly.texts.corpus import Corpus
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


Counts = dict[str, Any]  # what a part came to: numbers, and words for what went wrong
Write = Callable[[CorpusStream, Path], Counts]  # documents and a path in, counts out
PROBLEM, BROKEN = "problem", "broken"
NUMBER = "unruly_row"  # a column of drawn documents: their numbers among all


@dataclass(frozen=True)
class Columns:
    """Which columns hold what, and what becomes of rows that cannot be used."""

    text: str | None = None
    id: str | None = None
    on_bad_row: OnBadRow = "keep"


@dataclass(frozen=True)
class PartWork:
    """Does one part: reads it, writes its file into a folder that all workers see, and the counts beside it.

    Both are moved into place whole, so that a part that is done twice, because its worker died, is there once.
    """

    folder: str
    columns: Columns
    write: Write

    def __call__(self, item: dict[str, Any]) -> dict[str, Any]:
        part = Part(**item)
        folder = Path(self.folder)
        room = Path(tempfile.mkdtemp(prefix=f".{part.number}-", dir=folder))
        started = time.process_time()
        try:
            counts = self._counts(part, room / part.name)
            counts["cpu"] = time.process_time() - started
            if PROBLEM not in counts:
                (room / "counts").write_text(json.dumps(counts), encoding="utf-8")
                for file in room.glob("*.parquet"):
                    os.replace(file, folder / file.name)
                os.replace(room / "counts", counts_file(folder, part))
        finally:
            shutil.rmtree(room, ignore_errors=True)
        return {"number": part.number, "rows": part.rows, **counts}

    def _counts(self, part: Part, target: Path) -> Counts:
        """The counts of a part; a user error is returned as text, since this may be another machine."""
        c = self.columns
        try:
            return self.write(part.open(c.text, c.id, c.on_bad_row), target)
        except UnrulyError as error:
            here = error.where is not None and error.where.file == part.path
            if isinstance(error, InputError) and here and c.on_bad_row == "skip":
                return {BROKEN: f"{error} ({part.rows:,} rows from row {part.start:,} on left out)"}
            return {PROBLEM: str(error)}


def counts_file(folder: Path, part: Part) -> Path:
    """Where the counts of a part stand, once it is done."""
    return folder / f".{part.name}.json"


@dataclass(frozen=True)
class PredictJob:
    """Every row with its predictions."""

    folder: str
    columns: Columns
    model: str  # its path, which every machine sees
    functions: tuple[str, ...] = ()

    def begin(self) -> PartWork:
        """Load the model."""
        from unruly.model.predictions import predict_stream
        from unruly.model.weak_classifier import load

        model = load(self.model, self.functions or None)

        def write(stream: CorpusStream, target: Path) -> Counts:
            done = predict_stream(model, stream, target)
            counted = ("documents", "covered", "missing", "labels")
            return {**{name: getattr(done, name) for name in counted}, "skipped": len(done.skipped)}

        return PartWork(self.folder, self.columns, write)


@dataclass(frozen=True)
class EncodeJob:
    """Every row with a model's features."""

    folder: str
    columns: Columns
    model: str
    functions: tuple[str, ...] = ()

    def begin(self) -> PartWork:
        """Load the model."""
        from unruly.model.predictions import encode_stream
        from unruly.model.weak_classifier import load

        model = load(self.model, self.functions or None)

        def write(stream: CorpusStream, target: Path) -> Counts:
            done = encode_stream(model, stream, target)
            return {"documents": done.documents, "skipped": len(done.skipped)}

        return PartWork(self.folder, self.columns, write)


@dataclass(frozen=True)
class VoteJob:
    """The votes of a project's rules, as `unruly vote` writes them."""

    folder: str
    columns: Columns
    project: str  # its folder

    def begin(self) -> PartWork:
        """Read the rules."""
        from unruly.project.project import Project
        from unruly.votes.files import write_votes
        from unruly.votes.votes import Votes

        sources = Project.read(self.project).sources

        def write(stream: CorpusStream, target: Path) -> Counts:
            skipped, parts = 0, list[Votes]()
            for corpus in stream:
                parts.append(sources.vote(corpus))
                skipped += len(corpus.skipped)
            votes = Votes.concat(parts)
            write_votes(votes, target)
            covered = int(votes.covered.sum())
            return {"documents": votes.n, "covered": covered, "skipped": skipped}

        return PartWork(self.folder, self.columns, write)


@dataclass(frozen=True)
class DrawJob:
    """Documents drawn by their numbers, or because people labelled them, and the votes of a project's rules on them."""

    folder: str
    columns: Columns
    project: str
    drawn: str  # a Parquet file: the numbers that were drawn, of all documents, in order
    labelled: tuple[str, ...]  # ids

    def begin(self) -> PartWork:
        """Read the rules and the numbers."""
        from unruly.project.project import Project
        from unruly.votes.files import write_votes

        sources = Project.read(self.project).sources
        drawn = pl.read_parquet(self.drawn)["row"].to_numpy()

        def write(stream: CorpusStream, target: Path) -> Counts:
            rows = list(stream.picked(drawn, self.labelled))
            frame = pl.concat(part.frame for part in rows)
            if frame.height:
                number = pl.Series(NUMBER, np.concatenate([part.numbers for part in rows]))
                frame.with_columns(number).write_parquet(target)
                corpus = Corpus.read(target, text=stream.layout.text, id=stream.layout.id or NUMBER)
                write_votes(sources.vote(corpus), votes_file(target))
            return {"documents": frame.height, "skipped": 0}

        return PartWork(self.folder, self.columns, write)


def votes_file(documents: Path) -> Path:
    """Where the votes on drawn documents stand, beside them."""
    return documents.with_name(f"_votes-{documents.name}")

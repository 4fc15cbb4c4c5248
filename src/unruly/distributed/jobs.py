"""What workers do with a part: predict, vote, encode, or draw documents; each writes one file, whole, and tells what it counted."""

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

from unruly.distributed.parts import Part
from unruly.errors import InputError, UnrulyError
from unruly.texts.corpus import Corpus
from unruly.texts.stream import CorpusStream
from unruly.texts.table import OnBadRow

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
        """What the part came to; an error of the user's is told in words, for this is another machine."""
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

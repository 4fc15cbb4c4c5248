"""From a file of documents to a file of features: a stream, written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError, Where
from unruly.model.predictions import free_names
from unruly.progress import SILENT, Progress, stage
from unruly.texts.corpus import Corpus
from unruly.texts.stream import Batch, CorpusStream
from unruly.texts.table import BadRow, OnBadRow
from unruly.texts.writing import RowWriter

BATCH_ROWS = 20_000
COLUMN = "features"


class Encodes(Protocol):
    """Whatever turns a corpus into numbers."""

    @property
    def feature_width(self) -> int:
        """d, how many numbers a document becomes."""

    def encode(self, X: Corpus, *, cached: bool) -> NDArray[np.float32]:
        """(n, d); `cached`: they may be kept on disk."""


@dataclass(frozen=True)
class Encoded:
    """What was written."""

    path: Path
    documents: int
    width: int  # numbers for each document
    column: str  # the name of the added column
    skipped: tuple[BadRow, ...] = ()
    text: str = ""  # the column that was read as the text


def encode_file(
    model: Encodes,
    data: str | Path,
    out: str | Path,
    *,
    text: str | None = None,
    id: str | None = None,
    batch_rows: int = BATCH_ROWS,
    on_bad_row: OnBadRow = "keep",
    progress: Progress = SILENT,
) -> Encoded:
    """Write every row of `data` with a model's features as one more column, a list of numbers, to Parquet."""
    stream = Corpus.scan(data, text=text, id=id, batch_rows=batch_rows, on_bad_row=on_bad_row)
    return encode_stream(model, stream, Path(out), progress)


def encode_stream(
    model: Encodes, stream: CorpusStream, target: Path, progress: Progress = SILENT
) -> Encoded:
    """The same for a file that has been looked through already, or for a part of one."""
    if target.suffix.lower() != ".parquet":
        raise InputError("features are written as .parquet only", where=Where(str(target)))
    name = free_names([COLUMN], stream.table.schema)[COLUMN]
    kind = pl.Array(pl.Float32, model.feature_width)
    run = _Run(model, stream, name, kind)
    with stage(progress, "encoding", stream.rows, "texts"):
        RowWriter(stream, target, {name: kind}).write(run.batches(progress))
    return Encoded(
        target, run.documents, model.feature_width, name, tuple(run.skipped), stream.layout.text
    )


@dataclass
class _Run:
    """One pass over a file, counting what it sees."""

    model: Encodes
    stream: CorpusStream
    name: str
    kind: pl.Array
    documents: int = 0
    skipped: list[BadRow] = field(default_factory=list)

    def batches(self, progress: Progress) -> Iterator[tuple[Batch, pl.DataFrame]]:
        """The rows as they stand in the file, and their features, batch by batch."""
        for batch in self.stream.batches():
            self.skipped += batch.corpus.skipped
            if not len(batch.corpus):
                continue
            values = self.model.encode(batch.corpus, cached=False)
            yield batch, pl.DataFrame({self.name: pl.Series(values, dtype=self.kind)})
            self.documents += len(values)
            progress.advance(len(values))

"""From a file of documents to a file of predictions: a stream, written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import polars as pl

from unruly.model.predictions import Predictions, added_schema, free_names
from unruly.progress import SILENT, Progress, stage
from unruly.texts.corpus import Corpus
from unruly.texts.stream import Batch, CorpusStream
from unruly.texts.table import BadRow, OnBadRow
from unruly.texts.writing import RowWriter, format_of

BATCH_ROWS = 20_000
Missing = Literal["label", "empty"]  # what a row without a text gets


class Predictor(Protocol):
    """Whatever can label a corpus."""

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes, in the order of the probabilities."""

    def predictions(self, documents: Corpus, *, cached: bool) -> Predictions:
        """Everything it says of these documents; `cached`: features may be kept on disk."""


@dataclass(frozen=True)
class Written:
    """What was written."""

    path: Path
    documents: int
    covered: int  # documents with at least one vote
    labels: dict[str, int]  # how many documents were given each class
    columns: dict[str, str]  # each added column -> its name in the file
    missing: int = 0  # rows without a text
    skipped: tuple[BadRow, ...] = ()  # rows that were left out
    text: str = ""  # the column that was read as the text


def predict_file(
    model: Predictor,
    data: str | Path,
    out: str | Path,
    *,
    text: str | None = None,
    id: str | None = None,
    batch_rows: int = BATCH_ROWS,
    on_bad_row: OnBadRow = "keep",
    missing: Missing = "label",
    defuse: bool = False,
    progress: Progress = SILENT,
) -> Written:
    """Label every row of `data`, and write it with its own columns and ours to `out`.

    The ending of `out` tells the format: .csv, .tsv, .jsonl, .ndjson or .parquet. Columns and rows keep
    their order, and every record of a CSV file is written as the bytes that it was; where the data already has a
    column of a name that we add, ours is called `predicted_…`. In CSV, the sources that voted are joined
    by semicolons. A row without a text gets the label of an empty text or, with `missing="empty"`, none. With `defuse`, cells of CSV that a spreadsheet would run as a formula get an apostrophe.
    """
    target = Path(out)
    format_of(target)
    stream = Corpus.scan(data, text=text, id=id, batch_rows=batch_rows, on_bad_row=on_bad_row)
    run = _Run(model, stream, target, missing, defuse)
    with stage(progress, "labelling", stream.rows, "texts"):
        run.writer.write(run.batches(progress))
    return Written(
        target,
        run.documents,
        run.covered,
        run.labels,
        run.names,
        run.missing,
        tuple(run.skipped),
        stream.layout.text,
    )


class _Run:
    """One pass over a file, counting what it sees."""

    def __init__(
        self,
        model: Predictor,
        stream: CorpusStream,
        target: Path,
        blank: Missing,
        defuse: bool,
    ) -> None:
        added = added_schema(model.class_names)
        self.model, self.stream, self.blank = model, stream, blank
        self.names = free_names(added, stream.table.schema)
        flat = format_of(target) in (".csv", ".tsv")
        self.writer = RowWriter(
            stream,
            target,
            {
                self.names[c]: pl.String() if c == "sources" and flat else k
                for c, k in added.items()
            },
            defuse=defuse,
        )
        self.documents = self.covered = self.missing = 0
        self.skipped: list[BadRow] = []
        self.labels = dict.fromkeys(model.class_names, 0)

    def batches(self, progress: Progress) -> Iterator[tuple[Batch, pl.DataFrame]]:
        """The rows as they stand in the file, and our columns, batch by batch."""
        for batch in self.stream.batches():
            self.missing += batch.corpus.missing_count
            self.skipped += batch.corpus.skipped
            if not len(batch.corpus):
                continue
            answers = self.model.predictions(batch.corpus, cached=False)
            added = self._added(answers)
            if self.blank == "empty" and batch.corpus.missing is not None:
                there = pl.Series(~batch.corpus.missing)
                added = added.select(pl.when(there).then(pl.all()))
            self._count(answers, added)
            yield batch, added
            progress.advance(len(answers))

    def _added(self, answers: Predictions) -> pl.DataFrame:
        columns = answers.columns()
        if self.writer.flat:
            columns = columns.with_columns(pl.col("sources").list.join("; "))
        return columns.rename(self.names)

    def _count(self, answers: Predictions, added: pl.DataFrame) -> None:
        self.documents += len(answers)
        self.covered += int(answers.votes.covered.sum())
        for label in added[self.names["label"]].drop_nulls():
            self.labels[label] += 1

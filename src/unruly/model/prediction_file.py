"""From a file of documents to a file of predictions: a stream, written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import polars as pl
from polars.io.plugins import register_io_source

from unruly.errors import InputError
from unruly.files import written_whole
from unruly.model.prediction import Predictions, added_schema, free_names
from unruly.progress import SILENT, Progress, stage
from unruly.texts.corpus import Corpus
from unruly.texts.stream import CorpusStream
from unruly.texts.table import ending

BATCH_ROWS = 20_000
_SINKS: dict[str, Callable[[pl.LazyFrame, Path], None]] = {
    ".csv": lambda frame, path: frame.sink_csv(path, maintain_order=True),
    ".tsv": lambda frame, path: frame.sink_csv(path, separator="\t", maintain_order=True),
    ".jsonl": lambda frame, path: frame.sink_ndjson(path, maintain_order=True),
    ".ndjson": lambda frame, path: frame.sink_ndjson(path, maintain_order=True),
    ".parquet": lambda frame, path: frame.sink_parquet(path, maintain_order=True),
}
_FLAT = (".csv", ".tsv")  # formats without lists


class Predictor(Protocol):
    """Whatever can label a corpus."""

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes, in the order of the probabilities."""

    def predictions(self, documents: Corpus) -> Predictions:
        """Everything it says of these documents."""


@dataclass(frozen=True)
class Written:
    """What was written."""

    path: Path
    documents: int
    covered: int  # documents with at least one vote
    labels: dict[str, int]  # how many documents were given each class
    columns: dict[str, str]  # each added column -> its name in the file


def predict_file(
    model: Predictor,
    data: str | Path,
    out: str | Path,
    *,
    text: str | None = None,
    id: str | None = None,
    batch_rows: int = BATCH_ROWS,
    progress: Progress = SILENT,
) -> Written:
    """Label every row of `data`, and write it with its own columns and ours to `out`.

    The ending of `out` tells the format: .csv, .tsv, .jsonl, .ndjson or .parquet. Columns and rows keep
    their order; where the data already has a column of a name that we add, ours is called
    `predicted_…`. In CSV, the sources that voted are joined by semicolons.
    """
    target = Path(out)
    form = ending(target)
    if form not in _SINKS or target.suffix.lower() == ".gz":
        raise InputError(
            f"{target}: predictions are written as {', '.join(_SINKS)}: choose one of these endings"
        )
    stream = Corpus.scan(data, text=text, id=id, batch_rows=batch_rows)
    if form in _FLAT:
        _refuse_nested(stream, target)
    run = _Run(model, stream, flat=form in _FLAT)
    with written_whole(target) as part, stage(progress, "labelling", stream.rows, "texts"):
        frame = register_io_source(lambda *_: run.frames(progress), schema=run.schema)
        _SINKS[form](frame, part)
    return Written(target, run.documents, run.covered, run.labels, run.names)


def _refuse_nested(stream: CorpusStream, target: Path) -> None:
    for column, kind in stream.table.schema.items():
        if kind.is_nested():
            raise InputError(
                f"{target}: the column {column!r} of {stream.name} holds {kind}, which {target.suffix} "
                "cannot: write .jsonl or .parquet instead"
            )


class _Run:
    """One pass over a file, counting what it sees."""

    def __init__(self, model: Predictor, stream: CorpusStream, *, flat: bool) -> None:
        added = added_schema(model.class_names)
        self.model, self.stream, self.flat = model, stream, flat
        self.own = stream.table.schema
        self.names = free_names(added, self.own)
        kinds = {
            self.names[c]: pl.String() if c == "sources" and flat else k for c, k in added.items()
        }
        self.schema = pl.Schema({**self.own, **kinds})
        self.documents, self.covered = 0, 0
        self.labels = dict.fromkeys(model.class_names, 0)

    def frames(self, progress: Progress) -> Iterator[pl.DataFrame]:
        """The rows with our columns added, batch by batch."""
        for corpus in self.stream:
            answers = self.model.predictions(corpus)
            self._count(answers)
            yield self._rows(corpus).hstack(self._added(answers))
            progress.advance(len(answers))

    def _rows(self, corpus: Corpus) -> pl.DataFrame:
        """The rows as they stood in the file: its columns, in its order."""
        layout = self.stream.layout
        columns = {layout.text: corpus.texts, **({layout.id: corpus.ids} if layout.id else {})}
        columns |= {name: corpus.columns[name] for name in corpus.columns.columns}
        return pl.DataFrame({name: columns[name] for name in self.own}, schema_overrides=self.own)

    def _added(self, answers: Predictions) -> pl.DataFrame:
        columns = answers.columns()
        if self.flat:
            columns = columns.with_columns(pl.col("sources").list.join("; "))
        return columns.rename(self.names)

    def _count(self, answers: Predictions) -> None:
        self.documents += len(answers)
        self.covered += int(answers.votes.covered.sum())
        for label in answers.labels:
            self.labels[label] += 1

"""A file of documents, batch by batch: as much memory as one batch takes, however long the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from unruly.errors import InputError
from unruly.progress import SILENT, Progress, stage
from unruly.texts.assemble import assemble, duplicate_id
from unruly.texts.corpus import BATCH_ROWS, Corpus
from unruly.texts.layout import Layout, find_layout
from unruly.texts.seen import SeenIds
from unruly.texts.table import Table, open_table


@dataclass(frozen=True, eq=False)
class CorpusStream:
    """Iterates over a file as corpora of at most `batch_rows` documents, in the file's order.

    Opening it looks through the file once, so that what is wrong with its form is said before any
    work is done. It can be iterated over again and again.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "songs.csv"
    >>> _ = path.write_text("comment,is_spam\\nnice,0\\nsubscribe,1\\ncall me,1\\n")
    >>> stream = CorpusStream.open(path, label="is_spam", classes=["ham", "spam"], batch_rows=2)
    >>> stream.rows, [batch.texts.to_list() for batch in stream]
    (3, [['nice', 'subscribe'], ['call me']])
    """

    table: Table
    layout: Layout
    classes: tuple[str, ...] | None = None
    batch_rows: int = BATCH_ROWS

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        text: str | None = None,
        id: str | None = None,
        label: str | None = None,
        classes: Sequence[str] | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> CorpusStream:
        """Look through a file, and find its columns."""
        if batch_rows < 1:
            raise InputError(f"batch_rows must be at least 1, not {batch_rows}")
        table = open_table(path)
        layout = find_layout(table.schema, name=table.name, text=text, id=id, label=label)
        return cls(table, layout, tuple(classes) if classes is not None else None, batch_rows)

    @property
    def name(self) -> str:
        """The file, for messages."""
        return self.table.name

    @property
    def rows(self) -> int | None:
        """How many documents, where that is cheaply known."""
        return self.table.rows

    def __iter__(self) -> Iterator[Corpus]:
        if self.layout.label is not None and self.classes is None:
            raise InputError(
                f"{self.name}: labels in a file that is read in batches need their classes: give classes = [...]"
            )
        first, seen = 0, SeenIds()
        for frame in self.table.batches(self.layout, self.batch_rows):
            corpus = self._corpus(frame, first)
            if self.layout.id is not None:
                self._check_met(corpus.ids, seen.add(corpus.ids), first)
            first += len(corpus)
            yield corpus

    def read(self, progress: Progress = SILENT) -> Corpus:
        """All documents as one corpus."""
        frames = []
        with stage(progress, f"reading {self.name}", self.rows, "rows"):
            for frame in self.table.batches(self.layout, self.batch_rows):
                frames.append(frame)
                progress.advance(frame.height)
        return self._corpus(pl.concat(frames), 0)

    def _corpus(self, frame: pl.DataFrame, first: int) -> Corpus:
        return assemble(
            frame,
            self.layout,
            name=self.name,
            place=lambda row: self.table.place(first + row),
            classes=self.classes,
            first_row=first,
        )

    def _check_met(self, ids: pl.Series, rows: Sequence[int], first: int) -> None:
        """Refuse an id of an earlier batch; the ids themselves decide, not their hashes."""
        for row in rows:
            before = self._first_row_of(ids[row], first)
            if before is not None:
                raise InputError(
                    duplicate_id(ids[row], self.table.place(before), self.table.place(first + row))
                )

    def _first_row_of(self, value: object, stop: int) -> int | None:
        assert self.layout.id is not None
        start = 0
        for frame in self.table.batches(self.layout, self.batch_rows):
            if start >= stop:
                return None
            met = np.flatnonzero((frame[self.layout.id] == value).to_numpy())
            if len(met):
                return start + int(met[0])
            start += frame.height
        return None

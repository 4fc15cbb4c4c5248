"""A file of documents, batch by batch: as much memory as one batch takes, however long the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.progress import SILENT, Progress, stage
from unruly.texts.assemble import assemble, checked_ids, duplicate_id
from unruly.texts.corpus import BATCH_ROWS, Corpus
from unruly.texts.layout import Layout, find_layout
from unruly.texts.seen import SeenIds, hashes
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
        progress: Progress = SILENT,
    ) -> CorpusStream:
        """Look through a file, and find its columns."""
        if batch_rows < 1:
            raise InputError(f"batch_rows must be at least 1, not {batch_rows}")
        table = open_table(path, progress)
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
                self._check_twice(seen.add(corpus.ids))
            first += len(corpus)
            yield corpus
        self._check_twice(seen.rest())

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

    def _check_twice(self, suspects: NDArray[np.uint64]) -> None:
        """Refuse an id that occurs in two batches; the ids themselves decide, not their hashes."""
        if not len(suspects):
            return
        assert self.layout.id is not None
        start, rows = 0, dict[object, int]()
        for frame in self.table.batches(self.layout, self.batch_rows):
            ids = checked_ids(frame[self.layout.id], self.table.place)
            for row in np.flatnonzero(np.isin(hashes(ids), suspects)):
                value = ids[int(row)]
                if value in rows:
                    before, here = self.table.place(rows[value]), self.table.place(start + int(row))
                    raise InputError(duplicate_id(value, before, here))
                rows[value] = start + int(row)
            start += frame.height

"""Files of any length in batches, with the memory of one: read, and written again with columns added (copies CSV bytes).

`CorpusStream` reads; `RowWriter` writes. Records of CSV and TSV and objects of JSON Lines are copied byte for byte, with the
new columns behind them, so that ids, phone numbers and prices stay as they were written.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from queue import Full, Queue
from tempfile import TemporaryFile
from typing import IO

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.io.plugins import register_io_source

from unruly.errors import InputError, Where
from unruly.files import TABLES, written_whole
from unruly.progress import SILENT, Progress, stage
from unruly.statistics import sample_rows
from unruly.texts.columns import Layout, duplicate_id, find_layout, plain_values
from unruly.texts.corpus import BATCH_ROWS, Corpus, assemble, with_shift_noted
from unruly.texts.csv_table import CsvTable, cast, cut_records
from unruly.texts.json_table import JsonTable, with_more
from unruly.texts.table import (
    OnBadRow,
    Pipe,
    Rows,
    Table,
    ending,
    on_bad_row_of,
    open_table,
)

BITS = 6  # of a hash that tell its file, where ids are many


@dataclass(frozen=True, eq=False)
class Batch:
    """Some documents of a file, and their rows with every cell as the file spells it."""

    corpus: Corpus
    spelt: pl.DataFrame
    records: pl.Series | None = None  # of CSV, lines with their ends; of JSON, the objects


@dataclass(frozen=True, eq=False)
class CorpusStream:
    """Iterates over a file as corpora of at most `batch_rows` documents, in the file's order.

    The file is checked when it is opened, so that errors in it come before any work is done. It can be
    iterated over several times.

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
    on_bad_row: OnBadRow = "keep"
    called: str = ""  # for messages, where the file has another name than the user knows

    @classmethod
    def open(
        cls,
        path: str | Path | Pipe | Table,
        *,
        text: str | None = None,
        id: str | None = None,
        label: str | None = None,
        classes: Sequence[str] | None = None,
        batch_rows: int = BATCH_ROWS,
        on_bad_row: OnBadRow = "keep",
        label_may_be_missing: bool = False,
        progress: Progress = SILENT,
    ) -> CorpusStream:
        """Check a file, and find its columns; standard input is read once, as it comes, by `batches`."""
        if batch_rows < 1:
            raise InputError(f"batch_rows must be at least 1, not {batch_rows}")
        on_bad_row_of(on_bad_row)
        opened = (
            open_table(path, progress, skip=on_bad_row == "skip")
            if isinstance(path, str | Path | Pipe)
            else path
        )
        layout = find_layout(
            opened.schema,
            name=opened.name,
            text=text,
            id=id,
            label=label,
            label_may_be_missing=label_may_be_missing,
        )
        known = tuple(classes) if classes is not None else None
        return cls(opened, layout, known, batch_rows, on_bad_row)

    @property
    def name(self) -> str:
        """The file, for messages."""
        return self.called or self.table.name

    @property
    def taken(self) -> Collection[str]:
        """The names of all columns, and of those keys of JSON that are none; of standard input, as far as it was read."""
        return self.table.keys if isinstance(self.table, JsonTable) else self.table.schema

    @property
    def rows(self) -> int | None:
        """How many rows can be read, including those without a text; None for standard input."""
        return self.table.rows

    def __iter__(self) -> Iterator[Corpus]:
        return (batch.corpus for batch in self.batches())

    def batches(self) -> Iterator[Batch]:
        """The documents with their rows as the file spells them."""
        if self.layout.label is not None and self.classes is None:
            raise InputError(
                "labels in a file that is read in batches need their classes: give classes = [...]",
                where=Where(self.name),
            )
        with SeenIds() as seen:
            for rows in self.table.batches(self.layout, self.batch_rows):
                corpus, kept = self._corpus(rows)
                if self.layout.id is not None:
                    self._check_twice(seen.add(corpus.ids))
                spelt, records = rows.spelt, rows.records
                if not kept.all():
                    spelt = spelt.filter(kept)
                    records = None if records is None else records.filter(pl.Series(kept))
                yield Batch(corpus, spelt, records)
            self._check_twice(seen.rest())

    def read(self, progress: Progress = SILENT) -> Corpus:
        """All documents as one corpus."""
        parts: list[Rows] = []
        with stage(progress, f"reading {self.name}", self.rows, "rows"):
            for rows in self.table.batches(self.layout, self.batch_rows):
                parts.append(replace(rows, spelt=rows.frame, records=None))
                progress.advance(rows.frame.height)
        return self._joined(parts)

    def sample(
        self, most: int, seed: int = 0, ids: Collection[str] = (), progress: Progress = SILENT
    ) -> Corpus:
        """At most `most` documents, drawn at random, in the file's order; 0: all of them.

        Documents with one of `ids` (as strings) are always taken. Only the sample and one batch are in memory.
        """
        if not most or self.rows is None or self.rows <= most:
            return self.read(progress)
        drawn = sample_rows(self.rows, most, seed)
        with stage(progress, f"reading {self.name}", self.rows, "rows"):
            parts = list(self.picked(drawn, ids, progress))
        return replace(self._joined(parts), drawn_from=self.rows)

    def picked(
        self, numbers: NDArray[np.int64], ids: Collection[str] = (), progress: Progress = SILENT
    ) -> Iterator[Rows]:
        """The rows with these numbers (sorted), or with one of these ids as strings, batch by batch."""
        for rows in self.table.batches(self.layout, self.batch_rows):
            at = np.minimum(np.searchsorted(numbers, rows.numbers), max(0, len(numbers) - 1))
            kept = numbers[at] == rows.numbers if len(numbers) else rows.numbers < 0
            if ids:
                known = plain_values(self._ids(rows)).cast(pl.String)
                kept = kept | known.is_in(list(ids)).to_numpy()
            frame = _own_strings(rows.frame.filter(kept))
            yield Rows(frame, frame, rows.numbers[kept], rows.skipped, broken=rows.broken)
            progress.advance(rows.frame.height)

    def _ids(self, rows: Rows) -> pl.Series:
        """The ids of these rows: those of the file, else their numbers."""
        return pl.Series(rows.numbers) if self.layout.id is None else rows.frame[self.layout.id]

    def _joined(self, parts: Sequence[Rows]) -> Corpus:
        """The rows of all parts as one corpus."""
        frame = pl.concat(rows.frame for rows in parts)
        numbers = np.concatenate([rows.numbers for rows in parts])
        skipped = tuple(bad for rows in parts for bad in rows.skipped)
        broken = tuple(file for rows in parts for file in rows.broken)
        corpus, kept = self._corpus(Rows(frame, frame, numbers, skipped, broken=broken))
        return with_shift_noted(corpus, frame.filter(kept), self.layout)

    def _corpus(self, rows: Rows) -> tuple[Corpus, NDArray[np.bool_]]:
        corpus, kept = assemble(
            rows.frame,
            self.layout,
            name=self.name,
            where=lambda row: self.table.where(int(rows.numbers[row])),
            classes=self.classes,
            numbers=rows.numbers,
            skipped=rows.skipped,
            on_bad_row=self.on_bad_row,
        )
        return replace(corpus, broken=rows.broken) if rows.broken else corpus, kept

    def _check_twice(self, suspects: NDArray[np.uint64]) -> None:
        """Refuse an id that occurs in two batches; the ids themselves decide, not their hashes."""
        if not len(suspects):
            return
        assert self.layout.id is not None
        if self.rows is None:
            raise InputError(
                "an id occurs more than once: ids must be unique; leave out id = ... to number the rows",
                where=Where(self.name, column=self.layout.id),
            )
        first, again = dict[object, int](), dict[object, int]()
        for rows in self.table.batches(self.layout, self.batch_rows):
            ids = rows.frame[self.layout.id]
            for at in np.flatnonzero(np.isin(_hashes(ids), suspects)):
                value, number = ids[int(at)], int(rows.numbers[at])
                if value in first:
                    again.setdefault(value, number)
                first.setdefault(value, number)
        if again:
            value, number = next(iter(again.items()))
            before, here = self.table.where(first[value]), self.table.where(number)
            raise duplicate_id(value, before, here, len(again))


class SeenIds:
    """Keeps 64-bit hashes of ids, and looks for equal ones whenever their number has doubled.

    At most `most` are in memory; more are in 64 temporary files, by their first bits, which are looked at one by one.
    Two ids may share a hash, once in millions of files: the caller compares the ids themselves before it refuses them.

    >>> with SeenIds() as seen:
    ...     (
    ...         len(seen.add(pl.Series(["a", "b"]))),
    ...         len(seen.add(pl.Series(["c", "b"]))),
    ...         len(seen.rest()),
    ...     )
    (0, 1, 0)
    """

    def __init__(self, most: int = 1_000_000) -> None:
        self._most = most
        self._held: list[NDArray[np.uint64]] = []  # in memory
        self._files: list[IO[bytes]] = []
        self._looked = self._new = 0  # how many were looked at, and came since

    def __enter__(self) -> SeenIds:
        return self

    def __exit__(self, *error: object) -> None:
        for file in self._files:
            file.close()

    def add(self, ids: pl.Series) -> NDArray[np.uint64]:
        """Remember these ids; returns the hashes that were found twice, if it was time to look."""
        self._held.append(_hashes(ids))
        self._new += len(ids)
        if sum(map(len, self._held)) > self._most:
            self._put_away()
        return self.rest() if self._new >= self._looked else np.zeros(0, dtype=np.uint64)

    def rest(self) -> NDArray[np.uint64]:
        """Look at all ids, if any came since the last look; to be called after the last batch."""
        twice = [np.zeros(0, dtype=np.uint64)]
        for part in self._parts() if self._new else ():
            part.sort()
            twice.append(part[1:][part[1:] == part[:-1]])
        self._looked, self._new = self._looked + self._new, 0
        return np.unique(np.concatenate(twice))

    def _parts(self) -> Iterator[NDArray[np.uint64]]:
        """All hashes; equal ones are in the same part."""
        if not self._files:
            self._held = [np.concatenate(self._held)]
            yield self._held[0]
        elif self._held:
            self._put_away()
        for file in self._files:
            file.seek(0)
            yield np.frombuffer(bytearray(file.read()), dtype=np.uint64)

    def _put_away(self) -> None:
        """Write what is in memory behind what is in the files."""
        if not self._files:
            self._files = [TemporaryFile() for _ in range(1 << BITS)]  # noqa: SIM115
        hashes = np.concatenate(self._held)
        first = (hashes >> np.uint64(64 - BITS)).astype(np.uint8)
        order = np.argsort(first, kind="stable")
        cuts = np.searchsorted(first[order], np.arange(1, 1 << BITS))
        for file, part in zip(self._files, np.split(hashes[order], cuts), strict=True):
            file.seek(0, io.SEEK_END)
            file.write(part.tobytes())
        self._held = []


def _own_strings(frame: pl.DataFrame) -> pl.DataFrame:
    """The same with strings copied: those of a few rows would keep all that they were read with in memory."""
    return frame.with_columns(pl.col(pl.String) + "")


def _hashes(ids: pl.Series) -> NDArray[np.uint64]:
    """(n,): the same id gives the same hash throughout a run."""
    return plain_values(ids).hash().to_numpy()


FLAT = (".csv", ".tsv")  # formats without lists
LINES = (".jsonl", ".ndjson")
_BREAKS = r"[\t\r\n]"  # what an unquoted cell cannot hold
# A spreadsheet takes a cell with such a beginning for a formula, unless the whole cell is a number.
FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"  # wide signs are signs to some spreadsheets
NUMBER = r"^[+-]?[0-9][0-9 .,]*(?:[eE][+-]?[0-9]+)?$"


def format_of(target: Path) -> str:
    """The ending that tells the format; another one is refused."""
    form = ending(target)
    if form not in TABLES or target.suffix.lower() == ".gz":
        raise InputError(
            f"predictions are written as {', '.join(TABLES)}: choose one of these endings",
            where=Where(str(target)),
        )
    return form


class RowWriter:
    """Writes the rows of a stream with columns added: to a file, or to an open stream in the format `form`.

    CSV keeps the delimiter of the CSV file that was read, and JSON Lines every object as it was spelt.
    """

    def __init__(
        self,
        stream: CorpusStream,
        target: Path | IO[bytes],
        added: Mapping[str, pl.DataType],
        *,
        defuse: bool = False,
        form: str = "",
    ) -> None:
        self.form = format_of(target) if isinstance(target, Path) else form
        self.stream, self.target = stream, target
        self.flat = self.form in FLAT
        self.defuse = defuse and self.flat
        self.separator = "\t" if self.form == ".tsv" else ","
        self.own, self.header, self.mark = stream.table.schema, tuple(stream.table.schema), b""
        self.verbatim: CsvTable | None = None  # its records are copied as they are
        self.casts: list[pl.Expr] = []
        self.objects = isinstance(stream.table, JsonTable) and self.form in LINES
        if isinstance(stream.table, CsvTable):
            self._from_csv(stream.table, stream.layout.text)
        if isinstance(stream.table, JsonTable) and stream.table.left_out and not self.objects:
            raise InputError(
                f"{self.form} has a column for every key, and {stream.table.left_out:,} keys of {stream.name} are in "
                "few objects: write .jsonl instead"
            )
        if not self.objects and self.form != ".parquet":
            self._refuse_what_text_cannot_hold(stream.name)
        self.added = dict(added)

    def _from_csv(self, table: CsvTable, text: str) -> None:
        """Cells of CSV stay strings in CSV; in other formats they become numbers and truth values again."""
        self.own = pl.Schema(dict.fromkeys(table.schema, pl.String()))
        self.header = table.header
        if self.flat:
            self.mark = table.mark
            self.separator = table.separator if self.form == ".csv" else self.separator
            if table.separator == self.separator and not self.defuse:
                self.verbatim = table
        else:
            kinds = {c: k for c, k in table.exact.items() if k != pl.String and c != text}
            self.own = pl.Schema({**self.own, **kinds})
            self.casts = [cast(c, k) for c, k in kinds.items()]

    def write(self, batches: Iterator[tuple[Batch, pl.DataFrame]]) -> None:
        """Write batches of rows with their added columns; the file is whole or not there."""
        if not isinstance(self.target, Path):
            self._write_lines(self.target, batches)
            return
        with written_whole(self.target) as part:
            if self.form == ".parquet":
                schema = pl.Schema({**self.own, **self.added})
                frames = (self._joined(batch, added) for batch, added in batches)
                _write_parquet(part, frames, schema)
                return
            with part.open("wb") as file:
                self._write_lines(file, batches)

    def _write_lines(self, file: IO[bytes], batches: Iterator[tuple[Batch, pl.DataFrame]]) -> None:
        lines = (self._lines(batch, added) for batch, added in batches)
        first = next(lines, b"")  # before anything is written: what fails, fails here
        if self.flat:
            file.write(self.mark + self._header())
        for some in chain([first], lines):
            file.write(some)
            file.flush()

    def _check_late(self, added: pl.DataFrame) -> None:
        """Refuse a name of ours that a pipe uses too, but not in its first rows."""
        if late := [name for name in added.columns if name in self.stream.taken]:
            raise InputError(
                f"the column {late[0]!r} first appears here, and a column of that name is added: save the data to a "
                "file, and pass that",
                where=Where(self.stream.name),
            )

    def _joined(self, batch: Batch, added: pl.DataFrame) -> pl.DataFrame:
        return batch.spelt.with_columns(self.casts).hstack(added)

    def _lines(self, batch: Batch, added: pl.DataFrame) -> bytes:
        """One line for each row."""
        if self.objects and batch.records is not None:
            self._check_late(added)
            ours = added.write_ndjson().split("\n")
            pairs = zip(
                batch.records, ours, strict=False
            )  # behind the last one there is a line end
            return "".join(with_more(record, more) for record, more in pairs).encode()
        if not self.flat:
            return self._joined(batch, added).write_ndjson().encode()
        if self.verbatim is None or batch.records is None:
            joined = self._joined(batch, added)
            return self._csv(defused(joined) if self.defuse else joined)
        cells = zip(batch.records, self._cells(added), strict=True)
        return b"".join(_behind(record, line, self.separator) for record, line in cells)

    def _cells(self, added: pl.DataFrame) -> list[bytes]:
        """The added cells of each row, quoted where the file's other cells would be."""
        assert self.verbatim is not None
        if self.verbatim.quoted:
            return cut_records(self._csv(added), self.separator, blank=True)
        plain = added.select(pl.all().cast(pl.String).fill_null("").str.replace_all(_BREAKS, " "))
        return [self.separator.join(row).encode() for row in plain.iter_rows()]

    def _csv(self, frame: pl.DataFrame) -> bytes:
        return frame.write_csv(include_header=False, separator=self.separator).encode()

    def _header(self) -> bytes:
        if self.verbatim is not None:
            plain = [re.sub(_BREAKS, " ", name) for name in self.added]
            unquoted = self.separator.join(plain).encode()
            ours = self._names(self.added) if self.verbatim.quoted else unquoted
            return _behind(self.verbatim.header_record, ours, self.separator)
        names = (*self.header, *self.added)
        return self._names(map(_harmless, names) if self.defuse else names)

    def _names(self, names: Iterable[str]) -> bytes:
        """A line of names, quoted where they need it."""
        line = io.StringIO()
        csv.writer(line, delimiter=self.separator, lineterminator="\n").writerow(names)
        return line.getvalue().encode()

    def _refuse_what_text_cannot_hold(self, name: str) -> None:
        for column, kind in self.own.items():
            binary = kind in (pl.Binary, pl.Object)
            if binary or (self.flat and kind.is_nested()):
                raise InputError(
                    f"the column {column!r} of {name} holds {kind}, which {self.form} "
                    f"cannot: write {'.parquet' if binary else '.jsonl or .parquet'} instead",
                    where=Where(str(self.target) if isinstance(self.target, Path) else None),
                )


def _write_parquet(path: Path, frames: Iterable[pl.DataFrame], schema: pl.Schema) -> None:
    """Write frames one behind the other, as they are made.

    They are made in this thread, and another one hands them to polars, which would otherwise ask for each in some thread of
    its own: memory that is freed is kept for the thread that used it, so a long file would take more and more.
    """
    handed: Queue[pl.DataFrame | None] = Queue(maxsize=1)

    def taken() -> Iterator[pl.DataFrame]:
        while (frame := handed.get()) is not None:
            yield frame

    def sink() -> None:
        register_io_source(lambda *_: taken(), schema=schema).sink_parquet(
            path, maintain_order=True
        )

    def hand(frame: pl.DataFrame | None) -> None:
        while not written.done():  # a disk that is full has ended it
            with suppress(Full):
                handed.put(frame, timeout=0.1)
                return

    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(sink)
        try:
            for frame in frames:
                hand(frame)
                if written.done():
                    break
        finally:
            hand(None)
        written.result()


def _behind(record: str, line: bytes, separator: str) -> bytes:
    """A record with more cells behind its own, and its own line end."""
    body = record.rstrip("\n")
    end = "\r\n" if body.endswith("\r") and record.endswith("\n") else "\n"
    return body.removesuffix("\r" if end == "\r\n" else "").encode() + (
        separator.encode() + line.rstrip(b"\n") + end.encode()
    )


def defused(frame: pl.DataFrame) -> pl.DataFrame:
    """Cells and names that a spreadsheet would run as a formula get an apostrophe in front, which makes them text there.

    >>> defused(pl.DataFrame({"=x": ["=1+1", "-2.5", "fine"]})).to_dict(as_series=False)
    {"'=x": ["'=1+1", '-2.5', 'fine']}
    """
    texts = {c: pl.col(c) for c, kind in frame.schema.items() if kind == pl.String}
    cells = [
        pl.when(text.str.contains(FORMULA) & ~text.str.contains(NUMBER))
        .then("'" + text)
        .otherwise(text)
        .alias(column)
        for column, text in texts.items()
    ]
    names: dict[str, str] = {}
    for column in frame.columns:
        name = _harmless(column)
        while name != column and name in (*frame.columns, *names.values()):
            name = f"'{name}"
        names[column] = name
    return frame.with_columns(cells).rename(names)


def _harmless(cell: str) -> str:
    return f"'{cell}" if re.match(FORMULA, cell) and not re.match(NUMBER, cell) else cell

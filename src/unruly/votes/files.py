"""Votes in files, by the file's ending."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from unruly.errors import InputError
from unruly.files import written_whole
from unruly.texts.assemble import checked_ids, row_numbers
from unruly.texts.gold import classes_of, gold_numbers
from unruly.texts.layout import Layout
from unruly.texts.table import ending, open_table
from unruly.votes.parquet import read_parquet, write_parquet
from unruly.votes.votes import Votes

ID = "id"
SLICE = 250_000  # documents written at a time
ENDINGS = ".parquet, .csv, .tsv or .jsonl"


def write_votes(votes: Votes, path: Path) -> None:
    """Parquet keeps everything; the others hold class names, empty where a source abstains."""
    kind = path.suffix.lower()
    if kind in {".parquet", ".pq"}:
        return write_parquet(votes, path)
    if kind not in {".csv", ".tsv", ".jsonl", ".ndjson"}:
        raise InputError(
            f"{path}: votes are not written to files ending in {kind!r}: use {ENDINGS}"
        )
    with written_whole(path) as part, part.open("wb") as file:
        for start in range(0, max(1, votes.n), SLICE):  # names take more room than numbers
            rows = np.arange(start, min(start + SLICE, votes.n))
            frame = named_frame(votes.take(rows))
            if kind in {".csv", ".tsv"}:
                separator = "\t" if kind == ".tsv" else ","
                frame.write_csv(file, separator=separator, include_header=start == 0)
            else:
                frame.write_ndjson(file)
    return None


def read_votes(path: Path, classes: Sequence[str] | None = None) -> Votes:
    """Votes from a file; class names that are not listed are sorted, numbers stay numbers."""
    if ending(path) in {".parquet", ".pq"}:
        return read_parquet(path, classes)
    table = open_table(path)
    sources = [column for column in table.schema if column != ID]
    if not sources:
        raise InputError(f"{path}: there is no column of votes beside the ids")
    layout = Layout(text=sources[0], id=ID, spelt=frozenset(sources))
    frame = pl.concat(table.batches(layout, 1 << 20))
    ids = checked_ids(frame[ID], table.place) if ID in frame else row_numbers(0, frame.height)
    known = tuple(classes) if classes is not None else _classes(frame.select(sources), path)
    columns = [gold_numbers(frame[source], known, table.place) for source in sources]
    return Votes(np.stack(columns, axis=1).astype(np.int8), tuple(sources), known, ids)


def named_frame(votes: Votes) -> pl.DataFrame:
    """Ids beside one column a source: class names, null where the source abstains."""
    if ID in votes.sources:
        raise InputError(
            "a source is named 'id', which is the name of the ids' column: rename it, or write .parquet"
        )
    names = pl.Series("class", [*votes.classes, None], dtype=pl.String)
    columns = [votes.ids.alias(ID)]
    for j, source in enumerate(votes.sources):
        picks = pl.Series(votes.matrix[:, j].astype(np.int64) % (votes.m + 1), dtype=pl.UInt32)
        columns.append(names.gather(picks).alias(source))
    return pl.DataFrame(columns)


def _classes(frame: pl.DataFrame, path: Path) -> tuple[str, ...]:
    columns = [column.cast(pl.String) for column in frame.iter_columns()]
    return classes_of(pl.concat([column.unique().alias("label") for column in columns]), str(path))

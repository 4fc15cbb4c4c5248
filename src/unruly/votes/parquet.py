"""Votes in Parquet: an `id` column, one int8 column a source, and the rest in the file's metadata.

The metadata key `unruly.votes` holds JSON: the version, the name of the id column, the classes, the
source columns in order, and which columns hold soft votes (fixed-size lists of float32, NaN where
the source abstains). The columns alone, read by any tool, are Snorkel's label matrix.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from unruly.errors import InputError
from unruly.files import written_whole
from unruly.texts.table import check_file
from unruly.votes.votes import Votes

KEY = "unruly.votes"
VERSION = 1


def write_parquet(votes: Votes, path: Path) -> None:
    """Write everything but the provenance."""
    taken = set(votes.sources)
    id_name = _free("id", taken)
    soft = {source: _free(f"{source} (soft)", taken | {id_name}) for source in votes.soft}
    columns = [votes.ids.alias(id_name)]
    columns += [
        pl.Series(source, np.ascontiguousarray(votes.matrix[:, j]), dtype=pl.Int8)
        for j, source in enumerate(votes.sources)
    ]
    columns += [
        pl.Series(name, votes.soft[source], dtype=pl.Array(pl.Float32, votes.m))
        for source, name in soft.items()
    ]
    about = {
        "version": VERSION,
        "id": id_name,
        "classes": votes.classes,
        "sources": votes.sources,
        "soft": soft,
    }
    with written_whole(path) as part:
        pl.DataFrame(columns).write_parquet(
            part, metadata={KEY: json.dumps(about, ensure_ascii=False)}
        )


def read_parquet(path: Path, classes: Sequence[str] | None = None) -> Votes:
    """Read what `write_parquet` wrote, or any Parquet file of integer columns (-1 abstains)."""
    check_file(path)
    try:
        frame = pl.read_parquet(path, glob=False)
        about = pl.read_parquet_metadata(path).get(KEY)
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"{path}: not a whole Parquet file ({str(error).splitlines()[0]}): write it again"
        ) from None
    return _foreign(frame, path, classes) if about is None else _own(frame, about, path, classes)


def _own(frame: pl.DataFrame, text: str, path: Path, classes: Sequence[str] | None) -> Votes:
    about: dict[str, Any] = json.loads(text)
    if about["version"] > VERSION:
        raise InputError(
            f"{path}: votes of format {about['version']}, newer than {VERSION}: update unruly"
        )
    if classes is not None and list(classes) != about["classes"]:
        raise InputError(
            f"{path}: the votes' classes are {', '.join(about['classes'])}, not {', '.join(classes)}"
        )
    missing = [
        c for c in [about["id"], *about["sources"], *about["soft"].values()] if c not in frame
    ]
    if missing:
        raise InputError(f"{path}: the column {missing[0]!r} is missing: write the votes again")
    shape = (frame.height, len(about["classes"]))
    return Votes(
        matrix=_matrix(frame.select(about["sources"])),
        sources=tuple(about["sources"]),
        classes=tuple(about["classes"]),
        ids=frame[about["id"]].alias("id"),
        soft={
            source: frame[column].explode().to_numpy().reshape(shape).astype(np.float32)
            for source, column in about["soft"].items()
        },
    )


def _foreign(frame: pl.DataFrame, path: Path, classes: Sequence[str] | None) -> Votes:
    """Someone else's vote matrix: integer columns are sources, `id` is the id."""
    sources = [c for c, kind in frame.schema.items() if kind.is_integer() and c != "id"]
    odd = [c for c in frame.columns if c not in sources and c != "id"]
    if not sources or odd:
        what = (
            f"the column {odd[0]!r} holds {frame.schema[odd[0]]}"
            if odd
            else "there is no column of votes"
        )
        raise InputError(
            f"{path}: {what}: a file of votes has integer columns (-1 abstains) and perhaps an id"
        )
    if frame.select(sources).null_count().sum_horizontal().item():
        raise InputError(f"{path}: a vote is missing: write -1 where a source abstains")
    ids = frame.get_column("id", default=None)
    return Votes.from_array(
        frame.select(sources).to_numpy(), classes=classes, sources=sources, ids=ids
    )


def _matrix(frame: pl.DataFrame) -> np.ndarray[tuple[int, int], np.dtype[np.int8]]:
    matrix = np.empty((frame.height, frame.width), dtype=np.int8)
    for j, column in enumerate(frame.iter_columns()):
        matrix[:, j] = column.to_numpy()
    return matrix


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name

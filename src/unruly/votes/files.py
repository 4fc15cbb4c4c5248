"""Votes in files and tables: Parquet, CSV and JSON Lines, WRENCH's JSON, crowd-kit's long table.

Parquet has an `id` column, one int8 column a source, and the rest in the file's metadata. The metadata
key `unruly.votes` holds JSON: the version, the name of the id column, the classes, the source columns in
order, and which columns hold soft votes (fixed-size lists of float32, NaN where the source abstains). A
partial vote is a soft one in equal shares. Null is a document that the source was not asked about. The
columns alone, read by any tool, are Snorkel's label matrix. CSV and JSON Lines write a partial vote in words
("billing or bug"); WRENCH's JSON and the long table, which know votes for one class only, leave it out. A file that
cannot keep probabilities, or which documents a source was not asked about, is written with a warning.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError, UnrulyWarning, Where, polars_errors, warn
from unruly.files import TABLES, written_whole
from unruly.texts.columns import (
    Layout,
    checked_ids,
    classes_of,
    gold_numbers,
    warn_if_counted_from_one,
)
from unruly.texts.corpus import Corpus, kind_of
from unruly.texts.frame_table import PARQUET
from unruly.texts.json_table import RARE, JsonTable
from unruly.texts.stream import FLAT, defused
from unruly.texts.table import check_file, ending, open_table
from unruly.texts.wrench import TEXT, read_wrench
from unruly.votes.votes import ABSTAIN, Votes, unique_ids
from unruly.wording import free_name, listed

ID = "id"
SLICE = 250_000  # documents written at a time
KEY = "unruly.votes"
VERSION = 1
LONG = ("task", "worker", "label")


def write_votes(votes: Votes, path: Path, *, defuse: bool = False) -> None:
    """Parquet keeps everything; the others hold class names, empty where a source abstains.

    With `defuse`, cells of CSV that a spreadsheet would run as a formula get an apostrophe.
    """
    kind = path.suffix.lower()
    if kind in PARQUET:
        write_parquet(votes, path)
        return
    if kind not in TABLES:
        raise InputError(
            f"votes are not written to files ending in {kind!r}: use {', '.join(TABLES)}",
            where=Where(str(path)),
        )
    _warn_of_loss(votes, path)
    with written_whole(path) as part, part.open("wb") as file:
        for start in range(0, max(1, votes.n), SLICE):  # names take more room than numbers
            rows = np.arange(start, min(start + SLICE, votes.n))
            frame = named_frame(votes.take(rows))
            if kind in FLAT:
                separator = "\t" if kind == ".tsv" else ","
                flat = defused(frame) if defuse else frame
                flat.write_csv(file, separator=separator, include_header=start == 0)
            else:
                frame.write_ndjson(file)


def read_votes(path: Path, classes: Sequence[str] | None = None) -> Votes:
    """Votes from a file; class names that are not listed are sorted, numbers stay numbers."""
    if ending(path) in PARQUET:
        return read_parquet(path, classes)
    table = open_table(path)
    if isinstance(table, JsonTable) and table.left_out:
        raise InputError(
            f"{table.left_out:,} sources vote on fewer than 1 of {RARE} documents: write the votes as CSV or Parquet",
            where=Where(str(path)),
        )
    sources = [column for column in table.schema if column != ID]
    if not sources:
        raise InputError("there is no column of votes beside the ids", where=Where(str(path)))
    layout = Layout(text=sources[0], id=ID, spelt=frozenset(sources))
    frame = pl.concat(rows.frame for rows in table.batches(layout, 1 << 20))
    ids = checked_ids(frame[ID], table.where) if ID in frame else unique_ids(None, frame.height)
    return _from_columns(frame.select(sources), ids, classes, str(path), table.where)


def votes_from_frame(
    table: Any, classes: Sequence[str] | None, ids: Sequence[object] | pl.Series | None
) -> Votes:
    """Votes from a pandas or polars frame, as `Votes.to_pandas` and `to_frame` give them.

    A column for each source, of class names or numbers, missing where it abstains. The ids are given, or in a column or
    an index called id.
    """
    if isinstance(table, pl.DataFrame):
        frame = table
    else:
        known = table.astype(object).where(table.notna(), None)
        columns = [known.iloc[:, j].tolist() for j in range(known.shape[1])]
        names = [str(name) for name in known.columns]
        series = zip(names, columns, strict=True)
        frame = pl.DataFrame([pl.Series(n, values, strict=False) for n, values in series])
        if ids is None and table.index.name == ID:
            ids = table.index.tolist()
    if ID in frame:
        ids = frame[ID] if ids is None else ids
        frame = frame.drop(ID)
    if not frame.width:
        raise InputError("there is no column of votes beside the ids")
    name = "the frame of votes"
    numbers = unique_ids(ids, frame.height)
    return _from_columns(frame, numbers, classes, name, lambda row: Where(name, row=row))


def _from_columns(
    frame: pl.DataFrame,
    ids: pl.Series,
    classes: Sequence[str] | None,
    name: str,
    where: Callable[[int], Where],
) -> Votes:
    """Votes from columns of class names or numbers, empty where a source abstains."""
    _refuse_partial(frame, classes or (), where)
    known = tuple(classes) if classes is not None else _classes(frame, name)
    columns = [gold_numbers(column, known, where) for column in frame.iter_columns()]
    matrix = np.stack(columns, axis=1).astype(np.int8)
    values = pl.concat(column.unique().cast(pl.String) for column in frame.iter_columns())
    warn_if_counted_from_one(values, matrix.ravel(), known, name)
    return Votes(matrix, tuple(frame.columns), known, ids)


def named_frame(votes: Votes) -> pl.DataFrame:
    """Ids, and a column of class names for each source; null where it abstains."""
    if ID in votes.sources:
        raise InputError(
            "a source is named 'id', which is the name of the ids' column: rename it, or write .parquet"
        )
    names = pl.Series("class", [*votes.classes, None], dtype=pl.String)
    columns = [votes.ids.alias(ID)]
    for j, source in enumerate(votes.sources):
        picks = pl.Series(votes.hard[:, j].astype(np.int64) % (votes.m + 1), dtype=pl.UInt32)
        column = names.gather(picks).alias(source)
        if j in votes.sets:
            rows = np.flatnonzero(votes.sets[j].any(axis=1))
            column = column.scatter(rows, [votes.label(row, j) for row in rows.tolist()])
        columns.append(column)
    return pl.DataFrame(columns)


class LossWarning(UnrulyWarning):
    """A file of votes does not keep all that is known of them."""


def loss(votes: Votes, path: Path, *, partial: bool = True) -> str:
    """What a file does not keep of these votes, and what to do; nothing where it keeps all.

    With `partial`, it has partial votes in words.
    """
    if path.suffix.lower() in PARQUET:
        return ""
    graded = [source for source in votes.soft if votes.graded(source)]
    sets = [votes.sources[j] for j in votes.sets]
    unasked = [source for source, missing in votes.unasked.items() if missing.any()]
    lost = [f"the probabilities of {listed(graded, 3)}"] if graded else []
    lost += [f"the partial votes of {listed(sets, 3)}"] if sets and not partial else []
    lost += [f"which documents {listed(unasked, 3)} was not asked about"] if unasked else []
    if not lost:
        return ""
    return f"{path} does not hold {' and '.join(lost)}: write .parquet to keep everything"


def _warn_of_loss(votes: Votes, path: Path, *, partial: bool = True) -> None:
    if line := loss(votes, path, partial=partial):
        warn(line, LossWarning)


def _refuse_partial(
    frame: pl.DataFrame, known: Sequence[str], where: Callable[[int], Where]
) -> None:
    """Refuse partial votes: they are written in words for people, and only single classes are read back."""
    values = [column.cast(pl.String).unique().drop_nulls() for column in frame.iter_columns()]
    names = {*known, *(name for column in values for name in column)}
    for column, found in zip(frame.iter_columns(), values, strict=True):
        for value in found:
            first, _, last = value.rpartition(" or ")
            if first and value not in known and {*first.split(", "), last} & names:
                row = column.cast(pl.String).to_list().index(value)
                raise InputError(
                    f"the column {column.name!r} holds the partial vote {value!r}: read the votes from "
                    "Parquet, which keeps it",
                    where=where(row),
                )


def _classes(frame: pl.DataFrame, name: str) -> tuple[str, ...]:
    columns = [column.cast(pl.String) for column in frame.iter_columns()]
    return classes_of(pl.concat([column.unique().alias("label") for column in columns]), name)


def write_parquet(votes: Votes, path: Path) -> None:
    """Write everything but the provenance."""
    taken = set(votes.sources)
    id_name = free_name("id", taken, "_")
    soft = {source: free_name(f"{source} (soft)", taken | {id_name}, "_") for source in votes.soft}
    columns = [votes.ids.alias(id_name)]
    columns += [_int8(votes, j) for j in range(votes.k)]
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


def _int8(votes: Votes, j: int) -> pl.Series:
    """A source's column: class numbers, -1 where it abstains, null where it was not asked."""
    source = votes.sources[j]
    column = pl.Series(source, np.ascontiguousarray(votes.matrix[:, j]), dtype=pl.Int8)
    if source in votes.unasked:
        column = column.scatter(np.flatnonzero(votes.unasked[source]), None)
    return column


def read_parquet(path: Path, classes: Sequence[str] | None = None) -> Votes:
    """Read what `write_parquet` wrote, or any Parquet file of integer columns (-1 abstains)."""
    check_file(path)
    with polars_errors(path, "Parquet"):
        frame = pl.read_parquet(path, glob=False)
        about = pl.read_parquet_metadata(path).get(KEY)
    return _foreign(frame, path, classes) if about is None else _own(frame, about, path, classes)


def _own(frame: pl.DataFrame, text: str, path: Path, classes: Sequence[str] | None) -> Votes:
    about = _about(text, path)
    if classes is not None and list(classes) != about["classes"]:
        raise InputError(
            f"the votes' classes are {', '.join(about['classes'])}, not {', '.join(classes)}",
            where=Where(str(path)),
        )
    missing = [
        c for c in [about["id"], *about["sources"], *about["soft"].values()] if c not in frame
    ]
    if missing:
        raise InputError(
            f"the column {missing[0]!r} is missing: write the votes again", where=Where(str(path))
        )
    kinds = frame.select(about["sources"]).schema
    odd = next((c for c, kind in kinds.items() if kind != pl.Int8), None)
    wide = pl.Array(pl.Float32, len(about["classes"]))
    odd = odd or next((c for c in about["soft"].values() if frame.schema[c] != wide), None)
    if odd is not None:
        raise InputError(
            f"the column {odd!r} does not hold votes: write the votes again", where=Where(str(path))
        )
    try:
        return _votes_of(frame, about)
    except InputError as error:
        raise error.located(Where(str(path))) from None


def _votes_of(frame: pl.DataFrame, about: dict[str, Any]) -> Votes:
    shape = (frame.height, len(about["classes"]))
    return Votes(
        matrix=_matrix(frame.select(pl.col(about["sources"]).fill_null(ABSTAIN))),
        sources=tuple(about["sources"]),
        classes=tuple(about["classes"]),
        ids=frame[about["id"]].alias("id"),
        soft={
            source: frame[column].explode().to_numpy().reshape(shape).astype(np.float32)
            for source, column in about["soft"].items()
        },
        unasked={
            source: frame[source].is_null().to_numpy()
            for source in about["sources"]
            if frame[source].null_count()
        },
    )


def _about(text: str, path: Path) -> dict[str, Any]:
    """What the file's metadata says of it, if that is whole."""
    damaged = InputError(
        f"its metadata ({KEY}) is damaged: write the votes again", where=Where(str(path))
    )
    try:
        about = json.loads(text)
    except ValueError:
        raise damaged from None
    kinds = {"version": int, "id": str, "classes": list, "sources": list, "soft": dict}
    if not isinstance(about, dict) or not all(
        isinstance(about.get(name), kind) for name, kind in kinds.items()
    ):
        raise damaged
    if about["version"] > VERSION:
        raise InputError(
            f"votes of format {about['version']}, newer than {VERSION}: update unruly",
            where=Where(str(path)),
        )
    texts = [*about["classes"], *about["sources"], *about["soft"], *about["soft"].values()]
    if not all(isinstance(name, str) for name in texts):
        raise damaged
    return about


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
            f"{what}: a file of votes has integer columns (-1 abstains) and perhaps an id",
            where=Where(str(path)),
        )
    if frame.select(sources).null_count().sum_horizontal().item():
        raise InputError(
            "a vote is missing: write -1 where a source abstains", where=Where(str(path))
        )
    ids = frame.get_column("id", default=None)
    return Votes.from_array(
        frame.select(sources).to_numpy(), classes=classes, sources=sources, ids=ids
    )


def _matrix(frame: pl.DataFrame) -> NDArray[np.int8]:
    matrix = np.empty((frame.height, frame.width), dtype=np.int8)
    for j, column in enumerate(frame.iter_columns()):
        matrix[:, j] = column.to_numpy()
    return matrix


def read_wrench_votes(folder: Path, split: str = "train", votes: str = "weak_labels") -> Votes:
    """The votes stored beside the documents of one split."""
    stored = read_wrench(folder, split, votes)
    if not stored.votes.shape[1]:
        raise InputError(f"{stored.corpus.name}: no votes are stored under {votes!r}")
    return Votes(stored.votes, stored.sources, stored.classes, stored.corpus.ids)


def write_wrench(votes: Votes, folder: Path, corpus: Corpus, split: str = "train") -> None:
    """Write `split`.json, label.json and meta.json; the folder is made when it is missing."""
    if not votes.ids.equals(corpus.ids):
        raise InputError(
            "the votes and the documents differ in their ids: give the documents that were voted on"
        )
    labels = {str(number): name for number, name in enumerate(votes.classes)}
    path = folder / "label.json"
    if path.is_file() and json.loads(path.read_text(encoding="utf-8")) != labels:
        raise InputError(
            "the folder holds other classes: write to another folder", where=Where(str(path))
        )
    if folder.exists() and not folder.is_dir():
        raise InputError("it is a file: pass a folder", where=Where(str(folder)))
    _warn_of_loss(votes, folder / f"{split}.json", partial=False)
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(path, labels)
    _write_json(folder / "meta.json", {"lf_names": votes.sources, "label_names": votes.classes})
    _write_json(folder / f"{split}.json", _wrench_items(votes, corpus))


def _wrench_items(votes: Votes, corpus: Corpus) -> dict[str, Any]:
    """The documents by id; another column that is called as the text is there gets another name."""
    gold = corpus.gold.tolist() if corpus.gold is not None else [-1] * votes.n
    columns = corpus.columns
    if TEXT in columns.columns:
        columns = columns.rename({TEXT: free_name(TEXT, columns.columns, "_")})
    others = columns.rows(named=True) if columns.width else [{}] * votes.n
    rows = zip(votes.ids, gold, votes.hard.tolist(), corpus.texts, others, strict=True)
    return {
        str(id): {"label": label, "weak_labels": cast, "data": {TEXT: text, **data}}
        for id, label, cast, text, data in rows
    }


def _write_json(path: Path, content: object) -> None:
    with written_whole(path) as part:
        part.write_text(json.dumps(content, ensure_ascii=False, default=str), encoding="utf-8")


def votes_to_long(votes: Votes) -> pl.DataFrame:
    """One row a vote, document by document; labels are class names."""
    row, source = np.nonzero(votes.hard != ABSTAIN)
    label = votes.hard[row, source].astype(np.uint32)
    return pl.DataFrame(
        {
            "task": votes.ids.gather(pl.Series(row, dtype=pl.UInt32)),
            "worker": pl.Series(votes.sources, dtype=pl.String).gather(
                pl.Series(source, dtype=pl.UInt32)
            ),
            "label": pl.Series(votes.classes, dtype=pl.String).gather(
                pl.Series(label, dtype=pl.UInt32)
            ),
        }
    )


def votes_from_long(
    table: Any,
    *,
    classes: Sequence[str] | None = None,
    ids: Sequence[object] | pl.Series | None = None,
    sources: Sequence[str] | None = None,
) -> Votes:
    """Votes from the long table; documents and sources in the order given, else in that of their first vote."""
    frame = _long_columns(table)
    known = tuple(classes) if classes is not None else classes_of(frame["label"], "the long table")
    label = gold_numbers(frame["label"], known, lambda row: Where("the long table", row=row))
    warn_if_counted_from_one(frame["label"], label, known, "the long table")
    tasks = frame["task"].unique(maintain_order=True) if ids is None else pl.Series("task", ids)
    workers = frame["worker"].cast(pl.String)
    names = tuple(sources) if sources is not None else tuple(workers.unique(maintain_order=True))
    row = _position(frame["task"], tasks, "task")
    column = _position(workers, pl.Series(names, dtype=pl.String), "worker")
    _check_once(frame, row * len(names) + column)
    matrix = np.full((len(tasks), len(names)), ABSTAIN, dtype=np.int8)
    matrix[row, column] = label
    return Votes(matrix, names, known, tasks.alias("id"))


def _long_columns(table: Any) -> pl.DataFrame:
    if not kind_of(table):
        raise InputError(
            f"expected a pandas or polars frame with {', '.join(LONG)}, got {type(table).__name__}"
        )
    if isinstance(table, pl.LazyFrame):
        table = table.collect()
    missing = [name for name in LONG if name not in list(table.columns)]
    if missing:
        raise InputError(f"the long table has no column {missing[0]!r}: it needs {', '.join(LONG)}")
    if isinstance(table, pl.DataFrame):
        return table.select(LONG)
    return pl.DataFrame({name: pl.Series(name, table[name].tolist()) for name in LONG})


def _position(values: pl.Series, known: pl.Series, what: str) -> NDArray[np.int64]:
    """(votes,): where each value stands among the known ones."""
    if known.n_unique() != len(known):
        twice = known.filter(known.is_duplicated())[0]
        raise InputError(f"the {what} {twice!r} is listed more than once: name each once")
    try:
        at = values.replace_strict(known, range(len(known)), return_dtype=pl.Int64, default=None)
    except pl.exceptions.PolarsError:
        raise InputError(
            f"the {what} column holds {values.dtype}, the list of them {known.dtype}"
        ) from None
    if at.null_count():
        row = int(at.is_null().arg_true()[0])
        raise InputError(
            f"the long table, row {row}: the {what} {values[row]!r} is not in the list given"
        )
    return np.asarray(at.to_numpy(), dtype=np.int64)


def _check_once(frame: pl.DataFrame, cell: NDArray[np.int64]) -> None:
    order = np.argsort(cell, kind="stable")
    again = np.flatnonzero(np.diff(cell[order]) == 0)
    if len(again):
        first, second = int(order[again[0]]), int(order[again[0] + 1])
        task, worker, _ = frame.row(second)
        raise InputError(
            f"the long table, row {second}: worker {worker!r} has voted on task {task!r} already (row {first}): "
            "one vote for each pair"
        )

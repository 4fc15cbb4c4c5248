"""crowd-kit's long table: one row for each vote, with `task`, `worker` and `label`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from unruly.errors import InputError
from unruly.texts.frames import kind_of
from unruly.texts.gold import classes_of, gold_numbers
from unruly.votes.votes import ABSTAIN, Votes

NAMES = ("task", "worker", "label")


def votes_to_long(votes: Votes) -> pl.DataFrame:
    """One row a vote, document by document; labels are class names."""
    row, source = np.nonzero(votes.voted)
    label = votes.matrix[row, source].astype(np.uint32)
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
    """Documents and sources in the order given, else in that of their first vote."""
    frame = _columns(table)
    known = tuple(classes) if classes is not None else classes_of(frame["label"], "the long table")
    label = gold_numbers(frame["label"], known, lambda row: f"the long table, row {row}")
    tasks = frame["task"].unique(maintain_order=True) if ids is None else pl.Series("task", ids)
    workers = frame["worker"].cast(pl.String)
    names = tuple(sources) if sources is not None else tuple(workers.unique(maintain_order=True))
    row = _position(frame["task"], tasks, "task")
    column = _position(workers, pl.Series(names, dtype=pl.String), "worker")
    _check_once(frame, row * len(names) + column)
    matrix = np.full((len(tasks), len(names)), ABSTAIN, dtype=np.int8)
    matrix[row, column] = label
    return Votes(matrix, names, known, tasks.alias("id"))


def _columns(table: Any) -> pl.DataFrame:
    if not kind_of(table):
        raise InputError(
            f"expected a pandas or polars frame with {', '.join(NAMES)}, got {type(table).__name__}"
        )
    if isinstance(table, pl.LazyFrame):
        table = table.collect()
    missing = [name for name in NAMES if name not in list(table.columns)]
    if missing:
        raise InputError(
            f"the long table has no column {missing[0]!r}: it needs {', '.join(NAMES)}"
        )
    if isinstance(table, pl.DataFrame):
        return table.select(NAMES)
    return pl.DataFrame({name: pl.Series(name, table[name].tolist()) for name in NAMES})


def _position(
    values: pl.Series, known: pl.Series, what: str
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
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


def _check_once(frame: pl.DataFrame, cell: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
    order = np.argsort(cell, kind="stable")
    again = np.flatnonzero(np.diff(cell[order]) == 0)
    if len(again):
        first, second = int(order[again[0]]), int(order[again[0] + 1])
        task, worker, _ = frame.row(second)
        raise InputError(
            f"the long table, row {second}: worker {worker!r} has voted on task {task!r} already (row {first}): "
            "one vote for each pair"
        )

"""A corpus from one polars frame: texts without nulls, ids without duplicates, gold as numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from unruly.errors import InputError
from unruly.texts.corpus import Corpus
from unruly.texts.gold import classes_of, gold_numbers
from unruly.texts.layout import Layout

Place = Callable[[int], str]  # the number of a row in the frame -> where the user finds it


def assemble(
    frame: pl.DataFrame,
    layout: Layout,
    *,
    name: str,
    place: Place,
    classes: Sequence[str] | None = None,
    first_row: int = 0,
) -> Corpus:
    """Check one frame, and split it into text, id, gold and the other columns."""
    texts = checked_texts(frame[layout.text], place)
    ids = checked_ids(frame[layout.id], place) if layout.id else row_numbers(first_row, len(texts))
    gold, known = None, tuple(classes) if classes is not None else None
    if layout.label is not None:
        labels = frame[layout.label]
        known = known if known is not None else classes_of(labels, name)
        gold = gold_numbers(labels, known, place)
    others = frame.drop(list(layout.own))
    return Corpus(ids, texts, others if others.width else pl.DataFrame(), gold, name, known)


def row_numbers(first: int, n: int) -> pl.Series:
    """Ids of rows that have none of their own."""
    return pl.int_range(first, first + n, dtype=pl.Int64, eager=True).alias("id")


def checked_texts(column: pl.Series, place: Place) -> pl.Series:
    """The texts, all of them strings: a null is refused with its row, an empty text is not."""
    if column.dtype in (pl.Categorical, pl.Enum) or (column.dtype == pl.Null and not len(column)):
        column = column.cast(pl.String)
    if column.null_count():
        row = int(column.is_null().arg_true()[0])
        raise InputError(
            f'{place(row)}: the text (column {column.name!r}) is missing: drop the row, or write "" for an empty text'
        )
    if column.dtype != pl.String:
        found = f", e.g. {column[0]!r}" if len(column) else ""
        raise InputError(
            f"{place(0)}: the text column {column.name!r} holds {column.dtype}, not strings{found}: "
            "name another column, or convert it"
        )
    return column.alias("text")


def checked_ids(column: pl.Series, place: Place) -> pl.Series:
    """The user's ids: none missing, none twice."""
    if column.null_count():
        row = int(column.is_null().arg_true()[0])
        raise InputError(
            f"{place(row)}: the id (column {column.name!r}) is missing: give every row an id"
        )
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype.is_nested() or column.dtype == pl.Object:
        raise InputError(
            f"{place(0)}: the id column {column.name!r} holds {column.dtype}: ids must be strings or whole numbers"
        )
    if column.n_unique() != len(column):
        twice = column.filter(column.is_duplicated())[0]
        rows = (column == twice).arg_true()
        raise InputError(duplicate_id(twice, place(int(rows[0])), place(int(rows[1]))))
    return column.alias("id")


def duplicate_id(value: object, first: str, second: str) -> str:
    """The message for an id that occurs twice."""
    return f"{second}: the id {value!r} is taken already ({first}): ids must be unique; leave out id = ... to number the rows"

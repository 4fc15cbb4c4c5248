"""A corpus from a frame: pandas, polars, a Hugging Face data set, or whatever the user has at hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError, Where
from unruly.texts.columns import (
    Layout,
    WhereOf,
    class_number,
    classes_of,
    find_layout,
    gold_numbers,
    not_a_class,
    warn_if_counted_from_one,
)
from unruly.texts.corpus import Corpus
from unruly.texts.table import BadRow, OnBadRow, check_on_bad_row

INDEX = "__index__"


def kind_of(thing: object) -> str:
    """The library's name for a frame-like object ("pandas", "polars", "datasets"), else ""."""
    for home in type(thing).__mro__:
        library = home.__module__.partition(".")[0]
        if (library, home.__name__) in {
            ("pandas", "DataFrame"),
            ("polars", "DataFrame"),
            ("polars", "LazyFrame"),
            ("datasets", "Dataset"),
        }:
            return library
    return ""


def corpus_of(
    documents: object,
    *,
    text: str | None = None,
    id: str | None = None,
    label: str | None = None,
    classes: Sequence[str] | None = None,
    on_bad_row: OnBadRow = "keep",
) -> Corpus:
    """Tell by its kind what `documents` is, and read it."""
    if isinstance(documents, Corpus):
        return documents
    if isinstance(documents, str | Path):
        return Corpus.read(
            documents, text=text, id=id, label=label, classes=classes, on_bad_row=on_bad_row
        )
    match kind_of(documents):
        case "pandas" | "polars":
            return Corpus.from_frame(
                documents, text=text, id=id, label=label, classes=classes, on_bad_row=on_bad_row
            )
        case "datasets":
            return Corpus.from_dataset(documents, text=text, id=id, label=label, classes=classes)
    values = documents
    if hasattr(documents, "tolist"):  # an array, or a pandas series
        values = documents.tolist()
    elif hasattr(documents, "to_list"):  # a polars series
        values = documents.to_list()
    if isinstance(values, Sequence):
        return Corpus.from_texts(values)
    raise InputError(
        f"expected a path, a frame, a Dataset or a list of texts, got {type(documents).__name__}"
    )


def corpus_from_frame(
    frame: object,
    *,
    text: str | None,
    id: str | None,
    label: str | None,
    classes: Sequence[str] | None,
    name: str,
    on_bad_row: OnBadRow = "keep",
) -> Corpus:
    """A corpus from a pandas or polars frame."""
    match kind_of(frame):
        case "polars":
            table = frame.collect() if isinstance(frame, pl.LazyFrame) else frame
            assert isinstance(table, pl.DataFrame)
        case "pandas":
            table, id = _from_pandas(frame, text, id, name)
        case _:
            raise InputError(f"expected a pandas or polars frame, got {type(frame).__name__}")
    layout = find_layout(
        {c: k for c, k in table.schema.items() if c != INDEX or id == INDEX},
        name=name,
        text=text,
        id=id,
        label=label,
    )
    corpus, kept = assemble(
        table, layout, name=name, where=_rows_of(name), classes=classes, on_bad_row=on_bad_row
    )
    warn_of_shifted_labels(corpus, table.filter(kept), layout)
    return corpus


def corpus_from_dataset(
    dataset: Any,
    *,
    text: str | None,
    id: str | None,
    label: str | None,
    classes: Sequence[str] | None,
    name: str,
) -> Corpus:
    """A corpus from a Hugging Face `Dataset`; its `ClassLabel` columns know their classes."""
    if kind_of(dataset) != "datasets":
        what = type(dataset).__name__
        hint = ": pick one of its splits" if hasattr(dataset, "keys") else ""
        raise InputError(f"expected a Hugging Face Dataset, got {what}{hint}")
    named = {c: tuple(kind.names) for c, kind in dataset.features.items() if hasattr(kind, "names")}
    if label is None and "label" in named:
        label = "label"
    if classes is None and label in named:
        classes = named[label]
    columns = {c: _series(c, dataset[c][:], name, c == text) for c in dataset.column_names}
    table = pl.DataFrame(columns)
    layout = find_layout(table.schema, name=name, text=text, id=id, label=label)
    return assemble(table, layout, name=name, where=_rows_of(name), classes=classes)[0]


def assemble(
    frame: pl.DataFrame,
    layout: Layout,
    *,
    name: str,
    where: WhereOf,
    classes: Sequence[str] | None = None,
    numbers: NDArray[np.int64] | None = None,
    skipped: tuple[BadRow, ...] = (),
    on_bad_row: OnBadRow = "keep",
) -> tuple[Corpus, NDArray[np.bool_]]:
    """Check one frame, and split it into text, id, gold and the other columns.

    `numbers` are the rows' numbers in their file, `skipped` the rows that are left out already. Gives
    the corpus, and which rows of the frame are in it.
    """
    check_on_bad_row(on_bad_row)
    rows = np.arange(frame.height, dtype=np.int64) if numbers is None else numbers
    known = tuple(classes) if classes is not None else None
    if layout.label is not None and known is None:
        known = classes_of(frame[layout.label], name)
    kept = np.ones(frame.height, dtype=np.bool_)
    if on_bad_row == "skip":
        bad = _bad_rows(frame, layout, known)
        kept[list(bad)] = False
        skipped = (
            *skipped,
            *(BadRow(int(rows[at]), reason, where(at)) for at, reason in sorted(bad.items())),
        )
        frame, rows = frame.filter(kept), rows[kept]
    at = np.flatnonzero(kept)

    def here(row: int) -> Where:
        return where(int(at[row]) if len(at) else 0)

    texts, missing = _texts(frame[layout.text], here, on_bad_row)
    ids = checked_ids(frame[layout.id], here) if layout.id else pl.Series("id", rows)
    gold = None
    if layout.label is not None and known is not None:
        gold = gold_numbers(frame[layout.label], known, here)
    others = frame.drop(list(layout.own))
    corpus = Corpus(
        ids,
        texts,
        others if others.width else pl.DataFrame(),
        gold,
        name,
        known,
        missing if missing.any() else None,
        tuple(sorted(skipped, key=lambda bad: bad.row)),
    )
    return corpus, kept


def warn_of_shifted_labels(corpus: Corpus, frame: pl.DataFrame, layout: Layout) -> None:
    """Warn where the labels of a whole table look as if they were counted from 1."""
    if corpus.gold is not None and corpus.classes is not None and layout.label is not None:
        warn_if_counted_from_one(frame[layout.label], corpus.gold, corpus.classes, corpus.name)


def row_numbers(first: int, n: int) -> pl.Series:
    """Ids of rows that have none of their own."""
    return pl.int_range(first, first + n, dtype=pl.Int64, eager=True).alias("id")


def checked_ids(column: pl.Series, where: WhereOf) -> pl.Series:
    """The user's ids: none missing, none twice."""
    if column.null_count():
        row = int(column.is_null().arg_true()[0])
        raise InputError(_missing_id(column.name), where=where(row))
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        raise InputError(
            f"the id column {column.name!r} holds {column.dtype}: ids must be strings or whole numbers",
            where=where(0),
        )
    if column.n_unique() != len(column):
        twice = column.filter(column.is_duplicated())[0]
        rows = (column == twice).arg_true()
        raise duplicate_id(twice, where(int(rows[0])), where(int(rows[1])))
    return column.alias("id")


def duplicate_id(value: object, first: Where, second: Where) -> InputError:
    """The error for an id that occurs twice."""
    return InputError(
        f"the id {value!r} is taken already ({first}): ids must be unique; "
        "leave out id = ... to number the rows",
        where=second,
    )


def _texts(
    column: pl.Series, where: WhereOf, on_bad_row: OnBadRow
) -> tuple[pl.Series, NDArray[np.bool_]]:
    """The texts, "" where there is none; and where there is none."""
    if column.dtype in (pl.Categorical, pl.Enum, pl.Null):
        column = column.cast(pl.String)
    missing = column.is_null().to_numpy()
    if missing.any() and on_bad_row == "error":
        row = int(np.flatnonzero(missing)[0])
        raise InputError(
            f"{_missing_text(column.name)}: drop the row, or keep it", where=where(row)
        )
    if column.dtype != pl.String:
        plain = len(column) and not column.dtype.is_nested()
        found = f", e.g. {column[0]!r:.40}" if plain else ""
        raise InputError(
            f"the text column {column.name!r} holds {column.dtype}, not strings{found}: "
            "name another column, or convert it",
            where=where(0),
        )
    return column.fill_null("").alias("text"), missing


def _bad_rows(
    frame: pl.DataFrame, layout: Layout, classes: tuple[str, ...] | None
) -> dict[int, str]:
    """The rows that are to be skipped, and why: no text, no id, or a label that is no class."""
    bad: dict[int, str] = {}
    if layout.label is not None and classes is not None:
        labels = frame[layout.label]
        if not labels.dtype.is_nested() and labels.dtype not in (pl.Binary, pl.Object):
            for value in labels.unique().to_list():
                if class_number(value, classes) is None:
                    reason = not_a_class(value, classes)
                    bad |= dict.fromkeys((labels == value).arg_true().to_list(), reason)
    if layout.id is not None:
        gone = frame[layout.id].is_null().arg_true().to_list()
        bad |= dict.fromkeys(gone, _missing_id(layout.id))
    gone = frame[layout.text].is_null().arg_true().to_list()
    return bad | dict.fromkeys(gone, _missing_text(layout.text))


def _missing_text(column: str) -> str:
    return f"the text (column {column!r}) is missing"


def _missing_id(column: str) -> str:
    return f"the id (column {column!r}) is missing: give every row an id"


def _rows_of(name: str) -> WhereOf:
    return lambda row: Where(name, row=row)


def _from_pandas(
    frame: Any, text: str | None, id: str | None, name: str
) -> tuple[pl.DataFrame, str | None]:
    """The frame in polars; its index becomes the ids when it says more than 0, 1, 2…"""
    columns: dict[str, pl.Series] = {}
    for at, column in enumerate(frame.columns):
        if str(column) in columns:
            raise InputError(
                f"two columns are named {str(column)!r}: rename one of them", where=Where(name)
            )
        values = frame.iloc[:, at]
        columns[str(column)] = _from_pandas_column(str(column), values, name, str(column) == text)
    index = frame.index
    plain = index.nlevels == 1 and index.tolist() == list(range(len(frame)))
    if id is None and not plain:
        ids = [str(key) if isinstance(key, tuple) else key for key in index.tolist()]
        if not index.is_unique:
            twice = index[index.duplicated()].tolist()[0]
            raise InputError(
                f"the index holds {twice!r} more than once: frame.reset_index(drop=True) "
                'numbers the rows, id = "..." names a column',
                where=Where(name),
            )
        columns[INDEX], id = pl.Series(INDEX, ids), INDEX
    elif id is not None and id not in columns and id in index.names:
        columns[id] = pl.Series(id, index.get_level_values(id).tolist())
    return pl.DataFrame(columns), id


def _from_pandas_column(column: str, values: Any, name: str, is_text: bool) -> pl.Series:
    kind = values.dtype
    if isinstance(kind, np.dtype) and kind.kind in "iufb":
        return pl.Series(column, values.to_numpy(), nan_to_null=True)
    missing = values.isna().to_numpy()
    plain = [None if gone else value for value, gone in zip(values.tolist(), missing, strict=True)]
    return _series(column, plain, name, is_text)


def _series(column: str, values: list[Any], name: str, is_text: bool) -> pl.Series:
    """A polars column; where strings stand beside other things, the first stranger is named."""
    try:
        return pl.Series(column, values)
    except (TypeError, pl.exceptions.PolarsError):
        odd = next(
            (r for r, v in enumerate(values) if not isinstance(v, str) and v is not None), None
        )
        strings = any(isinstance(value, str) for value in values)
        if odd is not None and strings and (is_text or column.casefold() == "text"):
            found = values[odd]
            raise InputError(
                f"expected a text in column {column!r}, found {type(found).__name__} {found!r}",
                where=Where(name, row=odd),
            ) from None
        return pl.Series(column, [None if v is None else str(v) for v in values], dtype=pl.String)

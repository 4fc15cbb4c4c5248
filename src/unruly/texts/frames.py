"""Documents from pandas and polars frames, and from Hugging Face data sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from unruly.errors import InputError
from unruly.texts.assemble import assemble
from unruly.texts.corpus import Corpus
from unruly.texts.layout import find_layout

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


def corpus_from_frame(
    frame: object,
    *,
    text: str | None,
    id: str | None,
    label: str | None,
    classes: Sequence[str] | None,
    name: str,
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
    return assemble(table, layout, name=name, place=_rows_of(name), classes=classes)


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
    columns = {
        c: _series(c, dataset[c][:], _rows_of(name), c == text) for c in dataset.column_names
    }
    table = pl.DataFrame(columns)
    layout = find_layout(table.schema, name=name, text=text, id=id, label=label)
    return assemble(table, layout, name=name, place=_rows_of(name), classes=classes)


def _rows_of(name: str) -> Any:
    return lambda row: f"{name}, row {row}"


def _from_pandas(
    frame: Any, text: str | None, id: str | None, name: str
) -> tuple[pl.DataFrame, str | None]:
    """The frame in polars; its index becomes the ids when it says more than 0, 1, 2…"""
    place = _rows_of(name)
    columns: dict[str, pl.Series] = {}
    for at, column in enumerate(frame.columns):
        if str(column) in columns:
            raise InputError(f"{name}: two columns are named {str(column)!r}: rename one of them")
        values = frame.iloc[:, at]
        columns[str(column)] = _from_pandas_column(str(column), values, place, str(column) == text)
    index = frame.index
    plain = index.nlevels == 1 and index.tolist() == list(range(len(frame)))
    if id is None and not plain:
        ids = [str(key) if isinstance(key, tuple) else key for key in index.tolist()]
        if not index.is_unique:
            twice = index[index.duplicated()].tolist()[0]
            raise InputError(
                f"{name}: the index holds {twice!r} more than once: frame.reset_index(drop=True) "
                'numbers the rows, id = "..." names a column'
            )
        columns[INDEX], id = pl.Series(INDEX, ids), INDEX
    elif id is not None and id not in columns and id in index.names:
        columns[id] = pl.Series(id, index.get_level_values(id).tolist())
    return pl.DataFrame(columns), id


def _from_pandas_column(column: str, values: Any, place: Any, is_text: bool) -> pl.Series:
    kind = values.dtype
    if isinstance(kind, np.dtype) and kind.kind in "iufb":
        return pl.Series(column, values.to_numpy(), nan_to_null=True)
    missing = values.isna().to_numpy()
    plain = [None if gone else value for value, gone in zip(values.tolist(), missing, strict=True)]
    return _series(column, plain, place, is_text)


def _series(column: str, values: list[Any], place: Any, is_text: bool) -> pl.Series:
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
                f"{place(odd)}: expected a text in column {column!r}, found {type(found).__name__} {found!r}"
            ) from None
        return pl.Series(column, [None if v is None else str(v) for v in values], dtype=pl.String)

"""Gold labels: class names or class numbers in, class numbers out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError

UNKNOWN = -1  # the gold label of a document that has none
MOST_CLASSES = 127


def gold_numbers(
    labels: pl.Series, classes: Sequence[str], place: Callable[[int], str]
) -> NDArray[np.int16]:
    """(n,): each label as a class number; empty labels and -1 are unknown.

    A label may be a class name, or a class number (3, "3" or 3.0); names are tried first.

    >>> gold_numbers(pl.Series(["spam", None, "0", "-1"]), ["ham", "spam"], "row {}".format)
    array([ 1, -1,  0, -1], dtype=int16)
    """
    labels = _plain(labels)
    numbers: dict[object, int] = {}
    for value in labels.unique(maintain_order=True).to_list():
        number = class_number(value, classes)
        if number is None:
            row = 0 if len(labels) == 1 else int((labels == value).arg_true()[0])
            raise InputError(
                f"{place(row)}: the label {value!r} is not a class: classes are "
                f"{', '.join(classes)} (or their numbers, 0 to {len(classes) - 1})"
            )
        if not _unknown(value):
            numbers[value] = number
    if not numbers:
        return np.full(len(labels), UNKNOWN, dtype=np.int16)
    found = labels.replace_strict(
        list(numbers), list(numbers.values()), default=UNKNOWN, return_dtype=pl.Int16
    )
    return found.to_numpy().astype(np.int16)


def class_number(value: object, classes: Sequence[str]) -> int | None:
    """The number of the class that a label means, -1 for unknown, None when it is no class.

    >>> [class_number(v, ["ham", "spam"]) for v in ("spam", 1, "1", 1.0, True, None, -1, 2, "eggs")]
    [1, 1, 1, 1, 1, -1, -1, None, None]
    """
    if _unknown(value):
        return UNKNOWN
    for name in (str(value), str(value).strip(), _whole(value)):
        if name is not None and name in classes:
            return list(classes).index(name)
    if isinstance(value, bool):
        lower = [name.casefold() for name in classes]
        return lower.index(str(value).casefold()) if str(value).casefold() in lower else int(value)
    whole = _whole(value)
    if whole is None or not UNKNOWN <= int(whole) < len(classes):
        return None
    return int(whole)


def classes_of(labels: pl.Series, name: str) -> tuple[str, ...]:
    """The classes that a column of labels names, when the user did not list them.

    Whole numbers give "0", "1", up to the largest; names are sorted.

    >>> classes_of(pl.Series(["spam", "ham", None, "spam"]), "c.csv")
    ('ham', 'spam')
    """
    values = [value for value in _plain(labels).unique().to_list() if not _unknown(value)]
    if values and all(isinstance(value, bool) for value in values):
        return ("false", "true")
    wholes = [_whole(value) for value in values]
    if values and None not in wholes and min(int(w or 0) for w in wholes) >= UNKNOWN:
        names = [str(c) for c in range(max(2, max(int(w or 0) for w in wholes) + 1))]
    else:
        names = sorted(str(value) for value in values)
    if not 2 <= len(names) <= MOST_CLASSES:
        raise InputError(
            f"{name}: the labels name {len(names)} classes"
            f"{f' ({names[0]!r})' if len(names) == 1 else ''}, and 2 to {MOST_CLASSES} are needed: "
            "list the classes with classes = [...], or name another label column"
        )
    return tuple(names)


def _plain(labels: pl.Series) -> pl.Series:
    return labels.cast(pl.String) if labels.dtype in (pl.Categorical, pl.Enum) else labels


def _unknown(value: object) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def _whole(value: object) -> str | None:
    """A whole number written plainly, or None: 3, "3" and 3.0 give "3"."""
    try:
        number = float(str(value))
    except ValueError:
        return None
    return str(int(number)) if number.is_integer() else None

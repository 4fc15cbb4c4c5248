"""The ids of the documents that are voted on: given and unique, else row numbers."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from unruly.errors import InputError


def unique_ids(ids: Sequence[object] | pl.Series | None, n: int) -> pl.Series:
    """(n,): a column named `id`; an id that occurs twice is refused.

    >>> unique_ids(None, 2).to_list(), unique_ids(["x"], 1).to_list()
    ([0, 1], ['x'])
    """
    if ids is None:
        return pl.Series("id", range(n), dtype=pl.Int64)
    series = ids if isinstance(ids, pl.Series) else pl.Series("id", list(ids))
    if series.n_unique() != len(series):
        twice = series.filter(series.is_duplicated())[0]
        raise InputError(f"the id {twice!r} occurs more than once: ids must be unique")
    return series.alias("id")

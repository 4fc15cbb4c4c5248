"""Documents with their ids, other columns and, where there are any, gold labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from unruly.errors import InputError

UNKNOWN = -1  # the gold label of a document that has none


@dataclass(frozen=True, eq=False)
class Corpus:
    """Texts in order, each with a unique id; gold labels are class numbers, -1 where unknown.

    >>> corpus = Corpus.from_texts(["call me", "nice song"])
    >>> len(corpus), corpus.ids.to_list()
    (2, [0, 1])
    """

    ids: pl.Series  # (n,), unique
    texts: pl.Series  # (n,), strings without nulls
    columns: pl.DataFrame  # the other columns, n rows
    gold: NDArray[np.int16] | None = None  # (n,)
    name: str = "texts"  # where the texts came from, for messages

    def __post_init__(self) -> None:
        n = len(self.texts)
        if len(self.ids) != n or (self.columns.width and self.columns.height != n):
            raise InputError(f"{self.name}: ids, texts and columns differ in length")
        if self.gold is not None and len(self.gold) != n:
            raise InputError(f"{self.name}: {n} texts, but {len(self.gold)} gold labels")

    @classmethod
    def from_texts(cls, texts: Sequence[str], *, name: str = "texts") -> Corpus:
        """A corpus from a list of strings; ids are row numbers."""
        if isinstance(texts, str):
            raise InputError("expected a list of texts, got one string: wrap it in a list")
        values = list(texts)
        for row, value in enumerate(values):
            if not isinstance(value, str):
                raise InputError(
                    f"{name}, row {row}: expected a text, found {type(value).__name__} {value!r}"
                )
        return cls(
            ids=pl.Series("id", range(len(values)), dtype=pl.Int64),
            texts=pl.Series("text", values, dtype=pl.String),
            columns=pl.DataFrame(),
            name=name,
        )

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def shape(self) -> tuple[int]:
        """(n,): with `len` and rows by index, all that scikit-learn asks of the data that it splits."""
        return (len(self),)

    def __getitem__(self, rows: ArrayLike | tuple[ArrayLike, object]) -> Corpus:
        """Some of the documents: `corpus[[0, 2]]` is `corpus.take([0, 2])`."""
        return self.take(
            np.atleast_1d(np.arange(len(self))[rows[0] if isinstance(rows, tuple) else rows])
        )

    def take(self, rows: ArrayLike) -> Corpus:
        """Some of the documents, in the order asked for: row numbers, or a mask."""
        index = np.asarray(rows)
        if index.dtype == np.bool_:
            index = np.flatnonzero(index)
        picks = index.tolist()
        return Corpus(
            ids=self.ids[picks],
            texts=self.texts[picks],
            columns=self.columns[picks] if self.columns.width else self.columns,
            gold=None if self.gold is None else self.gold[index],
            name=self.name,
        )

"""`features`: the user's own numbers, one row a document, from `.npy`, Parquet or an array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from unruly.errors import InputError
from unruly.features.encoder import TEXT, Features, State, column_view
from unruly.progress import SILENT, Progress
from unruly.texts.corpus import Corpus
from unruly.wording import near_file


@dataclass(frozen=True, eq=False)
class PrecomputedFeatures:
    """Features that came with the documents.

    `column` names a list column of the documents themselves, which new documents must have too;
    otherwise `values` are the rows, in the documents' order.

    >>> PrecomputedFeatures.from_array([[1, 2], [3, 4]]).encode(["a", "b"])
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """

    values: NDArray[np.float32] | None = None  # (n, width)
    column: str | None = None
    source: str = "features"  # where they came from, for messages
    size: int = 0  # how many numbers a document has; 0 before that is known
    kind: ClassVar[str] = "features"
    plan: ClassVar[str | None] = None

    @classmethod
    def from_array(cls, array: ArrayLike, source: str = "features") -> PrecomputedFeatures:
        """Check and keep an (n, d) array."""
        values = Features.from_array(_numbers(array, source), source).blocks[0].values
        return cls(values=values, source=source, size=values.shape[1])

    @classmethod
    def from_file(cls, path: str | Path, column: str | None = None) -> PrecomputedFeatures:
        """Rows from a `.npy` file or from a list column of a Parquet file."""
        file = Path(path)
        if not file.is_file():
            hint = near_file(file)
            raise InputError(f"{file}: there is no such file of features{hint and ': ' + hint}")
        if file.suffix == ".npy":
            try:
                array = np.load(file, allow_pickle=False)
            except (ValueError, EOFError) as error:
                raise InputError(f"{file}: not a plain NumPy array: {error}") from None
            return cls.from_array(array, str(file))
        if file.suffix in (".parquet", ".pq"):
            return cls.from_array(*_list_column(pl.read_parquet(file), column, str(file)))
        raise InputError(f"{file}: features are read from .npy or .parquet, not {file.suffix!r}")

    @property
    def name(self) -> str:
        """Short and human."""
        return "features"

    @property
    def identity(self) -> str | None:
        """None: there is nothing to compute, so nothing to cache."""
        return None

    @property
    def width(self) -> int:
        """How many numbers a document has."""
        return self.size

    @property
    def pieces(self) -> tuple[tuple[str, int], ...]:
        """One block."""
        return ((self.name, self.size),)

    @property
    def aligned(self) -> bool:
        """Rows in the documents' order; those of a column come with the documents."""
        return self.column is None or self.values is not None

    def views(self, corpus: Corpus) -> tuple[str, ...]:
        """The documents' column, or nothing but how many they are."""
        return (TEXT,) if self.aligned else (column_view(str(self.column)),)

    def fit(self, texts: Sequence[Any], progress: Progress = SILENT) -> Self:
        """Nothing to learn but how many numbers a document has."""
        return replace(self, size=self.encode(texts).shape[1])

    def encode(self, texts: Sequence[Any], progress: Progress = SILENT) -> NDArray[np.float32]:
        """The rows as they are: one for each text, or the column's lists, which stand in place of the texts."""
        if not self.aligned:
            return self._from_lists(texts)
        if self.values is None:
            raise InputError(
                "the encoder needs features of your own, not texts alone: give documents that have them"
            )
        if len(texts) != len(self.values):
            raise InputError(
                f"{self.source}: {len(self.values)} rows of features for {len(texts)} texts: give one "
                "row for each text, in the same order"
            )
        return self.values

    def _from_lists(self, lists: Sequence[Any]) -> NDArray[np.float32]:
        where = f"column {self.column!r}"
        series = pl.Series(self.column, lists, dtype=pl.List(pl.Float32), strict=False)
        given = PrecomputedFeatures.from_array(_rows(series, where), where)
        if self.size and given.size != self.size:
            raise InputError(
                f"{where}: {given.size} features a document, but the model has {self.size}"
            )
        assert given.values is not None
        return given.values

    def state(self) -> State:
        """What is to be asked of new documents; the rows belong to the old ones."""
        return {"column": self.column, "size": self.size, "source": self.source}

    @classmethod
    def from_state(cls, state: State) -> PrecomputedFeatures:
        """The encoder that `state` was taken of, without rows."""
        column, size, source = state["column"], state["size"], state["source"]
        if not isinstance(column, str | None) or not isinstance(source, str) or not int(size) >= 0:
            raise ValueError("features: a column, a size and a source are expected")
        return cls(column=column, size=int(size), source=source)


def _numbers(array: ArrayLike, source: str) -> NDArray[np.float32]:
    try:
        return np.asarray(array, dtype=np.float32)
    except (ValueError, TypeError):
        raise InputError(
            f"{source}: features must be numbers, one row of equal length a document"
        ) from None


def _list_column(frame: pl.DataFrame, column: str | None, where: str) -> tuple[NDArray[Any], str]:
    """(n, d) from the named column, or from the only one that holds lists; and where it was."""
    lists = [n for n, kind in frame.schema.items() if isinstance(kind, pl.List | pl.Array)]
    if column is None:
        if len(lists) != 1:
            raise InputError(
                f"{where}: {len(lists)} list columns ({', '.join(lists)}): name one as column"
            )
        column = lists[0]
    if column not in lists:
        raise InputError(
            f"{where}: {column!r} is not a list column (list columns: {', '.join(lists)})"
        )
    return _rows(frame[column], where), where


def _rows(column: pl.Series, where: str) -> NDArray[Any]:
    """(n, d) from lists of one length."""
    values = column.cast(pl.List(pl.Float32), strict=False)
    lengths = values.list.len().fill_null(0)
    wrong = np.flatnonzero((lengths != lengths.max()).fill_null(True).to_numpy())
    if len(wrong):
        row = int(wrong[0])
        raise InputError(
            f"{where}, row {row}: {int(lengths[row])} features, where other rows have {int(lengths.to_numpy().max())}"
        )
    width = int(lengths[0]) if len(lengths) else 0
    flat = values.explode().fill_null(float("nan")).to_numpy()
    return flat.reshape(len(values), width)

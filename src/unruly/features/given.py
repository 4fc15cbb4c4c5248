"""`features`: the user's own numbers, one row a document, from `.npy`, Parquet or an array."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.progress import SILENT, Progress
from unruly.texts.corpus import Corpus


@dataclass(frozen=True, eq=False)
class Given:
    """Features that came with the documents.

    `column` names a list column of the documents themselves, which new documents must have too;
    otherwise `values` are the rows, in the documents' order.

    >>> Given.from_array([[1, 2], [3, 4]]).encode(["a", "b"])
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """

    values: NDArray[np.float32] | None = None  # (n, width)
    column: str | None = None
    source: str = "features"  # where they came from, for messages
    size: int = 0  # how many numbers a document has; 0 before that is known

    @classmethod
    def from_array(cls, array: ArrayLike, source: str = "features") -> Given:
        """Check and keep an (n, d) array."""
        values = Features.from_array(_numbers(array, source), source).blocks[0].values
        return cls(values=values, source=source, size=values.shape[1])

    @classmethod
    def from_file(cls, path: str | Path, column: str | None = None) -> Given:
        """Rows from a `.npy` file or from a list column of a Parquet file."""
        file = Path(path)
        if not file.is_file():
            raise InputError(f"{file}: there is no such file of features")
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

    @cached_property
    def identity(self) -> str:
        """A digest of the rows."""
        if self.values is None:
            return f"features-column-{self.column}"
        return f"features-{hashlib.sha256(self.values.tobytes()).hexdigest()[:24]}"

    @property
    def width(self) -> int:
        """How many numbers a document has."""
        return self.size

    def fit(self, texts: Sequence[str], progress: Progress = SILENT) -> Self:
        """Nothing to learn."""
        return self

    def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> NDArray[np.float32]:
        """The rows as they are: as many as there are texts."""
        if self.values is None:
            told = f"the column {self.column!r}" if self.column else "features of your own"
            raise InputError(
                f"the encoder needs {told}, not texts alone: give documents that have it"
            )
        if len(texts) != len(self.values):
            raise InputError(
                f"{self.source}: {len(self.values)} rows of features for {len(texts)} texts: give one "
                "row for each text, in the same order"
            )
        return self.values

    def of(self, corpus: Corpus) -> NDArray[np.float32]:
        """The rows for these documents."""
        if self.column is None or self.values is not None:
            return self.encode(corpus.texts.to_list())
        if self.column not in corpus.columns.columns:
            known = ", ".join(corpus.columns.columns) or "none"
            raise InputError(
                f"{corpus.name}: there is no column {self.column!r} with features (columns: {known})"
            )
        where = f"{corpus.name}, column {self.column!r}"
        given = Given.from_array(*_list_column(corpus.columns, self.column, where))
        if self.size and given.size != self.size:
            raise InputError(
                f"{where}: {given.size} features a document, but the model has {self.size}"
            )
        return given.encode(corpus.texts.to_list())

    def save(self, folder: Path) -> None:
        """What is to be asked of new documents; the rows belong to the old ones."""
        kept = {"column": self.column, "size": self.size, "source": self.source}
        (folder / "features.json").write_text(json.dumps(kept), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Given:
        """The encoder that `save` wrote, without rows."""
        kept = json.loads((folder / "features.json").read_text(encoding="utf-8"))
        return cls(column=kept["column"], size=kept["size"], source=kept["source"])


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
    values = frame[column].cast(pl.List(pl.Float32), strict=False)
    lengths = values.list.len().fill_null(0)
    wrong = np.flatnonzero((lengths != lengths.max()).fill_null(True).to_numpy())
    if len(wrong):
        row = int(wrong[0])
        raise InputError(
            f"{where}, row {row}: {int(lengths[row])} features, where other rows have {int(lengths.to_numpy().max())}"
        )
    width = int(lengths[0]) if len(lengths) else 0
    flat = values.explode().fill_null(float("nan")).to_numpy()
    return flat.reshape(len(values), width), where

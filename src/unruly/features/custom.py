"""The user's own features: numbers from `.npy`, Parquet or an array, or an encoder of the user's own.

Such an encoder has the methods `fit(texts)` and `encode(texts)` (or scikit-learn's `transform`). Optional are a `name`; an
`identity`, a string that changes whenever the features do, so that they can be cached; and `state()` with the class method
`from_state(state)`, plain values and arrays, so that what it learnt is saved with a model. A model file names the class but
never imports it: the user passes it again when loading. Where there is no Python to pass it in (a project file, a command),
`FILE.py:CLASS` names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from unruly.errors import InputError, Where
from unruly.features.encoder import TEXT, Features, SentenceEncoder, State, column_view, import_path
from unruly.files import sha256
from unruly.progress import SILENT, Progress, stage
from unruly.rules.function import load_file
from unruly.texts.corpus import Corpus
from unruly.wording import near_file


@dataclass(frozen=True, eq=False)
class PrecomputedFeatures(SentenceEncoder):
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
    name: ClassVar[str] = "features"
    kind: ClassVar[str] = "features"
    identity: ClassVar[str | None] = None  # there is nothing to compute, so nothing to cache

    @classmethod
    def from_array(cls, array: ArrayLike, source: str = "features") -> PrecomputedFeatures:
        """Check and keep an (n, d) array."""
        values = Features.from_array(_numbers(array, source), source).blocks[0].array
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
    def width(self) -> int:
        """How many numbers a document has."""
        return self.size

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
        """The rows as they are: one for each text, or the lists of the column, given in place of the texts."""
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
        """What new documents must have; the rows belong to the old ones and are not saved."""
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


def class_named(named: str, folder: Path | None = None) -> tuple[str, type]:
    """The class that `FILE.py:CLASS` names, whose file is run, and the import path under which it is saved."""
    file, _, name = named.rpartition(":")
    path = Path(file) if folder is None else folder / file
    if not path.is_file():
        hint = near_file(path)
        raise InputError(f"there is no such file{hint and ': ' + hint}", where=Where(str(path)))
    module, _ = load_file(path.resolve(), sha256(path))
    given = getattr(module, name, None)
    if not isinstance(given, type) or not is_custom(given):
        raise InputError(
            f"there is no class {name} with the methods fit(texts) and encode(texts)",
            where=Where(str(path)),
        )
    return f"{path.stem}:{name}", given


SAMPLE = 1  # texts encoded to see how wide the features are


def is_custom(value: object) -> bool:
    """Whether it has the two methods."""
    return callable(getattr(value, "fit", None)) and any(
        callable(getattr(value, verb, None)) for verb in ("encode", "transform")
    )


@dataclass(frozen=True, eq=False)
class CustomEncoder(SentenceEncoder):
    """The user's object, with what `EncoderStack` needs beside it.

    >>> class Lengths:
    ...     def fit(self, texts):
    ...         return self
    ...
    ...     def encode(self, texts):
    ...         return [[len(text)] for text in texts]
    >>> encoder = CustomEncoder(Lengths()).fit(["a", "bc"])
    >>> encoder.name, encoder.width, encoder.encode(["abc"]).tolist()
    ('Lengths', 1, [[3.0]])
    """

    own: Any
    width: int = 0  # 0 before `fit`
    path: str = ""  # under which it is saved; empty: where its class is defined

    @property
    def name(self) -> str:
        """Its own name, else that of its class."""
        given = getattr(self.own, "name", None)
        return given if isinstance(given, str) and given else type(self.own).__name__

    @property
    def kind(self) -> str:
        """ "module:Class"."""
        return self.path or import_path(self.own)

    @property
    def identity(self) -> str | None:
        """The object's own identity; without one, nothing is cached."""
        given = getattr(self.own, "identity", None)
        return f"custom-{given}" if isinstance(given, str) and given.isidentifier() else None

    def fit(self, texts: Sequence[str], progress: Progress = SILENT) -> Self:
        """Fit the user's object; its `fit` may return nothing."""
        with stage(progress, f"fitting {self.name}", len(texts), "texts"):
            fitted = self.own.fit(list(texts))
            progress.advance(len(texts))
        ready = replace(self, own=self.own if fitted is None else fitted)
        if not is_custom(ready.own):
            raise InputError(
                f"the encoder {self.name}: fit(texts) gave a {type(fitted).__name__}, which has no "
                "encode(texts): return self"
            )
        return replace(ready, width=ready.encode(texts[:SAMPLE]).shape[1])

    def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> NDArray[np.float32]:
        """(n, width), checked: one row of finite numbers a text."""
        verb = getattr(self.own, "encode", None) or self.own.transform
        with stage(progress, f"encoding with {self.name}", len(texts), "texts"):
            given = verb(list(texts))
            progress.advance(len(texts))
        try:
            values = np.asarray(given.toarray() if issparse(given) else given, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise InputError(f"the encoder {self.name} did not give numbers: {error}") from None
        wide = values.shape[1] if values.ndim == 2 else 0
        if values.ndim != 2 or len(values) != len(texts) or wide < 1:
            raise InputError(
                f"the encoder {self.name} gave an array of shape {values.shape} for {len(texts)} texts: "
                "encode(texts) must give one row of numbers for each text"
            )
        if self.width and wide != self.width:
            raise InputError(
                f"the encoder {self.name} gave {wide} numbers a text, but {self.width} when it was fitted"
            )
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
            raise InputError(
                f"the encoder {self.name} gave NaN or infinity for the text {texts[row][:60]!r}"
            )
        return values

    def state(self) -> State:
        """What the object's own `state()` gives, where it has one."""
        own = self.own.state() if callable(getattr(self.own, "state", None)) else None
        return {"width": self.width, "own": own}

    @classmethod
    def from_state(cls, given: Any, state: State, path: str) -> CustomEncoder:
        """From the class or object that the user gives again; a class is made from the saved state, if there is one."""
        own = given
        if isinstance(given, type):
            kept, restore = state["own"], getattr(given, "from_state", None)
            if kept is not None and not callable(restore):
                raise InputError(
                    f"{path} has state() but no class method from_state(state): give an object "
                    "that is ready to encode, or add it"
                )
            own = given() if kept is None or restore is None else restore(kept)
        if not is_custom(own):
            raise InputError(f"{path}: what was given for it has no fit(texts) and encode(texts)")
        return cls(own, int(state["width"]), path)

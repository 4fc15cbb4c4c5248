"""Documents with their ids, other columns and, where there are any, gold labels."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from unruly.errors import InputError, Where
from unruly.html import html_table
from unruly.progress import SILENT, Progress
from unruly.texts.columns import (
    INDEX,
    Layout,
    WhereOf,
    checked_ids,
    checked_texts,
    classes_of,
    dates_of_no_year,
    find_layout,
    from_pandas,
    gold_numbers,
    series_of,
    unusable_rows,
    warn_if_counted_from_one,
)
from unruly.texts.table import BadRow, BrokenFile, OnBadRow, on_bad_row_of
from unruly.wording import plural, shortened

if TYPE_CHECKING:
    from unruly.texts.relation import Relation
    from unruly.texts.stream import CorpusStream


BATCH_ROWS = 100_000
SHOWN = 10  # documents in a notebook


@dataclass(frozen=True, eq=False)
class Corpus:
    """Texts in order, each with a unique id; gold labels are class numbers, -1 where unknown.

    A row without a text (none, an empty one, or nothing but white space) is a document all the same: its
    text is "", and `missing` marks it. Rows that were left out of a file are in `skipped`, and files of a
    folder in `broken`, with the reason.

    >>> corpus = Corpus.from_texts(["call me", "nice song"])
    >>> len(corpus), corpus.ids.to_list()
    (2, [0, 1])
    """

    ids: pl.Series  # (n,), unique
    texts: pl.Series  # (n,), strings without nulls; "" where there is none
    columns: pl.DataFrame  # the other columns, n rows
    gold: NDArray[np.int16] | None = None  # (n,)
    name: str = "texts"  # where the texts came from, for messages
    classes: tuple[str, ...] | None = None  # the names behind the gold numbers, where known
    missing: NDArray[np.bool_] | None = None  # (n,): rows without a text; None: there are none
    skipped: tuple[BadRow, ...] = ()  # rows of the file that are not among the documents
    drawn_from: int | None = None  # of a sample: how many documents it was drawn from
    counted_from_one: bool = False  # whether the file's class numbers seem to start at 1, not at 0
    broken: tuple[BrokenFile, ...] = ()  # of a folder, files that could not be read
    layout: Layout | None = (
        None  # of a table: the columns of texts, ids and gold, which are not among the others
    )

    @property
    def text_column(self) -> str | None:
        """The name of the column that the texts stood in, where known."""
        return None if self.layout is None else self.layout.text

    @property
    def id_column(self) -> str | None:
        """The name of the column that the ids stood in, where there is one."""
        return None if self.layout is None else self.layout.id

    def __post_init__(self) -> None:
        n = len(self.texts)
        if len(self.ids) != n or (self.columns.width and self.columns.height != n):
            raise InputError("ids, texts and columns differ in length", where=Where(self.name))
        if self.gold is not None and len(self.gold) != n:
            raise InputError(
                f"{plural(n, 'text')}, but {plural(len(self.gold), 'gold label')}",
                where=Where(self.name),
            )
        if self.missing is not None and len(self.missing) != n:
            raise InputError("texts and the mask of missing ones differ in length")

    @classmethod
    def of(
        cls,
        documents: object,
        *,
        text: str | None = None,
        id: str | None = None,
        label: str | None = None,
        classes: Sequence[str] | None = None,
        on_bad_row: OnBadRow = "keep",
    ) -> Corpus:
        """A corpus from whatever the user has: a path, a frame, a `Dataset`, a list, or a corpus.

        >>> Corpus.of(["call me"]).texts.to_list()
        ['call me']
        >>> Corpus.of(pl.DataFrame({"review": ["fine"], "stars": [4]})).columns.columns
        ['stars']
        """
        if isinstance(documents, Corpus):
            return documents
        if isinstance(documents, str) and " " in documents and not os.path.exists(documents):
            raise InputError(
                f"there is no file {shortened(documents, 60)!r}: if this is a text, put it into a list"
            )
        if isinstance(documents, str | Path):
            return cls.read(
                documents, text=text, id=id, label=label, classes=classes, on_bad_row=on_bad_row
            )
        match kind_of(documents):
            case "pandas" | "polars":
                return cls.from_frame(
                    documents, text=text, id=id, label=label, classes=classes, on_bad_row=on_bad_row
                )
            case "datasets":
                return cls.from_dataset(documents, text=text, id=id, label=label, classes=classes)
        values = documents
        if hasattr(documents, "tolist"):  # an array, or a pandas series
            values = documents.tolist()
        elif hasattr(documents, "to_list"):  # a polars series
            values = documents.to_list()
        if isinstance(values, Sequence):
            name = getattr(documents, "name", None)  # of a series
            named = Layout(name) if isinstance(name, str) and name else None
            return replace(cls.from_texts(values), layout=named)
        raise InputError(
            f"expected a path, a frame, a Dataset or a list of texts, got {type(documents).__name__}"
        )

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        text: str | None = None,
        id: str | None = None,
        label: str | None = None,
        classes: Sequence[str] | None = None,
        on_bad_row: OnBadRow = "keep",
        progress: Progress = SILENT,
    ) -> Corpus:
        """Read a whole file: CSV, TSV or JSON Lines (also .gz), JSON, Excel, Parquet, or Arrow IPC.

        `text`, `id` and `label` are column names. The text column is found when it is obvious; ids
        are row numbers when no column is named. Labels are class names or numbers of `classes`;
        without `classes`, the labels found are the classes. A folder of Parquet files is read as one table,
        file by file in the order of their names; a folder in WRENCH's layout gives its training split.

        `on_bad_row` decides on rows that cannot be used. "keep" keeps rows without a text, marked in
        `missing`, and stops at malformed ones. "error" stops at either. "skip" leaves out both, and also rows
        without an id, rows whose label is not a class, and files of a folder that cannot be read; `skipped` lists them.
        """
        from unruly.texts.wrench import is_wrench

        _check_path(path)
        if is_wrench(Path(path)):
            return cls.from_wrench(path)
        stream = cls.scan(
            path,
            text=text,
            id=id,
            label=label,
            classes=classes,
            on_bad_row=on_bad_row,
            progress=progress,
        )
        return stream.read(progress)

    @classmethod
    def scan(
        cls,
        path: str | Path,
        *,
        text: str | None = None,
        id: str | None = None,
        label: str | None = None,
        classes: Sequence[str] | None = None,
        batch_rows: int = BATCH_ROWS,
        on_bad_row: OnBadRow = "keep",
        progress: Progress = SILENT,
    ) -> CorpusStream:
        """The same file as an iterable of corpora of at most `batch_rows` documents, in order."""
        from unruly.texts.stream import CorpusStream

        _check_path(path)
        return CorpusStream.open(
            path,
            text=text,
            id=id,
            label=label,
            classes=classes,
            batch_rows=batch_rows,
            on_bad_row=on_bad_row,
            progress=progress,
        )

    @classmethod
    def from_texts(cls, texts: Sequence[str | None], *, name: str = "texts") -> Corpus:
        """A corpus from a list of strings; ids are row numbers; None, NaN and empty texts are missing ones.

        >>> Corpus.from_texts(["call me", None, " "]).missing_count
        2
        """
        if isinstance(texts, str):
            raise InputError("expected a list of texts, got one string: wrap it in a list")
        values = list(texts)
        absent = [value is None or value != value for value in values]  # NaN is not equal to itself
        for row, value in enumerate(values):
            if not isinstance(value, str) and not absent[row]:
                raise InputError(
                    f"expected a text, found {type(value).__name__} {value!r}",
                    where=Where(name, row=row),
                )
        kept = [value if isinstance(value, str) and value.strip() else "" for value in values]
        missing = np.array([text == "" for text in kept], dtype=np.bool_)
        return cls(
            ids=pl.Series("id", range(len(values)), dtype=pl.Int64),
            texts=series_of("text", kept, name, is_text=True).cast(pl.String),
            columns=pl.DataFrame(),
            name=name,
            missing=missing if missing.any() else None,
        )

    @classmethod
    def from_frame(
        cls,
        frame: object,
        *,
        text: str | None = None,
        id: str | None = None,
        label: str | None = None,
        classes: Sequence[str] | None = None,
        name: str = "frame",
        on_bad_row: OnBadRow = "keep",
    ) -> Corpus:
        """A corpus from a polars or pandas frame.

        Ids are the named column; else the index of a pandas frame where that is not 0, 1, 2…; else
        row numbers.
        """
        on_bad_row_of(on_bad_row)
        match kind_of(frame):
            case "polars":
                table = frame.collect() if isinstance(frame, pl.LazyFrame) else frame
                assert isinstance(table, pl.DataFrame)
            case "pandas":
                table, id = from_pandas(frame, text, id, name)
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
        return with_shift_noted(corpus, table.filter(kept), layout)

    @classmethod
    def from_dataset(
        cls,
        dataset: Any,
        *,
        text: str | None = None,
        id: str | None = None,
        label: str | None = None,
        classes: Sequence[str] | None = None,
        name: str = "dataset",
    ) -> Corpus:
        """A corpus from a Hugging Face `Dataset`; a `ClassLabel` column gives gold and classes."""
        if kind_of(dataset) != "datasets":
            what = type(dataset).__name__
            hint = ": pick one of its splits" if hasattr(dataset, "keys") else ""
            raise InputError(f"expected a Hugging Face Dataset, got {what}{hint}")
        named = {
            c: tuple(kind.names) for c, kind in dataset.features.items() if hasattr(kind, "names")
        }
        if label is None and "label" in named:
            label = "label"
        if classes is None and label in named:
            classes = named[label]
        columns = {c: series_of(c, dataset[c][:], name, c == text) for c in dataset.column_names}
        table = pl.DataFrame(columns)
        layout = find_layout(table.schema, name=name, text=text, id=id, label=label)
        return assemble(table, layout, name=name, where=_rows_of(name), classes=classes)[0]

    @classmethod
    def from_wrench(cls, folder: str | Path, split: str = "train") -> Corpus:
        """One split of a folder in WRENCH's layout; gold labels and classes come with it."""
        from unruly.texts.wrench import read_wrench

        return read_wrench(Path(folder), split).corpus

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def missing_count(self) -> int:
        """How many rows have no text."""
        return 0 if self.missing is None else int(self.missing.sum())

    def __repr__(self) -> str:
        """One line.

        >>> Corpus.from_texts(["call me", "nice song"])
        Corpus(2 documents from texts)
        """
        return f"Corpus({', '.join(self._facts())})"

    def _repr_html_(self) -> str:
        """The first documents as a table, for notebooks."""
        head = self.take(range(min(len(self), SHOWN)))
        columns: dict[str, Iterable[object]] = {"id": head.ids, "text": head.texts}
        if head.gold is not None:
            names = self.classes or range(int(head.gold.max(initial=0)) + 1)
            columns["label"] = ["" if g < 0 else str(names[g]) for g in head.gold.tolist()]
        return html_table(
            list(columns), zip(*columns.values(), strict=True), ", ".join(self._facts())
        )

    def _facts(self) -> list[str]:
        facts = [f"{plural(len(self), 'document')} from {self.name}"]
        if self.missing_count:
            facts.append(f"{self.missing_count:,} without a text")
        if self.skipped:
            facts.append(f"{plural(len(self.skipped), 'row')} skipped")
        if self.broken:
            facts.append(f"{plural(len(self.broken), 'file')} left out")
        if self.columns.width:
            facts.append(plural(self.columns.width, "other column"))
        if self.gold is not None:
            facts.append(f"{int((self.gold >= 0).sum()):,} labelled")
        return facts

    @cached_property
    def relation(self) -> Relation | None:
        """The two entities of each document and the words around them, or None for plain texts."""
        if any(self.columns.schema.get(name) != pl.String for name in ("entity1", "entity2")):
            return None
        from unruly.texts.relation import relation_of

        return relation_of(self)

    @property
    def shape(self) -> tuple[int]:
        """(n,): scikit-learn needs this, `len` and indexing by row to split data."""
        return (len(self),)

    def __getitem__(self, wanted: ArrayLike | slice | tuple[Any, ...]) -> Corpus:
        """Some of the documents: `corpus[[0, 2]]` is `corpus.take([0, 2])`."""
        rows, columns = split_index(wanted, "documents", "columns")
        if not is_all(columns):
            raise InputError("documents are picked by row: other columns are in corpus.columns")
        return self.take(picked_rows(rows, len(self)))

    def take(self, rows: ArrayLike) -> Corpus:
        """Some of the documents, in the order asked for: row numbers, or a mask."""
        index = row_numbers(rows, len(self))
        picks = pl.Series(index, dtype=pl.UInt32)
        return replace(
            self,
            ids=self.ids.gather(picks),
            texts=self.texts.gather(picks),
            columns=self.columns[picks] if self.columns.width else self.columns,
            gold=None if self.gold is None else self.gold[index],
            missing=None if self.missing is None else self.missing[index],
        )


def split_index(wanted: Any, rows: str, columns: str) -> tuple[Any, Any]:
    """An index in brackets as rows and columns; all columns where only rows are given.

    >>> split_index(([0, 2], "links"), "votes", "sources"), split_index(3, "votes", "sources")
    (([0, 2], 'links'), (3, slice(None, None, None)))
    """
    if not isinstance(wanted, tuple):
        return wanted, slice(None)
    if len(wanted) != 2:
        raise InputError(f"{rows} have two dimensions: rows, and {columns}")
    return wanted[0], slice(None) if wanted[1] is Ellipsis else wanted[1]


def is_all(wanted: object) -> bool:
    """Whether nothing is left out: `:`."""
    return isinstance(wanted, slice) and wanted == slice(None)


def picked_rows(wanted: Any, n: int) -> NDArray[Any]:
    """Row numbers or a mask from a number, a list, a slice or an array."""
    if isinstance(wanted, slice):
        return np.arange(n)[wanted]
    given = np.atleast_1d(np.asarray(wanted))
    if given.size and given.dtype.kind not in "biu":
        raise InputError(f"rows are picked by number or by a mask, not by {wanted!r}")
    if given.dtype.kind == "b" and given.shape != (n,):
        raise InputError(
            f"a mask needs one flag for each of {plural(n, 'row')}, not {given.size:,}"
        )
    return given


def row_numbers(rows: ArrayLike, n: int) -> NDArray[np.int64]:
    """Row numbers from 0, from row numbers (those below 0 count from the end) or a mask of n rows."""
    given = np.asarray(rows)
    return np.asarray(np.arange(n)[given if given.dtype == np.bool_ else given.astype(np.int64)])


def text_digests(texts: Iterable[str]) -> NDArray[np.uint64]:
    """(n,): a digest of each text; case and runs of white space make no difference.

    >>> a, b = text_digests(["Nice  song", "nice song "])
    >>> bool(a == b)
    True
    """
    return digest_numbers(
        " ".join(text.casefold().split()).encode("utf-8", "surrogatepass") for text in texts
    )


def digest_numbers(pieces: Iterable[bytes]) -> NDArray[np.uint64]:
    """(n,): a number of 64 bits for each piece."""
    digests = b"".join(blake2b(piece, digest_size=8).digest() for piece in pieces)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


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

    `numbers` are the rows' numbers in their file, `skipped` the rows left out already. Returns the corpus,
    and the mask of the frame's rows that are in it.
    """
    rows = np.arange(frame.height, dtype=np.int64) if numbers is None else numbers
    known = tuple(classes) if classes is not None else None
    if on_bad_row != "skip" and (far := dates_of_no_year(frame)):
        row = min(far)
        raise InputError(far[row], where=where(row))
    if layout.label is not None and known is None:
        known = classes_of(frame[layout.label], name)
    kept = np.ones(frame.height, dtype=np.bool_)
    if on_bad_row == "skip":
        bad = unusable_rows(frame, layout, known)
        kept[list(bad)] = False
        skipped = (
            *skipped,
            *(BadRow(int(rows[at]), reason, where(at)) for at, reason in sorted(bad.items())),
        )
        frame, rows = frame.filter(kept), rows[kept]
    at = np.flatnonzero(kept)

    def here(row: int) -> Where:
        return where(int(at[row]) if len(at) else 0)

    texts, missing = checked_texts(frame[layout.text], here, needed=on_bad_row == "error")
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
        layout=layout,
    )
    return corpus, kept


def with_shift_noted(corpus: Corpus, frame: pl.DataFrame, layout: Layout) -> Corpus:
    """The corpus with a note, and a warning, where the labels of a whole table look as if they were counted from 1."""
    if corpus.gold is None or corpus.classes is None or layout.label is None:
        return corpus
    labels = frame[layout.label]
    shifted = warn_if_counted_from_one(labels, corpus.gold, corpus.classes, corpus.name)
    return replace(corpus, counted_from_one=shifted)


def _check_path(path: object) -> None:
    if not isinstance(path, str | Path):
        raise InputError(
            f"expected the path of a file, got {type(path).__name__}: Corpus.of takes frames and lists of texts"
        )


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


def _rows_of(name: str) -> WhereOf:
    return lambda row: Where(name, row=row)

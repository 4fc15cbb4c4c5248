"""Documents with their ids, other columns and, where there are any, gold labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from unruly.errors import InputError, Where
from unruly.html import html_table
from unruly.progress import SILENT, Progress
from unruly.texts.columns import UNKNOWN as UNKNOWN
from unruly.texts.table import BadRow, OnBadRow
from unruly.wording import plural

if TYPE_CHECKING:
    from unruly.texts.relation import Relation
    from unruly.texts.stream import CorpusStream


BATCH_ROWS = 100_000
SHOWN = 10  # documents in a notebook


@dataclass(frozen=True, eq=False)
class Corpus:
    """Texts in order, each with a unique id; gold labels are class numbers, -1 where unknown.

    A row without a text is a document all the same: its text is "", and `missing` marks it. Rows that
    were left out of a file are in `skipped`, with the reason.

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
        from unruly.texts.frames import corpus_of

        return corpus_of(
            documents, text=text, id=id, label=label, classes=classes, on_bad_row=on_bad_row
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
        without `classes`, the labels found are the classes. A folder of Parquet files is read as one, in the
        order of their names; a folder in WRENCH's layout gives its training split.

        `on_bad_row` decides on rows that cannot be used. "keep" keeps rows without a text, marked in
        `missing`, and stops at malformed ones; "skip" leaves out both, and rows without an id or with
        a label that is no class, and files of a folder that cannot be read: `skipped` lists them; "error" stops at either.
        """
        from unruly.texts.stream import CorpusStream
        from unruly.texts.wrench import is_wrench

        if is_wrench(Path(path)):
            return cls.from_wrench(path)
        stream = CorpusStream.open(
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
        """A corpus from a list of strings; ids are row numbers; None and NaN are missing texts.

        >>> Corpus.from_texts(["call me", None]).missing_count
        1
        """
        if isinstance(texts, str):
            raise InputError("expected a list of texts, got one string: wrap it in a list")
        values = list(texts)
        missing = np.array([value is None or value != value for value in values], dtype=np.bool_)
        for row, value in enumerate(values):
            if not isinstance(value, str) and not missing[row]:
                raise InputError(
                    f"expected a text, found {type(value).__name__} {value!r}",
                    where=Where(name, row=row),
                )
        kept = ["" if gone else value for value, gone in zip(values, missing, strict=True)]
        return cls(
            ids=pl.Series("id", range(len(values)), dtype=pl.Int64),
            texts=pl.Series("text", kept, dtype=pl.String),
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
        from unruly.texts.frames import corpus_from_frame

        return corpus_from_frame(
            frame,
            text=text,
            id=id,
            label=label,
            classes=classes,
            name=name,
            on_bad_row=on_bad_row,
        )

    @classmethod
    def from_dataset(
        cls,
        dataset: object,
        *,
        text: str | None = None,
        id: str | None = None,
        label: str | None = None,
        classes: Sequence[str] | None = None,
        name: str = "dataset",
    ) -> Corpus:
        """A corpus from a Hugging Face `Dataset`; a `ClassLabel` column gives gold and classes."""
        from unruly.texts.frames import corpus_from_dataset

        return corpus_from_dataset(
            dataset, text=text, id=id, label=label, classes=classes, name=name
        )

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
        rows = [
            [str(head.ids[i]), head.texts[i], *([] if label is None else [label])]
            for i, label in enumerate(head._labels())
        ]
        header = ["id", "text", *([] if self.gold is None else ["label"])]
        return html_table(header, rows, ", ".join(self._facts()))

    def _facts(self) -> list[str]:
        facts = [f"{plural(len(self), 'document')} from {self.name}"]
        if self.missing_count:
            facts.append(f"{self.missing_count:,} without a text")
        if self.skipped:
            facts.append(f"{plural(len(self.skipped), 'row')} skipped")
        if self.columns.width:
            facts.append(plural(self.columns.width, "other column"))
        if self.gold is not None:
            facts.append(f"{int((self.gold >= 0).sum()):,} labelled")
        return facts

    def _labels(self) -> list[str | None]:
        """The gold labels in words; None where the corpus has none at all."""
        if self.gold is None:
            return [None] * len(self)
        names = self.classes
        return ["" if g < 0 else names[g] if names else str(g) for g in (int(x) for x in self.gold)]

    @cached_property
    def relation(self) -> Relation | None:
        """The two entities of each document and the words around them, or None for plain texts."""
        if any(self.columns.schema.get(name) != pl.String for name in ("entity1", "entity2")):
            return None
        from unruly.texts.relation import relation_of

        return relation_of(self)

    @property
    def shape(self) -> tuple[int]:
        """(n,): with `len` and rows by index, all that scikit-learn asks of the data that it splits."""
        return (len(self),)

    def __getitem__(self, rows: ArrayLike | slice | tuple[ArrayLike, object]) -> Corpus:
        """Some of the documents: `corpus[[0, 2]]` is `corpus.take([0, 2])`."""
        index = rows[0] if isinstance(rows, tuple) else rows
        picks = np.arange(len(self))[index] if isinstance(index, slice) else np.asarray(index)
        return self.take(np.atleast_1d(picks))

    def take(self, rows: ArrayLike) -> Corpus:
        """Some of the documents, in the order asked for: row numbers, or a mask."""
        wanted = np.asarray(rows)
        whole = wanted if wanted.dtype == np.bool_ else wanted.astype(np.int64)
        index = np.arange(len(self))[whole]
        picks = pl.Series(index, dtype=pl.UInt32)
        return Corpus(
            ids=self.ids.gather(picks),
            texts=self.texts.gather(picks),
            columns=self.columns[picks] if self.columns.width else self.columns,
            gold=None if self.gold is None else self.gold[index],
            name=self.name,
            classes=self.classes,
            missing=None if self.missing is None else self.missing[index],
            skipped=self.skipped,
            drawn_from=self.drawn_from,
        )


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

"""The vote matrix: one row a document, one column a source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, DTypeLike, NDArray

from unruly.errors import InputError, need
from unruly.html import html_table
from unruly.texts.columns import MOST_CLASSES as MOST_CLASSES
from unruly.texts.corpus import is_all, kind_of, picked_rows, row_numbers, split_index
from unruly.votes.provenance import Match, PickedRows, Provenance
from unruly.wording import index_of, plural

if TYPE_CHECKING:
    from unruly.texts.corpus import Corpus
    from unruly.votes.summary import Summary

ABSTAIN = -1
Columns = str | int | slice | Sequence[str] | Sequence[int] | Sequence[bool] | NDArray[Any]
EVEN = 1e-4  # shares that differ by less, relatively, are equal
DIGITS = 9  # counts of votes are rounded to these, so that three thirds of a vote tie with one vote
SLACK = 0.01  # how far from 1 the shares of a soft vote may sum: some are rounded


class VoteKind(IntEnum):
    """What the shares of a soft vote say."""

    NONE = 0  # nothing: the source abstains
    SINGLE = 1  # one class
    PARTIAL = 2  # one of some classes, in equal shares
    GRADED = 3  # probabilities, equal ones of all classes included


def is_even(shares: NDArray[np.floating], size: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Where a share is that of one among `size` classes with equal shares."""
    return np.asarray(np.abs(shares * size - 1) < EVEN)


@dataclass(frozen=True, eq=False)
class Votes:
    """An immutable n×k matrix of votes, with its sources, classes and document ids.

    A cell holds a class number, or -1 where the source abstains; `voted` is the mask. Soft votes
    (probabilities) are in `soft`; the cell then holds the likeliest class. A partial vote ("one of these
    classes") is a soft vote in equal shares; its cell holds the first class, `sets`, `agrees` and `label` know
    all of them. Where a source was never asked, its vote is missing (`unasked`), which is not an abstention.

    >>> votes = Votes.from_array([[0, -1], [1, 1]], classes=["ham", "spam"], sources=["a", "b"])
    >>> votes.voted
    array([[ True, False],
           [ True,  True]])
    >>> votes.coverage
    1.0
    """

    matrix: NDArray[np.int8]  # (n, k), read-only
    sources: tuple[str, ...]
    classes: tuple[str, ...]
    ids: pl.Series  # (n,), unique
    soft: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)  # source -> (n, m)
    provenance: Provenance | None = None
    unasked: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)  # source -> (n,)

    def __post_init__(self) -> None:
        n, k = self.matrix.shape
        if len(self.sources) != k:
            raise InputError(
                f"votes have {plural(k, 'column')}, but {plural(len(self.sources), 'name')} of sources: give one for each column"
            )
        if len(set(self.sources)) != k:
            twice = next(s for s in self.sources if self.sources.count(s) > 1)
            raise InputError(f"two sources are named {twice!r}: give each source its own name")
        if len(self.ids) != n:
            raise InputError(
                f"votes have {plural(n, 'row')}, but {plural(len(self.ids), 'id')}: give one for each row"
            )
        if not 2 <= len(self.classes) <= MOST_CLASSES:
            raise InputError(f"votes need 2 to {MOST_CLASSES} classes, not {len(self.classes)}")
        if len(set(self.classes)) != len(self.classes):
            twice = next(c for c in self.classes if self.classes.count(c) > 1)
            raise InputError(f"two classes are named {twice!r}: give each class its own name")
        if n and k:
            low, high = int(self.matrix.min()), int(self.matrix.max())
            if low < ABSTAIN or high >= len(self.classes):
                raise InputError(
                    f"a vote of {low if low < ABSTAIN else high} is neither -1 (abstain) nor a class "
                    f"number from 0 to {len(self.classes) - 1}: convert with "
                    "Votes.from_array(..., abstain=...)"
                )
        for source, values in self.soft.items():
            if source not in self.sources or values.shape != (n, len(self.classes)):
                raise InputError(
                    f"soft votes of {source!r} must be {plural(n, 'document')} × {len(self.classes)} classes"
                )
            self._check_shares(source, values)
        for source, missing in self.unasked.items():
            if source not in self.sources or missing.shape != (n,):
                raise InputError(f"unasked documents of {source!r} must be one flag a document")
        ours = self.matrix.view()  # not copied: the caller's own array stays writeable
        ours.flags.writeable = False
        object.__setattr__(self, "matrix", ours)

    def _check_shares(self, source: str, shares: NDArray[np.float32]) -> None:
        """Refuse soft votes (n, m) that are no probabilities; where the source abstains they may be anything."""
        with np.errstate(invalid="ignore"):
            off = np.abs(shares.sum(axis=1) - 1)  # (n,)
        good = (shares >= 0).all(axis=1) & (off <= SLACK + EVEN)  # NaN is neither
        bad = np.flatnonzero(~good & (self.matrix[:, self.sources.index(source)] != ABSTAIN))
        if len(bad):
            found = ", ".join(f"{share:g}" for share in shares[bad[0]].tolist())
            raise InputError(
                f"the soft vote of {source!r} in row {bad[0]} is {found}: give each class a share from 0 to 1, which "
                "sum to 1, or -1 in the matrix where the source abstains"
            )

    @classmethod
    def from_array(
        cls,
        array: ArrayLike | pl.DataFrame | pl.LazyFrame,
        *,
        classes: Sequence[str] | None = None,
        sources: Sequence[str] | None = None,
        ids: Sequence[object] | pl.Series | None = None,
        abstain: int = ABSTAIN,
    ) -> Votes:
        """Votes from any integer matrix; `abstain` is the value that means no vote.

        The columns of a pandas or polars frame name the sources. It may hold class names, as `to_pandas` and `to_frame`
        give them, and miss values where a source abstains; classes that are not listed are then sorted.

        Class numbers are taken as they are when `abstain` is -1; with `abstain=0` (FlyingSquid,
        MeTaL, Alfred), classes are numbered from 1 in the input and from 0 afterwards.

        >>> Votes.from_array([[1, 0], [2, 2]], abstain=0).matrix.tolist()
        [[0, -1], [1, 1]]
        """
        if isinstance(array, pl.LazyFrame):
            array = array.collect()
        if abstain == ABSTAIN and is_table(array):
            from unruly.votes.files import votes_from_frame

            votes = votes_from_frame(array, classes, ids)
            return votes if sources is None else replace(votes, sources=tuple(sources))
        matrix = class_numbers(array, abstain)
        high = int(matrix.max(initial=ABSTAIN))
        if classes is None and high == 0:
            raise InputError(
                "all votes name one class, and a classifier needs at least two to choose from: "
                "list all classes with classes = [...]"
            )
        names = tuple(classes) if classes else tuple(str(c) for c in range(max(2, high + 1)))
        n, k = matrix.shape
        if sources is None and hasattr(array, "columns"):
            sources = [str(column) for column in array.columns]
        return cls(
            matrix=matrix,
            sources=tuple(sources) if sources else tuple(f"source_{j}" for j in range(k)),
            classes=names,
            ids=unique_ids(ids, n),
        )

    @classmethod
    def read(cls, path: str | Path, *, classes: Sequence[str] | None = None) -> Votes:
        """Votes from a file by its ending: .parquet, or .csv, .tsv or .jsonl with class names."""
        from unruly.votes.files import read_votes

        return read_votes(Path(path), classes)

    @classmethod
    def from_wrench(
        cls, folder: str | Path, split: str = "train", votes: str = "weak_labels"
    ) -> Votes:
        """The votes stored in one split of a folder in WRENCH's layout."""
        from unruly.votes.files import read_wrench_votes

        return read_wrench_votes(Path(folder), split, votes)

    @classmethod
    def from_long(
        cls,
        table: object,
        *,
        classes: Sequence[str] | None = None,
        ids: Sequence[object] | pl.Series | None = None,
        sources: Sequence[str] | None = None,
    ) -> Votes:
        """Votes from crowd-kit's long table (`task, worker, label`), pandas or polars.

        `ids` and `sources` fix the order, and keep documents and sources without any vote.
        """
        from unruly.votes.files import votes_from_long

        return votes_from_long(table, classes=classes, ids=ids, sources=sources)

    @classmethod
    def concat(cls, parts: Sequence[Votes]) -> Votes:
        """The votes of several batches of documents, one below the other.

        >>> a = Votes.from_array([[0], [1]], ids=["x", "y"])
        >>> Votes.concat([a, Votes.from_array([[1]], ids=["z"])]).ids.to_list()
        ['x', 'y', 'z']
        """
        if not parts:
            raise InputError("there are no votes to put together")
        first = parts[0]
        for part in parts:
            if part.sources != first.sources or part.classes != first.classes:
                raise InputError("votes of different sources or classes cannot be put together")
            if part.soft.keys() != first.soft.keys():
                raise InputError("votes with different soft sources cannot be put together")
        return cls(
            matrix=np.concatenate([part.matrix for part in parts]),
            sources=first.sources,
            classes=first.classes,
            ids=unique_ids(pl.concat([part.ids for part in parts]), sum(part.n for part in parts)),
            soft={s: np.concatenate([part.soft[s] for part in parts]) for s in first.soft},
            provenance=PickedRows.joined(parts),
            unasked={
                s: np.concatenate([p.unasked.get(s, np.zeros(p.n, np.bool_)) for p in parts])
                for s in first.sources
                if any(s in part.unasked for part in parts)
            },
        )

    def write(self, path: str | Path) -> None:
        """Write to a file by its ending: .parquet keeps everything; .csv, .tsv, .jsonl class names."""
        from unruly.votes.files import write_votes

        write_votes(self, Path(path))

    def to_array(self, abstain: int = ABSTAIN) -> NDArray[np.int64]:
        """(n, k): a fresh matrix; with `abstain=0`, classes are numbered from 1.

        >>> Votes.from_array([[0, -1], [1, 1]]).to_array(abstain=0).tolist()
        [[1, 0], [2, 2]]
        """
        if 0 < abstain < self.m:
            raise InputError(f"{abstain} cannot mean abstain: it is the number of a class")
        numbers = self.matrix.astype(np.int64) + (1 if abstain == 0 else 0)
        return np.where(self.voted, numbers, abstain)

    def to_frame(self) -> pl.DataFrame:
        """A polars table: the ids, then for each source the class that it names, null where it abstains.

        >>> Votes.from_array([[0, -1]], classes=["ham", "spam"], ids=["d1"]).to_frame().rows()
        [('d1', 'ham', None)]
        """
        from unruly.votes.files import named_frame

        return named_frame(self)

    def to_pandas(self) -> Any:
        """The same in pandas, with the ids as its index."""
        pandas = need("pandas", extra="pandas", purpose="pandas tables")
        frame = self.to_frame()
        names = {name: frame[name].to_list() for name in self.sources}
        return pandas.DataFrame(names, index=pandas.Index(self.ids.to_list(), name="id"))

    def to_wrench(self, folder: str | Path, corpus: Corpus, split: str = "train") -> None:
        """Write these votes and their documents as one split in WRENCH's layout."""
        from unruly.votes.files import write_wrench

        write_wrench(self, Path(folder), corpus, split)

    def to_long(self) -> pl.DataFrame:
        """crowd-kit's long table, one row a vote: `task` (id), `worker` (source), `label` (class).

        >>> Votes.from_array([[0, -1]], classes=["ham", "spam"], ids=["d1"]).to_long().rows()
        [('d1', 'source_0', 'ham')]
        """
        from unruly.votes.files import votes_to_long

        return votes_to_long(self)

    def summary(self, gold: ArrayLike | None = None) -> Summary:
        """The source table with Snorkel's columns, a total row, and majority vote.

        `gold` is a class name or number for each document, None or -1 where unknown.
        """
        from unruly.votes.summary import checked_gold, summarise

        return summarise(self, None if gold is None else checked_gold(gold, self))

    @property
    def n(self) -> int:
        """How many documents."""
        return int(self.matrix.shape[0])

    @property
    def k(self) -> int:
        """How many sources."""
        return int(self.matrix.shape[1])

    @property
    def m(self) -> int:
        """How many classes."""
        return len(self.classes)

    @cached_property
    def voted(self) -> NDArray[np.bool_]:
        """(n, k): where a source voted."""
        return np.asarray(self.matrix != ABSTAIN)

    @cached_property
    def covered(self) -> NDArray[np.bool_]:
        """(n,): documents with at least one vote."""
        return np.asarray(self.voted.any(axis=1))

    @property
    def coverage(self) -> float:
        """The share of documents with at least one vote."""
        return float(self.covered.mean()) if self.n else 0.0

    @cached_property
    def kinds(self) -> Mapping[str, NDArray[np.int8]]:
        """Source with shares in `soft` -> (n,): the `VoteKind` of each of its votes."""
        found = {}
        for name, shares in self.soft.items():
            some = shares > 0  # (n, m); NaN is not
            size = some.sum(axis=1)
            even = (is_even(shares, size[:, None]) | ~some).all(axis=1)
            kind = np.full(self.n, VoteKind.GRADED, np.int8)
            kind[(size > 1) & (size < self.m) & even] = VoteKind.PARTIAL
            kind[shares.max(axis=1, initial=0) > 1 - EVEN] = VoteKind.SINGLE
            kind[~self.voted[:, self.sources.index(name)]] = VoteKind.NONE
            found[name] = kind
        return found

    @cached_property
    def sets(self) -> Mapping[int, NDArray[np.bool_]]:
        """Source -> (n, m): the classes of its partial votes, no class where a vote is not partial.

        Sources without a partial vote are left out.
        """
        found = {}
        for name, kind in self.kinds.items():
            partial = kind == VoteKind.PARTIAL
            if partial.any():
                found[self.sources.index(name)] = (self.soft[name] > 0) & partial[:, None]
        return found

    @cached_property
    def hard(self) -> NDArray[np.int8]:
        """(n, k): the matrix with -1 in place of partial votes, for code that knows only votes for one class."""
        if not self.sets:
            return self.matrix
        matrix = self.matrix.copy()
        for j, sets in self.sets.items():
            matrix[sets.any(axis=1), j] = ABSTAIN
        return matrix

    def graded(self, source: str) -> bool:
        """Whether some vote of the source has probabilities that its class names do not tell."""
        return source in self.kinds and bool((self.kinds[source] == VoteKind.GRADED).any())

    def agrees(
        self, answers: NDArray[np.integer[Any]], rows: slice = slice(None)
    ) -> NDArray[np.bool_]:
        """(n, k): where a vote names the class (n,) given for its document, alone or among others.

        With `rows`, of these documents only.

        >>> votes = Votes.from_array([[0, -1], [1, 1]])
        >>> votes.agrees(np.array([0, 0])).tolist()
        [[True, False], [False, False]]
        """
        wanted = np.where(answers >= 0, answers, -2)  # -2: equal to no vote
        same = np.asarray(self.matrix[rows] == wanted[:, None])
        for j, all_sets in self.sets.items():
            sets = all_sets[rows]
            partial = np.flatnonzero(sets.any(axis=1))
            named = answers[partial]
            same[partial, j] = (named >= 0) & sets[partial, named]
        return same

    def label(self, row: int, j: int) -> str:
        """The class that a vote names, or its classes: 'billing or bug'."""
        if j in self.sets and self.sets[j][row].any():
            return one_of(self.classes[r] for r in np.flatnonzero(self.sets[j][row]))
        return str(self.classes[self.matrix[row, j]])

    def inseparable(self) -> tuple[tuple[str, ...], ...]:
        """Groups of classes that no vote tells apart: every vote names all of a group, or none.

        Only partial votes can do so. Classes that no vote names at all are not among them.

        >>> votes = Votes.from_array([[0], [2]], classes=["x", "y", "z"], sources=["a"])
        >>> either = np.array([[0.5, 0.5, 0], [0, 0, 1]], np.float32)
        >>> replace(votes, soft={"a": either}).inseparable()
        (('x', 'y'),)
        """
        alone = np.array([(self.hard == r).any() for r in range(self.m)])  # (m,)
        named = [np.unique(sets[sets.any(axis=1)], axis=0) for sets in self.sets.values()]
        groups: dict[bytes, list[str]] = {}
        if named:
            together = np.concatenate(named)  # (distinct partial votes, m)
            for r in np.flatnonzero(together.any(axis=0) & ~alone):
                groups.setdefault(together[:, r].tobytes(), []).append(self.classes[r])
        return tuple(tuple(group) for group in groups.values() if len(group) > 1)

    def counts(self) -> NDArray[np.float64]:
        """(n, m): how many sources voted for each class; a partial vote counts in equal parts."""
        from unruly.votes.majority import vote_counts

        return vote_counts(self)

    def take(self, rows: ArrayLike) -> Votes:
        """The same votes for some documents only: row numbers, or a mask. The rules stay known."""
        index = row_numbers(rows, self.n)
        known = None if self.provenance is None else PickedRows.of(self.provenance, self.n)
        return replace(
            self,
            matrix=self.matrix[index],
            ids=self.ids.gather(pl.Series(index, dtype=pl.UInt32)),
            soft={name: values[index] for name, values in self.soft.items()},
            provenance=None if known is None else known.take(index),
            unasked={name: missing[index] for name, missing in self.unasked.items()},
        )

    def of_sources(self, sources: Columns) -> Votes:
        """The votes of some sources only, in the order asked for: by name or number, a list, a slice or a mask.

        >>> votes = Votes.from_array([[0, -1], [1, 1]], sources=["links", "praise"])
        >>> votes.of_sources("praise").matrix.tolist(), votes.of_sources([1, 0]).sources
        ([[-1], [1]], ('praise', 'links'))
        """
        columns = self._columns(sources)
        names = tuple(self.sources[j] for j in columns)
        return replace(
            self,
            matrix=self.matrix[:, columns],
            sources=names,
            soft={name: self.soft[name] for name in names if name in self.soft},
            provenance=None if self.provenance is None else self.provenance.of_sources(names),
            unasked={name: self.unasked[name] for name in names if name in self.unasked},
        )

    def _columns(self, sources: Columns) -> list[int]:
        """The numbers of these sources."""
        if isinstance(sources, slice):
            return list(range(self.k))[sources]
        given = np.atleast_1d(np.asarray(sources))
        if given.dtype.kind == "b" and given.shape == (self.k,):
            return [int(j) for j in np.flatnonzero(given)]
        if given.ndim != 1 or given.dtype.kind not in "iuUO":
            raise InputError(
                f"{sources!r} names no sources: give a name or a number, a list of these, a slice, or one flag for "
                f"each of {plural(self.k, 'source')}"
            )
        return [self._column(source) for source in given.tolist()]

    def _column(self, source: object) -> int:
        if isinstance(source, str):
            return index_of(source, self.sources, "source")
        if not isinstance(source, int) or not -self.k <= source < self.k:
            raise InputError(
                f"there is no source {source!r}: the votes have {plural(self.k, 'source')}, from 0"
            )
        return source % self.k

    def __repr__(self) -> str:
        """One line.

        >>> Votes.from_array([[0, -1], [1, 1]], classes=["ham", "spam"])
        Votes(2 documents × 2 sources, classes ham and spam, coverage 100.0%)
        """
        named = f"classes {' and '.join(self.classes)}" if self.m == 2 else f"{self.m} classes"
        return (
            f"Votes({plural(self.n, 'document')} × {plural(self.k, 'source')}, "
            f"{named}, coverage {self.coverage:.1%})"
        )

    def _repr_html_(self) -> str:
        """The source table, for notebooks."""
        return html_table(*self.summary().cells(), repr(self))

    def __len__(self) -> int:
        return self.n

    @property
    def shape(self) -> tuple[int, int]:
        """(n, k): scikit-learn needs this, `len`, indexing by row and `numpy.asarray` of a target."""
        return self.n, self.k

    def __getitem__(self, wanted: ArrayLike | slice | tuple[Any, ...]) -> Votes:
        """Some of the documents, and of the sources: `votes[[0, 2]]` is `votes.take([0, 2])`.

        >>> votes = Votes.from_array([[0, -1], [1, 1], [0, 0]], sources=["links", "praise"])
        >>> votes[1:, "links"].matrix.tolist()
        [[1], [0]]
        """
        rows, sources = split_index(wanted, "votes", "sources")
        votes = self if is_all(sources) else self.of_sources(sources)
        return votes if is_all(rows) else votes.take(picked_rows(rows, self.n))

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> NDArray[np.int8]:
        return np.array(self.matrix, dtype=dtype, copy=copy)

    def matches(self, row: int) -> tuple[Match, ...]:
        """Which rule of which source fired on this document, and on which spans of its text."""
        if not -self.n <= row < self.n:
            raise InputError(
                f"there is no document {row}: the votes have {plural(self.n, 'row')}, from 0"
            )
        if self.provenance is None:
            raise InputError(
                "these votes were read from a file or an array, so the rules behind them are not "
                "known: match the rules again with sources.vote(corpus)"
            )
        return self.provenance.matches(row % self.n)


def one_of(names: Iterable[str]) -> str:
    """The classes of a partial vote in words.

    >>> one_of(["billing", "bug"]), one_of(["a", "b", "c"])
    ('billing or bug', 'a, b or c')
    """
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def is_table(given: object) -> bool:
    """Whether it is a frame in which classes go by name, or votes are missing; else it is a matrix of numbers.

    >>> is_table(pl.DataFrame({"a": ["ham", None]})), is_table(pl.DataFrame({"a": [0, -1]}))
    (True, False)
    """
    if kind_of(given) not in ("pandas", "polars"):
        return False
    raw = np.asarray(given.collect() if isinstance(given, pl.LazyFrame) else given)
    return raw.dtype.kind not in "iufb" or (raw.dtype.kind == "f" and bool(np.isnan(raw).any()))


def class_numbers(array: ArrayLike | pl.DataFrame, abstain: int = ABSTAIN) -> NDArray[np.int8]:
    """(n, k): the matrix, checked; with `abstain=0`, classes are numbered from 1 in the input.

    >>> class_numbers([[1, 0], [2, 2]], abstain=0)
    array([[ 0, -1],
           [ 1,  1]], dtype=int8)
    """
    try:
        raw = np.asarray(array)
    except ValueError:
        raise InputError(
            "the votes are not a matrix: give each document one value for each source"
        ) from None
    if raw.ndim != 2:
        raise InputError(
            f"votes must be a matrix of documents × sources, not {raw.ndim}-dimensional"
        )
    if raw.dtype.kind == "f" and not np.array_equal(raw, np.round(raw)):
        raise InputError(
            f"votes must be whole numbers: give class numbers, and {abstain} for abstain"
        )
    if raw.dtype.kind not in "iufb":
        raise InputError(
            f"votes must be whole numbers, not {raw.dtype}: give class numbers, and {abstain} for abstain"
        )
    whole = raw.astype(np.int64)
    none = whole == abstain
    shift = 1 if abstain == 0 else 0
    matrix = np.where(none, ABSTAIN, whole - shift)
    high = int(matrix.max(initial=0))
    if int(matrix.min(initial=0)) < ABSTAIN or high >= MOST_CLASSES:
        raise InputError(
            f"votes range from {int(whole.min())} to {int(whole.max())} with abstain={abstain}: "
            f"class numbers must lie between 0 and {MOST_CLASSES - 1}"
        )
    return matrix.astype(np.int8)


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

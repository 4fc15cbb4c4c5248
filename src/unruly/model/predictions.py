"""Predictions as a table or a file: label, confidence, probabilities, deciding head, voters. Features to a file."""

from __future__ import annotations

import warnings
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeVar, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from unruly.errors import InputError, SettingsError, Where
from unruly.features.encoder import thread_count
from unruly.files import check_no_folder, check_not_input
from unruly.findings import DocumentsGivenUp, DocumentsUnasked
from unruly.html import html_table
from unruly.learner import Decider, Heads
from unruly.progress import SILENT, Progress, stage
from unruly.rules.matching import GaveUpWarning, given_up, given_up_together, warn_given_up
from unruly.texts.columns import remembered
from unruly.texts.corpus import Corpus
from unruly.texts.frame_table import files_of
from unruly.texts.stream import FLAT, Batch, CorpusStream, RowWriter, format_of
from unruly.texts.table import BadRow, BrokenFile, OnBadRow, one_of
from unruly.votes.votes import Votes
from unruly.wording import counted, free_name, plural

if TYPE_CHECKING:
    from unruly.model.weak_classifier import WeakClassifier

ROWS = 10  # that a notebook shows
CONTAINERS = ("default", "pandas", "polars")
BATCH_ROWS = 10_000  # documents predicted together: the features of more fall out of the memory that is reused
MOST_NUMBERS = 20_000_000  # of the features of one batch
MOST_WORKERS = (
    8  # unless the user wants more: each has a batch in memory, and what is Python goes one by one
)
Missing = Literal["label", "empty"]  # what a row without a text gets
_MISSING: tuple[Missing, ...] = get_args(Missing)
_DECIDERS = [one.word for one in Decider]  # by number


@dataclass(frozen=True, eq=False)
class Predictions:
    """The answers for n documents, in their order.

    >>> half = np.full((1, 2), 0.5, dtype=np.float32)
    >>> sure = np.array([[0.1, 0.9]], dtype=np.float32)
    >>> heads = Heads(half, sure, sure, np.array([2], dtype=np.int8), np.zeros((1, 1)))
    >>> votes = Votes.from_array([[-1]], classes=["ham", "spam"], sources=["links"])
    >>> answers = Predictions(heads, votes)
    >>> answers.labels, answers.decided_by, answers.voters
    (['spam'], ['classifier'], [[]])
    """

    heads: Heads
    votes: Votes

    def __post_init__(self) -> None:
        if self.heads.combined.shape != (self.votes.n, self.votes.m):
            raise InputError(
                f"answers of shape {self.heads.combined.shape} do not fit votes on {self.votes.n} "
                f"documents and {self.votes.m} classes"
            )

    def __len__(self) -> int:
        return self.votes.n

    def __repr__(self) -> str:
        return f"Predictions({plural(len(self), 'document')}: {self._counts()})"

    def _repr_html_(self) -> str:
        rows = self.to_frame().head(ROWS)
        cells = (
            (row["id"], row["label"], f"{row['confidence']:.1%}", row["decided_by"], _names(row))
            for row in rows.iter_rows(named=True)
        )
        more = f", the first {ROWS}" if len(self) > ROWS else ""
        caption = f"{plural(len(self), 'document')}: {self._counts()}{more}"
        return html_table(["id", "label", "confidence", "decided by", "sources"], cells, caption)

    def _counts(self) -> str:
        counts = np.bincount(self.numbers, minlength=len(self.classes))
        return counted(self.classes, counts.tolist())

    @property
    def classes(self) -> tuple[str, ...]:
        """The class names, in the order of the columns."""
        return self.votes.classes

    @property
    def ids(self) -> pl.Series:
        """The ids of the documents."""
        return self.votes.ids

    @property
    def proba(self) -> NDArray[np.float32]:
        """(n, m): the probability of each class."""
        return self.heads.combined

    @property
    def numbers(self) -> NDArray[np.intp]:
        """(n,): the likeliest class of each document, as a number."""
        return self.heads.predicted

    @property
    def labels(self) -> list[str]:
        """The likeliest class of each document, by name."""
        return [self.classes[number] for number in self.numbers]

    @property
    def confidence(self) -> NDArray[np.float32]:
        """(n,): the probability of that class."""
        return np.asarray(self.proba.max(axis=1))

    @property
    def decided_by(self) -> list[str]:
        """Which head decided: 'denoiser', 'classifier', 'both' where they agree, 'together' where neither alone would.

        'prior' where there is neither a text nor a vote: the class shares alone.
        """
        return [_DECIDERS[code] for code in self.heads.decided_by.tolist()]

    @property
    def voters(self) -> list[list[str]]:
        """The sources that voted on each document."""
        names = np.array(self.votes.sources, dtype=object)
        return [names[row].tolist() for row in self.votes.voted]

    def to_frame(self) -> pl.DataFrame:
        """One row for each document: its id, and the columns that `unruly predict` adds."""
        return self.columns().insert_column(0, self.ids.alias("id"))

    def columns(self) -> pl.DataFrame:
        """The columns that `unruly predict` adds, without the id."""
        return pl.DataFrame(
            {
                "label": pl.Series(self.classes, dtype=pl.String).gather(self.numbers),
                "confidence": self.confidence,
                **{f"probability_{c}": self.proba[:, r] for r, c in enumerate(self.classes)},
                "decided_by": pl.Series(_DECIDERS).gather(self.heads.decided_by.astype(np.int64)),
                "sources": self._sources(),
            }
        )

    def _sources(self) -> pl.Series:
        """(n,): the voters as lists of names; rows on which the same sources voted share one."""
        packed = np.packbits(self.votes.voted, axis=1)  # (n, bytes)
        rows = np.ascontiguousarray(packed).view(f"V{max(1, packed.shape[1])}").ravel()
        _, first, which = np.unique(rows, return_index=True, return_inverse=True)
        names = np.array(self.votes.sources, dtype=object)
        lists = [names[self.votes.voted[row]].tolist() for row in first]
        return pl.Series(lists, dtype=pl.List(pl.String)).gather(which.ravel())


def _names(row: dict[str, Any]) -> str:
    return ", ".join(row["sources"])


def added_schema(classes: Iterable[str]) -> dict[str, pl.DataType]:
    """The columns that predictions add, and their kinds.

    >>> list(added_schema(["ham"]))
    ['label', 'confidence', 'probability_ham', 'decided_by', 'sources']
    """
    return {
        "label": pl.String(),
        "confidence": pl.Float32(),
        **{f"probability_{c}": pl.Float32() for c in classes},
        "decided_by": pl.String(),
        "sources": pl.List(pl.String),
    }


def free_names(wanted: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """New names for columns, so that none of the user's own is overwritten.

    >>> free_names(["label", "confidence"], ["text", "label"])
    {'label': 'predicted_label', 'confidence': 'confidence'}
    >>> free_names(["label"], ["label", "predicted_label"])
    {'label': 'predicted_label_2'}
    """
    used, names = set(taken), {}
    for name in wanted:
        free = name if name not in used else free_name(f"predicted_{name}", used, "_")
        names[name] = free
        used.add(free)
    return names


def checked_container(name: str) -> str:
    """One of 'default' (arrays), 'pandas' and 'polars'."""
    if name not in CONTAINERS:
        raise SettingsError(
            f"set_output(transform={name!r}): must be {', '.join(CONTAINERS)}", option="transform"
        )
    return name


def contained(
    values: NDArray[Any], columns: Sequence[Any] | None, container: str | None, index: Any
) -> Any:
    """An answer in the container that was asked for; by default pandas where pandas came in."""
    if container == "polars":
        if columns is None:
            return pl.Series("label", values)
        return pl.DataFrame(values, schema=[str(name) for name in columns])
    if container == "pandas" or (container is None and index is not None):
        import pandas as pd

        if columns is None:
            return pd.Series(values, index=index, name="label")
        return pd.DataFrame(values, index=index, columns=list(columns))
    return values


@dataclass(frozen=True)
class Passed:
    """The rows that were read and written."""

    path: Path | None  # None: to an open stream
    text: str  # the column that was read as the text
    documents: int
    missing: int  # rows without a text
    skipped: tuple[BadRow, ...]  # rows that were left out
    broken: tuple[BrokenFile, ...]  # files of a folder that were left out


@dataclass(frozen=True)
class Written(Passed):
    """Predictions that were written."""

    covered: int  # documents with at least one vote
    labels: dict[str, int]  # how many documents were given each class
    columns: dict[str, str]  # each added column -> its name in the file
    given_up: tuple[DocumentsGivenUp, ...]  # where rules took too long, and so abstain
    unasked: tuple[
        DocumentsUnasked, ...
    ]  # language models that were not asked about some documents


def predict_file(
    model: WeakClassifier,
    data: str | Path,
    out: str | Path,
    *,
    text: str | None = None,
    id: str | None = None,
    batch_rows: int = BATCH_ROWS,
    on_bad_row: OnBadRow = "keep",
    missing: Missing = "label",
    defuse: bool = False,
    workers: int | None = None,
    progress: Progress = SILENT,
) -> Written:
    """Label every row of `data`, and write it with its own columns and ours to `out`.

    The ending of `out` tells the format: .csv, .tsv, .jsonl, .ndjson or .parquet. Columns and rows keep
    their order, and every record of a CSV file is written as the bytes that it was; where the data already has a
    column of a name that we add, ours is called `predicted_…`. In CSV, the sources that voted are joined
    by semicolons. Without `text`, the texts are in the column that the model was fitted on, where the data has it,
    or in the one that is obvious. A row without a text and votes gets the class shares of the fit or, with
    `missing="empty"`, no label. With `defuse`, cells of CSV that a spreadsheet would run as a formula get an apostrophe.

    So many `workers`, threads of this process, label a batch each at once; the file is the same whatever their number. None: one
    for each processor, at most eight; or one, where more would not help: rules that run in Python, and encoders that
    use all processors themselves.
    """
    target = Path(out)
    format_of(target)
    check_no_folder(target)
    check_not_input(target, files_of(Path(data)))
    column = text or remembered(model.text_column)
    stream = Corpus.scan(data, text=column, id=id, batch_rows=batch_rows, on_bad_row=on_bad_row)
    return predict_stream(
        model, stream, target, missing=missing, defuse=defuse, workers=workers, progress=progress
    )


def missing_of(given: str) -> Missing:
    """What a row without a text gets; refused where it is neither of the two words.

    >>> missing_of("empty")
    'empty'
    """
    return one_of("missing", given, _MISSING)


def predict_stream(
    model: WeakClassifier,
    stream: CorpusStream,
    target: Path | IO[bytes],
    *,
    missing: Missing = "label",
    defuse: bool = False,
    form: str = "",
    workers: int | None = None,
    progress: Progress = SILENT,
) -> Written:
    """The same for documents that are opened already: a file, a part of one, or a pipe.

    `target` may be an open stream, to which rows are written batch by batch; `form` is then its format: .csv,
    .tsv or .jsonl.
    """
    empty = missing_of(missing) == "empty"
    stream = _bounded(stream, model.feature_width)
    added = added_schema(model.class_names)
    names = free_names(added, stream.taken)
    flat = (format_of(target) if isinstance(target, Path) else form) in FLAT
    schema = {names[c]: pl.String() if c == "sources" and flat else k for c, k in added.items()}
    count = _workers(model.concurrent, stream, workers)
    inner = progress if count == 1 else SILENT  # stages that run at once cannot be shown

    def labelled(corpus: Corpus) -> tuple[pl.DataFrame, _Tally]:
        answers = model.predictions(corpus, progress=inner, cached=False)
        columns = answers.columns()
        if flat:
            columns = columns.with_columns(pl.col("sources").list.join("; "))
        if empty and corpus.missing is not None:
            columns = columns.select(pl.when(pl.Series(~corpus.missing)).then(pl.all()))
        labels = dict(columns["label"].drop_nulls().value_counts().iter_rows())
        votes = answers.votes
        unasked = {source: int(open_.sum()) for source, open_ in votes.unasked.items()}
        tally = _Tally(labels, int(votes.covered.sum()), given_up(votes), unasked)
        return columns.rename(names), tally

    writer = RowWriter(stream, target, schema, defuse=defuse, form=form)
    with warnings.catch_warnings():  # warned once, for all batches
        warnings.simplefilter("ignore", GaveUpWarning)
        done, made = _write(stream, writer, labelled, "labelling", count, progress)
    labels = dict.fromkeys(model.class_names, 0)
    for tally in made:
        for name, found in tally.labels.items():
            labels[name] += found
    facts = given_up_together(fact for tally in made for fact in tally.given_up)
    warn_given_up(facts)
    unasked = Counter[str]()
    for tally in made:
        unasked.update(tally.unasked)
    return Written(
        **vars(done),
        covered=sum(tally.covered for tally in made),
        labels=labels,
        columns=names,
        given_up=facts,
        unasked=tuple(
            DocumentsUnasked(source, n, done.documents) for source, n in unasked.items() if n
        ),
    )


@dataclass(frozen=True)
class _Tally:
    """What is counted of one batch."""

    labels: dict[str, int]
    covered: int
    given_up: tuple[DocumentsGivenUp, ...]
    unasked: Mapping[str, int]


def _bounded(stream: CorpusStream, width: int) -> CorpusStream:
    """The same file in batches of so few rows that features of this width do not take much memory."""
    return replace(stream, batch_rows=min(stream.batch_rows, max(1, MOST_NUMBERS // max(1, width))))


def _workers(concurrent: bool, stream: CorpusStream, wanted: int | None) -> int:
    """How many threads work at once: one where rows come as they are typed, or all fit into one batch."""
    if wanted is not None and wanted < 1:
        raise SettingsError(f"{wanted} workers: at least one is needed", option="workers")
    if stream.rows is None or stream.rows <= stream.batch_rows:
        return 1
    return wanted or (min(thread_count(), MOST_WORKERS) if concurrent else 1)


T = TypeVar("T")


def _write(
    stream: CorpusStream,
    writer: RowWriter,
    work: Callable[[Corpus], tuple[pl.DataFrame, T]],
    what: str,
    workers: int,
    progress: Progress,
) -> tuple[Passed, list[T]]:
    """Write every row with the columns made of its batch; what became of them, and what was found in each batch."""
    documents, missing, made = 0, 0, list[T]()
    skipped, broken = list[BadRow](), list[BrokenFile]()

    def given() -> Iterator[Batch]:
        for batch in stream.batches():
            skipped.extend(batch.corpus.skipped)
            broken.extend(batch.corpus.broken)
            if len(batch.corpus):
                yield batch

    with (
        stage(progress, what, stream.rows, "texts"),
        closing(_in_order(given(), work, workers)) as done,  # its threads end here, whatever fails
    ):

        def batches() -> Iterator[tuple[Batch, pl.DataFrame]]:
            nonlocal documents, missing
            for batch, (columns, found) in done:
                yield batch, columns
                made.append(found)
                documents += len(batch.corpus)
                missing += batch.corpus.missing_count
                progress.advance(len(batch.corpus))

        writer.write(batches())
    path = writer.target if isinstance(writer.target, Path) else None
    found = tuple(skipped), tuple(broken)
    return Passed(path, stream.layout.text, documents, missing, *found), made


def _in_order(
    batches: Iterator[Batch], work: Callable[[Corpus], T], workers: int
) -> Generator[tuple[Batch, T], None, None]:
    """Each batch and what is made of it, in their order; several workers make one each at once, and few are held."""
    if workers == 1:
        yield from ((batch, work(batch.corpus)) for batch in batches)
        return
    held = deque[tuple[Batch, Future[T]]]()
    pool = ThreadPoolExecutor(workers, "label")
    try:
        with threadpool_limits(1, user_api="blas"):
            for batch in batches:
                held.append((batch, pool.submit(work, batch.corpus)))
                if len(held) > workers:
                    first, made = held.popleft()
                    yield first, made.result()
            for batch, made in held:
                yield batch, made.result()
    finally:
        pool.shutdown(cancel_futures=True)


COLUMN = "features"


@dataclass(frozen=True)
class Encoded(Passed):
    """Features that were written."""

    width: int  # numbers for each document
    column: str  # the name of the added column


def encode_stream(
    model: WeakClassifier,
    stream: CorpusStream,
    target: Path,
    progress: Progress = SILENT,
    workers: int | None = None,
) -> Encoded:
    """Write every row with a model's features as one more column, a list of numbers, to Parquet."""
    if target.suffix.lower() != ".parquet":
        raise InputError("features are written as .parquet only", where=Where(str(target)))
    stream = _bounded(stream, model.feature_width)
    name = free_names([COLUMN], stream.taken)[COLUMN]
    kind = pl.Array(pl.Float32, model.feature_width)
    count = _workers(model.concurrent, stream, workers)
    inner = progress if count == 1 else SILENT

    def encoded(corpus: Corpus) -> tuple[pl.DataFrame, None]:
        values = model.encode(corpus, cached=False, progress=inner)
        return pl.DataFrame({name: pl.Series(values, dtype=kind)}), None

    writer = RowWriter(stream, target, {name: kind})
    done, _ = _write(stream, writer, encoded, "encoding", count, progress)
    return Encoded(**vars(done), width=model.feature_width, column=name)

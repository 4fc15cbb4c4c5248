"""Finds the columns of the text, the id and the gold label, and checks their values, halves of characters included."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from unruly.errors import InputError, Where, warn
from unruly.wording import did_you_mean, listed, nearest, plural, same_name, shortened

_DAY = {
    "ms": 86_400_000,
    "us": 86_400_000_000,
}  # in units of time; nanoseconds end in the year 2262
_EPOCH = date(1970, 1, 1).toordinal()
UNKNOWN = -1  # the gold label of a document that has none
LABEL_NAMES = (
    "label",
    "gold",
    "target",
    "class",
)  # of columns that hold gold labels, the likeliest first
MOST_CLASSES = 127
INDEX = "__index__"  # the column that a pandas index becomes
WhereOf = Callable[[int], Where]  # the number of a row in a frame -> where the user finds it

# Names of text columns. "text" wins, whatever other columns there are.
OBVIOUS = "text"
TEXT_NAMES = frozenset([
    "texts", "comment", "comments", "content", "review", "reviews", "sentence", "sentences", "body", "message",
    "messages", "tweet", "document", "doc", "post", "description", "headline", "title", "abstract", "utterance",
    "question", "query", "sms", "email", "review_text", "review_body", "comment_text", "commenttext",
    "tweet_text", "full_text", "text_content",
])  # fmt: skip

# Names of columns of ids, which are never taken for texts unasked: ticket_id, orderID, Kundennr., "Case Number".
ID_NAME = re.compile(
    r"(?:^|[\W_])(?i:id|uuid|guid|key|no|ref)s?\.?$|[a-z]I[dD]s?$|(?i:nr|nummer|number)s?\.?$"
)


class Remembered(str):
    """The name of a text column that a model was fitted on: taken where the data has it, and else let go."""


def remembered(column: str | None) -> Remembered | None:
    """The name of a model's text column, where it knows it."""
    return None if column is None else Remembered(column)


@dataclass(frozen=True)
class Layout:
    """The columns that a corpus is made of; `id` and `label` are optional."""

    text: str
    id: str | None = None
    label: str | None = None
    # further columns to be kept as the file spells them
    spelt: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def own(self) -> frozenset[str]:
        """The columns that are not "other columns"."""
        return frozenset(name for name in (self.text, self.id, self.label) if name is not None)


class TextColumnError(InputError):
    """The column with the texts must be named; `how` depends on who asks: an option, a line of the project, an argument."""

    def __init__(
        self,
        before: str,
        after: str = "",
        *,
        where: Where | None = None,
        how: str = 'text = "..."',
    ) -> None:
        super().__init__(f"{before} {how}{after}", where=where)
        self.before, self.after = before, after

    def named_by(self, how: str) -> Self:
        """The same error for who names the column in another way."""
        return type(self)(self.before, self.after, where=self.where, how=how)


class NoTextColumn(TextColumnError):
    """No column is obviously the one with the texts."""


def find_layout(
    schema: Mapping[str, pl.DataType],
    *,
    name: str,
    text: str | None = None,
    id: str | None = None,
    label: str | None = None,
    label_may_be_missing: bool = False,
) -> Layout:
    """Check the columns that the user named, and find the text column when it is remembered or obvious.

    >>> find_layout({"comment": pl.String(), "is_spam": pl.Int64()}, name="c.csv", label="is_spam")
    Layout(text='comment', id=None, label='is_spam')
    >>> find_layout({"q": pl.String(), "a": pl.String()}, name="c.csv")
    Traceback (most recent call last):
    ...
    unruly.texts.columns.NoTextColumn: c.csv: which column holds the text is not obvious: pass it with text = "..." (one of q, a)
    """
    gone: str | None = None  # the column of a model's texts, which this table has not
    if isinstance(text, Remembered):
        gone = None if text in schema else str(text)
        free = text not in (id, label)
        text = str(text) if free and schema.get(text) == pl.String else None
    if label_may_be_missing and label is not None and label not in schema:
        label = label if nearest(label, schema) else None  # a near name is a misspelling
    for role, column in (("text", text), ("id", id), ("label", label)):
        if column is not None and column not in schema:
            raise missing_column(column, schema, name=name, role=role)
    if text is None:
        text = _obvious_text(schema, taken={id, label}, name=name, gone=gone)
    if text in (id, label) or (id is not None and id == label):
        raise InputError(
            "one column cannot be two of text, id and label: name different columns",
            where=Where(name),
        )
    return Layout(text, id, label)


CORPUS_OF = 'Corpus.of(..., text="...")'  # how to name it where nothing but documents can be passed


@contextmanager
def text_named_by(how: str) -> Iterator[None]:
    """Errors that ask for the column of texts name the option or the line of the project that the caller has.

    >>> with text_named_by("--text"):
    ...     find_layout({"q": pl.String(), "a": pl.String()}, name="c.csv")
    Traceback (most recent call last):
    ...
    unruly.texts.columns.NoTextColumn: c.csv: which column holds the text is not obvious: pass it with --text (one of q, a)
    """
    try:
        yield
    except TextColumnError as error:
        raise error.named_by(how) from None


def missing_column(column: str, known: Iterable[str], *, name: str, role: str) -> InputError:
    """The error for a missing column, with the nearest name that exists."""
    names = list(known)
    hint = did_you_mean(column, names)
    return InputError(
        f'there is no column {column!r} (asked for by {role} = "{column}"): '
        f"{hint + ' ' if hint else ''}columns are {listed(names)}",
        where=Where(name),
    )


def _obvious_text(
    schema: Mapping[str, pl.DataType], taken: set[str | None], name: str, gone: str | None
) -> str:
    """The column that is called as texts are, or else the only one of strings.

    What is left beside the names of classes is no text where the model knows another column (`gone`): in a table of
    ids and true labels it is the ids.
    """
    strings = [c for c, kind in schema.items() if kind == pl.String and c not in taken]
    free = [c for c in schema if c not in taken]
    for column in free:
        if column.strip().casefold() == OBVIOUS:
            return column
    named = [c for c in strings if c.strip().casefold() in TEXT_NAMES]
    worded = [c for c in strings if _last_word(c) in {*TEXT_NAMES, OBVIOUS}]
    if len(schema) == 1 and _reads_like_a_text(free, worded):
        raise TextColumnError(
            f"the only column is called {shortened(free[0], 60)!r}: where that is the first text, put a line with a name, "
            "such as text, above it; where it is the name of the column, pass it with",
            where=Where(name),
        )
    telling = named or worded  # "Body text" where nothing is called "body"
    if len(telling) == 1:
        return telling[0]
    if len(strings) == 1 and not ID_NAME.search(strings[0].strip()):
        if gone is None or not any(schema[c] == pl.String for c in taken if c is not None):
            return strings[0]
        raise NoTextColumn(
            f"there is no column {gone!r}, as in training: pass the column with the texts with",
            f" (columns are {listed(schema)})",
            where=Where(name),
        )
    if len(strings) < 2:
        known = f" (columns are {listed(schema)})"
        raise NoTextColumn("no column holds text: pass one with", known, where=Where(name))
    choice = f" (one of {listed(telling or strings)})"
    raise NoTextColumn(
        "which column holds the text is not obvious: pass it with", choice, where=Where(name)
    )


def _last_word(column: str) -> str:
    """The word that says what a column is: `review_text` is a text, `review_date` a date.

    >>> _last_word("Body text"), _last_word("tweet_id"), _last_word("comment (plain)")
    ('text', 'id', 'plain')
    """
    words = [word for word in re.split(r"[\W_]+", column.casefold()) if word]
    return words[-1] if words else ""


def _reads_like_a_text(columns: Sequence[str], worded: Sequence[str]) -> bool:
    """Whether the name of an only column is rather a text: of a file without a header, the first."""
    words = len(columns[0].split()) if columns else 0
    return words > 3 or (words == 3 and not worded)


def gold_column(columns: Collection[str]) -> str | None:
    """The column that holds gold labels by its name, where nobody names one.

    >>> gold_column(["text", "class", "label"]), gold_column(["text", "topic"])
    ('label', None)
    """
    return next((name for name in LABEL_NAMES if name in columns), None)


def names_classes(column: pl.Series, classes: Iterable[str]) -> bool:
    """Whether most values of a column are names of classes, as those of gold labels are; capitals do not matter.

    >>> names_classes(pl.Series(["Ham", None, "spam", "?"]), ["ham", "spam"])
    True
    """
    values = column.cast(pl.String, strict=False).drop_nulls()
    named = values.str.to_lowercase().is_in([name.lower() for name in classes])
    return bool(named.sum() > len(values) / 2)


def gold_numbers(labels: pl.Series, classes: Sequence[str], where: WhereOf) -> NDArray[np.int16]:
    """(n,): each label as a class number; empty labels and -1 are unknown.

    A label may be a class name, or a class number (3, "3" or 3.0); names are tried first.

    >>> gold_numbers(
    ...     pl.Series(["spam", None, "0", "-1"]), ["ham", "spam"], lambda row: Where(row=row)
    ... )
    array([ 1, -1,  0, -1], dtype=int16)
    """
    labels = plain_values(labels)
    numbers: dict[object, int] = {}
    for value in _different(labels, where):
        number = class_number(value, classes)
        if number is None:
            raise InputError(not_a_class(value, classes), where=where(_first_row(labels, value)))
        if not _unknown(value):
            numbers[value] = number
    if not numbers:
        return np.full(len(labels), UNKNOWN, dtype=np.int16)
    found = labels.replace_strict(
        list(numbers), list(numbers.values()), default=UNKNOWN, return_dtype=pl.Int16
    )
    return found.to_numpy().astype(np.int16)


def label_numbers(
    given: ArrayLike | Sequence[Any] | pl.Series,
    classes: Sequence[str],
    n: int,
    what: str = "labels",
) -> NDArray[np.int64]:
    """(n,): class numbers, -1 where unknown, from the names or numbers that a user gives.

    >>> label_numbers(["spam", None, "ham"], ("ham", "spam"), 3)
    array([ 1, -1,  0])
    """
    values = (
        given if isinstance(given, pl.Series) else pl.Series(_values(given, what), strict=False)
    )
    if len(values) != n:
        raise InputError(
            f"{what}: there are {len(values):,} for {plural(n, 'document')}: give one for each, None where it is "
            "not known, or a map from ids"
        )
    numbers = gold_numbers(values, classes, lambda row: Where(what, row=row)).astype(np.int64)
    warn_if_counted_from_one(values, numbers, classes, what)
    return numbers


def _values(given: ArrayLike | Sequence[Any], what: str) -> list[Any]:
    try:
        array = np.asarray(given)
    except ValueError:
        raise InputError(
            f"{what} must be one for each document, not lists of unequal length"
        ) from None
    if array.ndim != 1:
        raise InputError(
            f"{what} must be one for each document, not an array of shape {array.shape}"
        )
    values = [None if value != value else value for value in array.tolist()]  # NaN is unknown
    kinds = {type(value) for value in values if value is not None}
    return values if len(kinds) <= 1 else [None if v is None else str(v) for v in values]


def check_labels(
    labels: NDArray[Any] | None, n: int, m: int, what: str = "clean labels"
) -> NDArray[np.int64]:
    """(n,): the class number of each document, -1 where it is not known, as a program gives them.

    >>> check_labels(np.array([0, 7]), n=2, m=2)
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: clean labels, row 1: 7 is neither a class number from 0 to 1 nor -1 (not known)
    """
    if labels is None:
        return np.full(n, UNKNOWN, dtype=np.int64)
    given = np.asarray(labels)
    if given.shape != (n,):
        raise InputError(f"{what} have the shape {given.shape}, but there are {n} documents")
    bad = (given < UNKNOWN) | (given >= m) | (given != np.round(given))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"{given[row]} is neither a class number from 0 to {m - 1} nor -1 (not known)",
            where=Where(file=what, row=row),
        )
    return given.astype(np.int64)


def _first_row(labels: pl.Series, value: object) -> int:
    """The first row with a value. Compared in Python: polars keeps more digits of a time than Python does."""
    shown = repr(value)  # NaN is not equal to itself
    return next((row for row, own in enumerate(labels.to_list()) if repr(own) == shown), 0)


def warn_if_counted_from_one(
    labels: pl.Series, numbers: NDArray[np.integer], classes: Sequence[str], name: str
) -> bool:
    """Warn where classes have names and labels are all numbers but 0: they probably start at 1. Whether it did."""
    if len(classes) < 3 or any(label.isdigit() for label in classes):
        return False
    found = numbers[numbers >= 0]
    if set(np.unique(found).tolist()) != set(range(1, len(classes))):
        return False
    if set(map(str, labels.unique().to_list())).intersection(classes):
        return False
    warn(counted_from_one(name, classes))
    return True


def counted_from_one(name: str, classes: Sequence[str]) -> str:
    """What to say of labels that probably start at 1."""
    return (
        f"{name}: the labels are 1 to {len(classes) - 1}, never 0. Class numbers start at 0, so they are read as "
        f"{classes[1]} to {classes[-1]}; if yours start at 1, use class names ({', '.join(classes)})"
    )


def not_a_class(value: object, classes: Sequence[str]) -> str:
    """The message for a label that is not a class."""
    near = did_you_mean(value, classes)
    return (
        f"the label {value!r} is not a class: {near and f'{near} '}classes are "
        f"{', '.join(classes)} (or their numbers, 0 to {len(classes) - 1})"
    )


def class_number(value: object, classes: Sequence[str]) -> int | None:
    """The number of the class that a label means, -1 for unknown, None when it is not a class.

    Capitals matter only where two classes differ by them.

    >>> [class_number(v, ["ham", "spam"]) for v in ("Spam", 1, "1", 1.0, True, None, -1, 2, "eggs")]
    [1, 1, 1, 1, 1, -1, -1, None, None]
    """
    if _unknown(value):
        return UNKNOWN
    for name in spellings(value):
        if name in classes:
            return list(classes).index(name)
    if (same := same_name(str(value).strip(), classes)) is not None:
        return list(classes).index(same)
    if isinstance(value, bool):
        return int(value)
    whole = _whole(value)
    if whole is None or not UNKNOWN <= int(whole) < len(classes):
        return None
    return int(whole)


def spellings(value: object) -> tuple[str, ...]:
    """How a cell may spell a name: as it stands, without spaces around it, as a whole number.

    >>> spellings(" spam"), spellings("1.0"), spellings(2.0), spellings(None)
    ((' spam', 'spam'), ('1.0', '1'), ('2.0', '2'), ())
    """
    if value is None:
        return ()
    found = (str(value), str(value).strip(), _whole(value))
    return tuple(dict.fromkeys(name for name in found if name is not None))


def classes_of(labels: pl.Series, name: str) -> tuple[str, ...]:
    """The classes that a column of labels names, when the user did not list them.

    Whole numbers give "0", "1", up to the largest; names are sorted.

    >>> classes_of(pl.Series(["spam", "ham", None, "spam"]), "c.csv")
    ('ham', 'spam')
    """
    different = _different(plain_values(labels), lambda row: Where(name))
    values = [value for value in different if not _unknown(value)]
    if values and all(isinstance(value, bool) for value in values):
        return ("false", "true")
    wholes = [_whole(value) for value in values]
    if values and None not in wholes and min(int(w or 0) for w in wholes) >= UNKNOWN:
        count = max(2, max(int(w or 0) for w in wholes) + 1)
        names = [str(c) for c in range(min(count, MOST_CLASSES + 1))]
    else:
        names = sorted(str(value) for value in values)
        count = len(names)
    if not 2 <= count <= MOST_CLASSES:
        raise InputError(
            f"the labels name {count:,} classes"
            f"{f' ({names[0]!r})' if count == 1 else ''}, and 2 to {MOST_CLASSES} are needed: "
            "list the classes with classes = [...], or name another label column",
            where=Where(name),
        )
    return tuple(names)


def _different(labels: pl.Series, where: WhereOf) -> list[object]:
    if not _holds_values(labels):
        raise InputError(
            f"the label column {labels.name!r} holds {labels.dtype}: labels must be class names or numbers",
            where=where(0),
        )
    return labels.unique(maintain_order=True).to_list()


def plain_values(column: pl.Series) -> pl.Series:
    """The column, with categories, dates and times as strings: Python rounds times. Dates of no year are missing.

    >>> plain_values(pl.Series([1, 2]).cast(pl.Time)).to_list()
    ['00:00:00.000000001', '00:00:00.000000002']
    """
    if column.dtype in (pl.Categorical, pl.Enum):
        return column.cast(pl.String)
    if not column.dtype.is_temporal():
        return column
    return column.set(_of_no_year(column), None).dt.to_string("iso")


def dates_of_no_year(frame: pl.DataFrame) -> dict[int, str]:
    """The rows with a date that neither polars nor Python can write, and what is to be said of it.

    >>> dates_of_no_year(pl.DataFrame({"day": pl.Series([0, 10**7]).cast(pl.Date)}))
    {1: "the date in column 'day' is not of the years 1 to 9999: correct it, or leave the column out"}
    """
    found: dict[int, str] = {}
    for column in frame.iter_columns():
        rows = _of_no_year(column).arg_true().to_list()
        reason = (
            f"the date in column {column.name!r} is not of the years 1 to 9999: "
            "correct it, or leave the column out"
        )
        found |= dict.fromkeys(rows, reason)
    return found


def _of_no_year(column: pl.Series) -> pl.Series:
    """(n,): whether a date lies outside the years 1 to 9999."""
    if column.dtype == pl.Date:
        day = 1
    elif isinstance(column.dtype, pl.Datetime) and column.dtype.time_unit in _DAY:
        day = _DAY[column.dtype.time_unit]
    else:
        return pl.Series([False]).new_from_index(0, len(column))
    first, last = (bound.toordinal() - _EPOCH for bound in (date.min, date.max))
    known = column.to_physical().is_between(first * day, (last + 1) * day, closed="left")
    return (~known).fill_null(value=False)


def _holds_values(column: pl.Series) -> bool:
    """Whether a column holds single values, such as strings and numbers."""
    return not column.dtype.is_nested() and column.dtype not in (pl.Binary, pl.Object)


def _unknown(value: object) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, float) and math.isnan(value))


def _whole(value: object) -> str | None:
    """A whole number written plainly, or None: 3, "3" and 3.0 give "3"."""
    try:
        number = float(str(value))
    except ValueError:
        return None
    return str(int(number)) if number.is_integer() else None


def checked_ids(column: pl.Series, where: WhereOf) -> pl.Series:
    """The user's ids: none missing, none twice."""
    if column.null_count():
        row = int(column.is_null().arg_true()[0])
        raise InputError(_missing_id(column.name), where=where(row))
    column = plain_values(column)
    if not _holds_values(column):
        raise InputError(
            f"the id column {column.name!r} holds {column.dtype}: ids must be strings or whole numbers",
            where=where(0),
        )
    if column.n_unique() != len(column):
        again = column.filter(column.is_duplicated())
        rows = (column == again.head(1)).arg_true()
        raise duplicate_id(again[0], where(int(rows[0])), where(int(rows[1])), again.n_unique())
    return column.alias("id")


def duplicate_id(value: object, first: Where, second: Where, ids: int = 1) -> InputError:
    """The error for `ids` that occur more than once, of which this is the first."""
    many = "" if ids == 1 else f"; {ids:,} ids of the rows read occur more than once"
    return InputError(
        f"the id {value!r} is taken already ({first}{many}): ids must be unique; "
        "leave out id = ... to number the rows",
        where=second,
    )


def checked_texts(
    column: pl.Series, where: WhereOf, *, needed: bool
) -> tuple[pl.Series, NDArray[np.bool_]]:
    """The texts, "" where there is none, and the mask of these; with `needed`, a missing text is an error."""
    if column.dtype in (pl.Categorical, pl.Enum, pl.Null):
        column = column.cast(pl.String)
    missing = without_text(column).to_numpy()
    if missing.any() and needed:
        row = int(np.flatnonzero(missing)[0])
        raise InputError(
            f"{_missing_text(column.name)}: drop the row, or keep it", where=where(row)
        )
    if column.dtype != pl.String:
        plain = len(column) and not column.dtype.is_nested()
        found = f", e.g. {column[0]!r:.40}" if plain else ""
        raise InputError(
            f"the text column {column.name!r} holds {column.dtype}, not strings{found}: "
            "name another column, or convert it",
            where=where(0),
        )
    return column.set(pl.Series(missing), "").alias("text"), missing


def without_text(column: pl.Series) -> pl.Series:
    """(n,): whether there is no text: null, empty, or nothing but white space.

    >>> without_text(pl.Series(["a", " ", "", None])).to_list()
    [False, True, True, True]
    """
    if column.dtype != pl.String:
        return column.is_null()
    return column.str.strip_chars().fill_null("") == ""


def unusable_rows(
    frame: pl.DataFrame, layout: Layout, classes: tuple[str, ...] | None
) -> dict[int, str]:
    """The rows that cannot be used, and why: no text, no id, a date in no year, or a label that is not a class."""
    unwritten = dates_of_no_year(frame)
    bad: dict[int, str] = {}
    if layout.label is not None and classes is not None:
        labels = plain_values(frame[layout.label])
        if _holds_values(labels):
            for value in labels.unique().to_list():
                if class_number(value, classes) is None:
                    reason = not_a_class(value, classes)
                    bad |= dict.fromkeys((labels == value).arg_true().to_list(), reason)
    if layout.id is not None:
        gone = frame[layout.id].is_null().arg_true().to_list()
        bad |= dict.fromkeys(gone, _missing_id(layout.id))
    gone = without_text(plain_values(frame[layout.text])).arg_true().to_list()
    return bad | dict.fromkeys(gone, _missing_text(layout.text)) | unwritten


def _missing_text(column: str) -> str:
    return f"the text (column {column!r}) is missing or empty"


def _missing_id(column: str) -> str:
    return f"the id (column {column!r}) is missing: give every row an id"


def from_pandas(
    frame: Any, text: str | None, id: str | None, name: str
) -> tuple[pl.DataFrame, str | None]:
    """The frame in polars, and the id column; an index other than 0, 1, 2… becomes the ids."""
    columns: dict[str, pl.Series] = {}
    for at, column in enumerate(frame.columns):
        if str(column) in columns:
            raise InputError(
                f"two columns are named {str(column)!r}: rename one of them", where=Where(name)
            )
        values = frame.iloc[:, at]
        columns[str(column)] = _from_pandas_column(str(column), values, name, str(column) == text)
    index = frame.index
    plain = index.nlevels == 1 and index.tolist() == list(range(len(frame)))
    if id is None and not plain:
        ids = [str(key) if isinstance(key, tuple) else key for key in index.tolist()]
        if not index.is_unique:
            twice = index[index.duplicated()].tolist()[0]
            raise InputError(
                f"the index holds {twice!r} more than once: frame.reset_index(drop=True) "
                'numbers the rows, id = "..." names a column',
                where=Where(name),
            )
        columns[INDEX], id = pl.Series(INDEX, ids), INDEX
    elif id is not None and id not in columns and id in index.names:
        columns[id] = pl.Series(id, index.get_level_values(id).tolist())
    return pl.DataFrame(columns), id


def _from_pandas_column(column: str, values: Any, name: str, is_text: bool) -> pl.Series:
    kind = values.dtype
    if isinstance(kind, np.dtype) and kind.kind in "iufb":
        return pl.Series(column, values.to_numpy(), nan_to_null=True)
    missing = values.isna().to_numpy()
    plain = [None if gone else value for value, gone in zip(values.tolist(), missing, strict=True)]
    return series_of(column, plain, name, is_text)


def series_of(column: str, values: list[Any], name: str, is_text: bool) -> pl.Series:
    """A polars column. Mixed values become strings; in a text column they are an error that names the first one."""
    try:
        return pl.Series(column, values)
    except UnicodeEncodeError:  # polars knows no half of a character
        whole = [without_surrogates(v) if isinstance(v, str) else v for v in values]
        return series_of(column, whole, name, is_text)
    except (TypeError, pl.exceptions.PolarsError):
        odd = next(
            (r for r, v in enumerate(values) if not isinstance(v, str) and v is not None), None
        )
        strings = any(isinstance(value, str) for value in values)
        if odd is not None and strings and (is_text or column.casefold() == "text"):
            found = values[odd]
            raise InputError(
                f"expected a text in column {column!r}, found {type(found).__name__} {found!r}",
                where=Where(name, row=odd),
            ) from None
        return pl.Series(column, [None if v is None else str(v) for v in values], dtype=pl.String)


def without_surrogates(text: str) -> str:
    """The text with pairs of surrogates joined; half a pair becomes �, the sign for an unknown character.

    >>> without_surrogates("a\\ud800b"), without_surrogates("\\ud83d\\ude00")
    ('a�b', '😀')
    """
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

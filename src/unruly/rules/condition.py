"""What every kind of rule has in common: a condition on a document, and how it is read from plain values.

A condition is a polars expression; `all`, `any` and `not` combine conditions. Plain values are what TOML and JSON hold;
`Place` reads them, with errors that name the place.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError, RuleError, Where
from unruly.files import check_name
from unruly.rules.regular_expressions import Allowance, SearchedTexts, sorted_spans, words_of
from unruly.rules.timeouts import Countdown
from unruly.wording import did_you_mean, listed, near_file

Item = TypeVar("Item")
Plain: TypeAlias = "str | int | float | bool | Sequence[Plain] | Mapping[str, Plain]"
Table: TypeAlias = "Mapping[str, Plain]"
Keys = tuple[str | int, ...]  # that lead to a value in a project file
Lines: TypeAlias = Callable[[Keys], Where]  # keys from a source's table down -> file and line
# Names of keys in other tools -> their names here.
SYNONYMS = {
    "regex": "pattern",
    "regexp": "pattern",
    "re": "pattern",
    "vote": "label",
    "votes": "label",
    "class": "label",
    "target": "label",
    "words": "keywords",
    "terms": "keywords",
    "case_sensitive": "ignore_case",
}


class Space(Protocol):
    """Texts as unit vectors, for rules that compare texts by meaning (`unruly.features.encoder`)."""

    @property
    def identity(self) -> str | None:
        """A digest of all that the vector of a text depends on, for the cache; None if that is unknown."""

    @property
    def training_identity(self) -> str:
        """The same of the training texts."""

    @property
    def sample(self) -> NDArray[np.float32]:
        """(s, d): the directions of training texts."""

    def directions(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, d): unit rows, zeros for a blank text."""

    def texts_of(self, ids: Sequence[object]) -> tuple[str, ...]:
        """The training documents with these ids."""


def known_space(space: Space | None, kind: str) -> Space:
    """The space; refused where the rule has none."""
    if space is None:
        raise RuleError(
            f"{kind} needs an encoder: give space=unruly.TextSpace(encoder, training_corpus), or read "
            "the rule from a project file, which has one"
        )
    return space


@dataclass(frozen=True)
class Place:
    """Where in a project file we are reading, so that every error names the place."""

    lines: Lines
    classes: tuple[str, ...]
    folder: Path  # file names are relative to it
    path: Keys = ()
    rule: Where = field(default_factory=Where)  # the source, and the rule's number
    files: bool = True  # whether rules may open files: not while a model is read
    space: Space | None = None  # by the project's encoder, for rules that compare texts by meaning
    descriptions: Mapping[str, str] = field(default_factory=dict)  # of classes
    allowance: Allowance = field(default_factory=Allowance, compare=False, repr=False)

    def at(self, *keys: str | int) -> Place:
        """The same place, deeper by some keys."""
        return replace(self, path=(*self.path, *keys))

    def named(self, rule: Where) -> Place:
        """The same place, known to readers by this name."""
        return replace(self, rule=rule)

    def error(self, problem: str) -> RuleError:
        """An error at this place, to be raised."""
        return RuleError(problem, where=self.rule.within(self.lines(self.path)))

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Errors raised inside name this place, unless they name one already."""
        try:
            yield
        except RuleError as error:
            raise (self.error(error.message) if error.where is None else error) from None

    def only(
        self,
        table: Mapping[str, object],
        known: Sequence[str],
        what: str,
        synonyms: Mapping[str, str] = SYNONYMS,
    ) -> None:
        """Refuse a key that is not known, and suggest what it is called here, the nearest, or list all."""
        for key in table:
            if key not in known:
                meant = synonyms.get(key, "")
                near = f"; did you mean {meant!r}?" if meant in known else suggestion(key, known)
                hint = near or f"; its keys are {', '.join(known)}"
                raise self.at(key).error(f"{key!r} is not a key of {what}{hint}")

    def section(
        self,
        table: Mapping[str, object],
        name: str,
        known: Sequence[str],
        needed: Sequence[str] = (),
        synonyms: Mapping[str, str] = SYNONYMS,
    ) -> tuple[Place, Mapping[str, object]]:
        """The table under the key `name`, and its place; refuses unknown keys, and a needed one that is missing."""
        here = self.at(name)
        inner = here.table(table[name])
        here.only(inner, known, name, synonyms)
        for key in needed:
            if key not in inner:
                raise here.error(f"a {name} needs {key} = ...")
        return here, inner

    def table(self, value: object) -> Mapping[str, object]:
        """The value, if it is a table."""
        if not isinstance(value, Mapping):
            raise self.error(f"expected a table in braces, found {shown(value)}")
        return value

    def text(self, value: object) -> str:
        """The value, if it is a text that is not empty."""
        if not isinstance(value, str) or not value:
            raise self.error(f"expected a text in quotes, found {shown(value)}")
        return str(value)

    def texts(self, value: object) -> tuple[str, ...]:
        """The value, if it is a list of texts; a single text counts as a list of one."""
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, Sequence):
            raise self.error(f"expected a list of texts, found {shown(value)}")
        return tuple(self.at(i).text(item) for i, item in enumerate(value))

    def number(self, value: object) -> float:
        """The value, if it is a number."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(f"expected a number, found {shown(value)}")
        return float(value)

    def count(self, value: object) -> int:
        """The value, if it is a whole number from 0."""
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self.error(f"expected a whole number from 0, found {shown(value)}")
        return int(value)

    def flag(self, value: object) -> bool:
        """The value, if it is true or false."""
        if not isinstance(value, bool):
            raise self.error(f"expected true or false, found {shown(value)}")
        return value

    def choice(self, value: object, choices: Sequence[str]) -> str:
        """The value, if it is one of a few words."""
        if value not in choices:
            offered = " or ".join(f'"{c}"' for c in choices)
            raise self.error(
                f"expected {offered}, found {repr(value) if isinstance(value, str) else shown(value)}"
                f"{suggestion(value, choices)}"
            )
        return str(value)

    def label(self, value: object) -> str:
        """The value, if it is one of the task's classes."""
        if value not in self.classes:
            found = repr(value) if isinstance(value, str) else shown(value)
            raise self.error(f"{found} {is_no_class(value, self.classes)}")
        return str(value)

    def labels_by_name(self, value: object) -> dict[str, str]:
        """The value, if it is a table of names to classes."""
        return {name: self.at(name).label(label) for name, label in self.table(value).items()}

    def file(self, value: object) -> Path:
        """The path of a file that the value names, if it is there."""
        if not self.files:
            raise self.error("rules of a model file open no files")
        try:
            path = self.folder / check_name(self.text(value))
        except InputError as error:
            raise self.error(error.message) from None
        try:
            found = path.resolve(strict=True)
        except (RuntimeError, OSError) as error:
            # before Python 3.13, pathlib has a RuntimeError for it
            if isinstance(error, RuntimeError) or error.errno == errno.ELOOP:
                raise self.error(
                    f"the link {value} leads back to itself: point it at a real file"
                ) from None
            hint = near_file(path) or "check the name and the folder"
            raise self.error(f"there is no file {value} in {self.folder}: {hint}") from None
        if not found.is_file():
            kind = "a folder" if found.is_dir() else "a pipe or a device"
            raise self.error(f"{value} is {kind}, not a file")
        return path


def suggestion(got: object, known: Sequence[str]) -> str:
    """'; did you mean "keywords"?' where something known is near.

    >>> suggestion("keyword", ["keywords", "pattern"])
    "; did you mean 'keywords'?"
    >>> suggestion("x", ["keywords", "pattern"])
    ''
    """
    hint = did_you_mean(got, known)
    return f"; {hint}" if hint else ""


def is_no_class(name: object, classes: Sequence[str]) -> str:
    """What is said behind a name that is not a class.

    >>> is_no_class("spma", ["ham", "spam"])
    "is not a class: the classes are ham, spam; did you mean 'spam'?"
    """
    return f"is not a class: the classes are {listed(classes, most=40)}{suggestion(name, classes)}"


def check_map(labels: Mapping[str, str], classes: Sequence[str], what: str) -> None:
    """Refuse a map of names to labels, `what`, that leads to a label that is not a class."""
    for label in labels.values():
        if label not in classes:
            raise RuleError(f"{what} leads to {label!r}, which {is_no_class(label, classes)}")


def as_tuple(name: str, values: Sequence[Item]) -> tuple[Item, ...]:
    """The values of a list; one text in its place is refused."""
    if isinstance(values, str):
        raise RuleError(f"{name} must be a list, not one text: write [{values!r}]")
    return tuple(values)


def digest_of(values: object) -> str:
    """A short digest of plain values, for the names of measures."""
    text = json.dumps(values, sort_keys=True, default=str)
    return blake2b(text.encode(), digest_size=12).hexdigest()


def shown(value: object) -> str:
    """A value as an error shows it: short, and with its type when that is the problem."""
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


Span = tuple[int, int]  # characters from, up to
Row = Mapping[str, object]  # one document: its columns and measures by name

TEXT = "__text"  # the column that holds the texts while rules are matched
ID = "__id"


def uncached() -> None:
    """The meaning of a measure that is never cached."""


@dataclass(frozen=True)
class Measure:
    """A column that is computed in Python, once for each document, however many rules use it."""

    name: str  # of the new column; equal measures have equal names
    # The new column; raises `RowFailure` when a document cannot be measured.
    compute: Callable[[pl.DataFrame], pl.Series] = field(compare=False)
    reads: tuple[str, ...] = ()  # the columns it is worked out from, beside the text
    # All that its values depend on, versions of libraries included; None: never cached.
    meaning: Callable[[], Plain | None] = field(default=uncached, compare=False)
    # With a time limit: what it uses is subtracted from (n,), the seconds left for each document; null where they are over.
    within: Callable[[pl.DataFrame, NDArray[np.float64]], pl.Series] | None = field(
        default=None, compare=False
    )


class RowFailure(Exception):
    """A measure failed on one document. The matcher adds the rule and the document's id."""

    def __init__(self, row: int, problem: str) -> None:
        super().__init__(problem)
        self.row = row
        self.problem = problem


# 42,33 and 1.234,56: what could be thousands as well, such as 1,234, is none.
_DECIMAL_COMMA = r"^[+-]?(?:\d{1,3}(?:\.\d{3})+,\d+|\d+,(?:\d\d?|\d{4,})|(?:0|\d{4,}),\d{3})$"


def numbers_of(column: pl.Expr) -> pl.Expr:
    """The numbers of a column, null where a cell is none; texts may have a decimal comma.

    >>> cells = pl.DataFrame({"paid": ["42.5", "42,33", " 1.234,56", "1,234", "0,125", "n/a"]})
    >>> cells.select(numbers_of(pl.col("paid"))).to_series().to_list()
    [42.5, 42.33, 1234.56, None, 0.125, None]
    """
    text = column.cast(pl.String).str.strip_chars()
    pointed = text.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    with_comma = pl.when(text.str.contains(_DECIMAL_COMMA)).then(pointed)
    number = column.cast(pl.Float64, strict=False)
    return pl.coalesce(number, with_comma.otherwise(None).cast(pl.Float64, strict=False))


@dataclass(frozen=True)
class Needs:
    """What a condition reads beside the text: columns of the data, and measures."""

    columns: tuple[str, ...] = ()
    measures: tuple[Measure, ...] = ()
    parts: int = 0  # size of its patterns for the linear engine: steps for each byte of a text
    seconds: float = 0.0  # that its patterns may take for one document
    pattern: bool = False  # whether it has a pattern of the user's, who may set these seconds
    numbers: tuple[str, ...] = ()  # columns of which every cell must be empty or a number

    @property
    def all_columns(self) -> tuple[str, ...]:
        """The columns that it reads itself, and those that its measures read, each once."""
        measured = (column for measure in self.measures for column in measure.reads)
        return tuple(dict.fromkeys((*self.columns, *measured)))

    def __add__(self, other: Needs) -> Needs:
        return Needs(
            tuple(dict.fromkeys(self.columns + other.columns)),
            tuple({m.name: m for m in self.measures + other.measures}.values()),
            self.parts + other.parts,
            max(self.seconds, other.seconds),
            self.pattern or other.pattern,
            tuple(dict.fromkeys(self.numbers + other.numbers)),
        )


NOTHING = Needs()


class Condition:
    """One kind of rule: holds or does not hold for a document.

    Every kind has a mask, a reason and a plain form. To the other questions there is a usual answer, which a kind gives
    unless it says otherwise.
    """

    @property
    def picks(self) -> bool:
        """Whether it picks the class to vote for itself; then it must be a rule of its own."""
        return False

    def needs(self, classes: tuple[str, ...]) -> Needs:
        """What must be there before `mask` can be evaluated."""
        return NOTHING

    def mask(self) -> pl.Expr:
        """True where the condition holds, else False; null only where it ran out of time."""
        raise NotImplementedError

    def reason(self) -> str:
        """The condition in a few words."""
        raise NotImplementedError

    def because(self, row: Row) -> str:
        """Why it holds for this document, in a few words, where that depends on the document."""
        return ""

    def to_plain(self) -> Table:
        """The keys and values that mean this in a project file."""
        raise NotImplementedError

    def meaning(self) -> Plain | None:
        """All that its answers depend on, contents of files included: the cache key; None: never cached."""
        return self.to_plain()

    def files_read(self) -> Mapping[str, str] | None:
        """Files that only its work brings to light, with their `file_state` then; None if they are not known."""
        return {}

    def spans(self, row: Row, countdown: Countdown) -> tuple[Span, ...]:
        """The parts of a matching document's text that made it match, in characters; none if the time is over."""
        return ()

    def spans_in(self, texts: SearchedTexts, rows: Sequence[int]) -> list[tuple[Span, ...]] | None:
        """The spans in several texts, where they are found faster than one by one; None where that may take long."""
        return None

    def reads(self) -> tuple[str, ...]:
        """The words and phrases that make it hold, in lower case, where they are known."""
        return ()

    def vote(self, label: str | None, classes: tuple[str, ...]) -> pl.Expr:
        """Of one that picks: the class number, or null to abstain; refuses a label if it picks the class alone."""
        raise NotImplementedError

    def soft(self, classes: tuple[str, ...]) -> pl.Expr | None:
        """Of one that picks with probabilities: these as a list, one number a class, or null to abstain."""
        return None

    def unasked(self) -> pl.Expr | None:
        """True where it has not been tried: a missing vote is not an abstention. None: it is tried everywhere."""
        return None


def spans_of(condition: Condition, row: Row) -> tuple[Span, ...]:
    """The spans of a condition in a document that it matches, if it has any, and they are found within a second."""
    with Countdown() as countdown:
        return condition.spans(row, countdown)


@dataclass(frozen=True)
class _Several(Condition):
    """What `AllOf` and `AnyOf` have in common."""

    conditions: tuple[Condition, ...]
    key: ClassVar[str]
    joint: ClassVar[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "conditions", _parts(self.conditions, self.key))

    def needs(self, classes: tuple[str, ...]) -> Needs:
        return sum((condition.needs(classes) for condition in self.conditions), start=NOTHING)

    def spans(self, row: Row, countdown: Countdown) -> tuple[Span, ...]:
        return sorted_spans([span for c in self.conditions for span in c.spans(row, countdown)])

    def reads(self) -> tuple[str, ...]:
        return words_of(word for c in self.conditions for word in c.reads())

    def reason(self) -> str:
        return self.joint.join(f"({c.reason()})" for c in self.conditions)

    def to_plain(self) -> Table:
        return {self.key: [c.to_plain() for c in self.conditions]}

    def meaning(self) -> Plain | None:
        return _meaning(self.key, self.conditions)


class AllOf(_Several):
    """`all`: every one of the conditions holds."""

    key, joint = "all", " and "

    def mask(self) -> pl.Expr:
        return pl.all_horizontal(c.mask() for c in self.conditions)


class AnyOf(_Several):
    """`any`: at least one of the conditions holds."""

    key, joint = "any", " or "

    def mask(self) -> pl.Expr:
        return pl.any_horizontal(c.mask() for c in self.conditions)


@dataclass(frozen=True)
class Not(Condition):
    """`not`: the condition does not hold."""

    condition: Condition

    def __post_init__(self) -> None:
        _parts((self.condition,), "not")

    def needs(self, classes: tuple[str, ...]) -> Needs:
        return self.condition.needs(classes)

    def mask(self) -> pl.Expr:
        return ~self.condition.mask()

    def reason(self) -> str:
        return f"not ({self.condition.reason()})"

    def to_plain(self) -> Table:
        return {"not": self.condition.to_plain()}

    def meaning(self) -> Plain | None:
        return _meaning("not", (self.condition,))


def _parts(conditions: tuple[Condition, ...], word: str) -> tuple[Condition, ...]:
    if not conditions:
        raise RuleError(f"{word} needs at least one condition")
    for condition in conditions:
        if condition.picks:
            raise RuleError(
                f"{word} cannot hold ({condition.reason()}), which picks the class itself: "
                "make it a rule of its own"
            )
    return tuple(conditions)


def _meaning(word: str, conditions: tuple[Condition, ...]) -> Plain | None:
    meanings = [condition.meaning() for condition in conditions]
    known = [meaning for meaning in meanings if meaning is not None]
    return {word: known} if len(known) == len(meanings) else None

"""Filters of documents: every part narrows the list, all parts combine, and a link holds them all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal
from urllib.parse import urlencode

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.rules.condition import numbers_of
from unruly.studio.state import State, column_values
from unruly.texts.columns import UNKNOWN
from unruly.wording import did_you_mean, index_of

Mask = NDArray[np.bool_]
SORTS = ("order", "doubt", "influence", "random")
AGAINST = ("votes", "labels")
COVERED = ("yes", "no", "conflict")


@dataclass(frozen=True)
class Filter:
    """Which documents are listed, and in which order; an empty part does not filter.

    >>> Filter(covered="no", words="refund").query()
    'covered=no&words=refund'
    >>> Filter.of({"covered": "no", "page": "3"}) == Filter(covered="no")
    True
    """

    covered: str = ""  # yes, no, or conflict: votes for two classes or more
    source: str = ""  # a source that votes on it
    vote: str = ""  # ... for this class; without a source, any source
    predicted: str = ""  # the model's class
    low: str = ""  # the model's confidence, in per cent
    high: str = ""
    label: str = ""  # yes, no, or a class: labelled by hand
    against: str = ""  # the model disagrees with: votes, or labels
    changed: str = ""  # yes: the model before said something else
    words: str = ""  # stand in the text, whatever their case
    column: str = ""  # another column of the data
    value: str = ""  # that has this value
    least: str = ""  # ... or lies from here, numbers and dates
    most: str = ""  # up to here, included
    sort: str = ""  # see SORTS

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Filter:
        """From the query of a link; unknown names are ignored."""
        names = [part.name for part in fields(cls)]
        return cls(**{name: query[name].strip() for name in names if query.get(name, "").strip()})

    def query(self) -> str:
        """As the query of a link."""
        return urlencode({k: v for k, v in vars(self).items() if v})

    @property
    def unsorted(self) -> Filter:
        """The same documents in any order."""
        return replace(self, sort="")

    def mask(self, state: State) -> Mask:
        """(n,): which documents fit."""
        found = np.ones(state.n, np.bool_)
        for part in (_votes, _model, _labels, _text):
            found &= part(self, state)
        return found

    def rows(self, state: State) -> NDArray[np.int64]:
        """The documents that fit, in the order asked for."""
        return state.once(("rows", self), lambda: _rows(self, state))

    def count(self, state: State) -> int:
        """How many documents fit."""
        return int(_masked(self.unsorted, state).sum())


def _rows(filter: Filter, state: State) -> NDArray[np.int64]:
    found = _masked(filter.unsorted, state)
    if filter.sort == "random":
        return state.shuffled[found[state.shuffled]]
    rows = np.flatnonzero(found)
    if filter.sort == "doubt":
        return rows[np.argsort(-state.doubt[rows], kind="stable")]
    if filter.sort == "influence":
        return rows[np.argsort(-state.influence[rows], kind="stable")]
    if filter.sort and filter.sort != "order":
        raise InputError(f"sort = {filter.sort!r}: {did_you_mean(filter.sort, SORTS, 'one of')}")
    return rows


def _masked(filter: Filter, state: State) -> Mask:
    return state.once(filter, lambda: filter.mask(state))


def _votes(filter: Filter, state: State) -> Mask:
    found = np.ones(state.n, np.bool_)
    if filter.covered == "conflict":
        found &= state.conflict
    elif filter.covered:
        index_of(filter.covered, COVERED, "covered")
        found &= state.votes.covered == (filter.covered == "yes")
    if not filter.source and not filter.vote:
        return found
    named = index_of(filter.vote, state.classes, "class") if filter.vote else UNKNOWN
    wanted = np.full(state.n, named)
    if filter.source:
        index_of(filter.source, state.votes.sources, "source")
        votes = state.votes_of(filter.source)
        return found & (votes.names(wanted) if filter.vote else votes.voted)
    return np.asarray(found & state.votes.agrees(wanted).any(axis=1))


def _model(filter: Filter, state: State) -> Mask:
    found = np.ones(state.n, np.bool_)
    answers = state.answers
    if answers is None:  # a part that were passed over would list, and label, all documents
        asked = (filter.predicted, filter.low, filter.high, filter.against, filter.changed)
        if any(asked):
            raise InputError(
                "this filter needs the answers of a model: train one, or wait until they are known"
            )
        return found
    if filter.predicted:
        found &= answers.predicted == index_of(filter.predicted, state.classes, "class")
    if filter.low:
        found &= answers.confidence >= _per_cent(filter.low)
    if filter.high:
        found &= answers.confidence <= _per_cent(filter.high)
    if filter.against:
        index_of(filter.against, AGAINST, "against")
        other = state.winner if filter.against == "votes" else state.labels
        found &= (other != UNKNOWN) & (other != answers.predicted)
    if filter.changed:
        if state.earlier is None:
            raise InputError("this filter compares two models, and there is only one: train again")
        found &= state.earlier.predicted != answers.predicted
    return found


def _labels(filter: Filter, state: State) -> Mask:
    if not filter.label:
        return np.ones(state.n, np.bool_)
    if filter.label in state.classes:
        return np.asarray(state.labels == state.classes.index(filter.label))
    index_of(filter.label, ("yes", "no"), "label")
    return np.asarray((state.labels != UNKNOWN) == (filter.label == "yes"))


def _text(filter: Filter, state: State) -> Mask:
    found = np.ones(state.n, np.bool_)
    if filter.words:
        words = filter.words.casefold()
        found &= state.once(("words", words), lambda: _containing(words, state))
    if filter.column:
        index_of(filter.column, tuple(state.corpus.columns.columns), "column")
        values = state.corpus.columns[filter.column]
        if filter.value:
            same = column_values(state.corpus, filter.column) == filter.value
            found &= same.fill_null(False).to_numpy()
        if filter.least or filter.most:
            found &= _within(values, filter.least, filter.most)
    return found


ColumnKind = Literal["number", "date", "text"]
MOST_VALUES = 12  # of a column that the page lists
_DATE = r"^\d{4}-\d{2}-\d{2}(?:[ T].*)?$"
_DAY_FIRST = r"^(\d{1,2})\.(\d{1,2})\.(\d{4})"
_SAMPLE = 200  # values that tell what texts are


@dataclass(frozen=True)
class ColumnLook:
    """What a column offers to filter by."""

    name: str
    kind: ColumnKind
    low: str  # its least and greatest value, of numbers and dates
    high: str
    values: tuple[
        tuple[str, int], ...
    ]  # the commonest, with the number of documents; none where all differ


def column_look(state: State, name: str) -> ColumnLook:
    """The kind of a column, its range and its commonest values."""
    index_of(name, tuple(state.corpus.columns.columns), "column")
    return state.once(("column", name), lambda: _column_look(state, name))


def _column_look(state: State, name: str) -> ColumnLook:
    kind, series = comparable(state.corpus.columns[name])
    ends = ("", "") if kind == "text" else (_shown(series.min()), _shown(series.max()))
    counts = column_values(state.corpus, name).drop_nulls().value_counts(sort=True, name="n")
    common = counts.filter(pl.col("n") > 1).head(MOST_VALUES)
    return ColumnLook(name, kind, *ends, tuple(common.iter_rows()))


def comparable(series: pl.Series) -> tuple[ColumnKind, pl.Series]:
    """The kind of a column, and its values as they compare: numbers, or dates as texts that begin with the year.

    Texts are dates where they begin like 2024-01-31 or 31.01.2024, and numbers where they have a decimal comma.

    >>> kind, days = comparable(pl.Series(["31.01.2024", "2.5.2024 10:00"]))
    >>> kind, days.to_list(), comparable(pl.Series(["42,33", "7,5"]))[0]
    ('date', ['2024-01-31', '2024-05-02 10:00'], 'number')
    """
    if series.dtype.is_numeric():
        return "number", series
    if series.dtype.is_temporal():
        return "date", series.cast(pl.String)
    known = series.drop_nulls().head(_SAMPLE)
    if series.dtype != pl.String or not len(known):
        return "text", series
    if known.str.contains(_DATE).all():
        return "date", series
    if known.str.contains(_DAY_FIRST).all():
        padded = series.str.replace(r"^(\d)\.", "0$1.").str.replace(r"^(\d\d)\.(\d)\.", "$1.0$2.")
        return "date", padded.str.replace(_DAY_FIRST, "$3-$2-$1")
    if not _numbers(known).null_count():
        return "number", _numbers(series)
    return "text", series


def _numbers(series: pl.Series) -> pl.Series:
    return series.to_frame("cell").select(numbers_of(pl.col("cell"))).to_series()


def _shown(value: object) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _within(series: pl.Series, least: str, most: str) -> Mask:
    """Numbers by their value; dates as texts, which sort alike: up to 2024-01 includes all of January."""
    kind, values = comparable(series)
    if kind == "text":
        raise InputError(f"the column {series.name!r} holds texts: choose a value, not a range")
    found = pl.Series(np.ones(len(series), np.bool_))
    if kind == "number":
        if least:
            found &= values >= _as_number(least)
        if most:
            found &= values <= _as_number(most)
    else:
        if least:
            found &= values >= _as_date(least)
        if most:
            last = _as_date(most)
            found &= values.str.head(len(last)) <= last
    return found.fill_null(False).to_numpy()


def _as_number(text: str) -> float:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise InputError(f"{text!r} is not a number") from None


def _as_date(text: str) -> str:
    day_first = re.fullmatch(_DAY_FIRST, text)
    if day_first:
        return f"{day_first[3]}-{day_first[2]:>02}-{day_first[1]:>02}"
    if not re.match(r"\d{4}(-\d{2}(-\d{2}(.*)?)?)?$", text):
        raise InputError(f"{text!r} is not a date: enter it as 2024-01-31, or as 2024-01")
    return text


def _containing(words: str, state: State) -> Mask:
    """Documents whose text has all of these words, or the phrase in quotes."""
    pieces = [words.strip('"')] if words.startswith('"') else words.split()
    texts = state.corpus.texts
    found = pl.Series(np.ones(len(texts), np.bool_))
    for piece in pieces:
        found &= texts.str.contains("(?i)" + pl.escape_regex(piece))
    return found.to_numpy()


def _per_cent(text: str) -> float:
    try:
        return float(text.rstrip("% ").replace(",", ".")) / 100
    except ValueError:
        raise InputError(f"confidence {text!r}: enter a percentage from 0 to 100") from None


@dataclass(frozen=True)
class Preset:
    """A filter with a name, and how many documents fit it now."""

    name: str
    filter: Filter
    count: int
    own: bool = False  # saved by the user


def usual_presets(state: State) -> tuple[tuple[str, Filter], ...]:
    """The common filters, as far as they apply."""
    found = [
        ("All documents", Filter()),
        ("No rule covers", Filter(covered="no")),
        ("Rules disagree", Filter(covered="conflict")),
    ]
    if state.answers is not None:
        found += [
            ("Model in doubt", Filter(high="70", sort="doubt")),
            ("Model against votes", Filter(against="votes")),
        ]
        if state.earlier is not None:
            found.append(("Changed by the last fit", Filter(changed="yes")))
    if (state.labels != UNKNOWN).any():
        found.append(("Labelled", Filter(label="yes")))
        if state.answers is not None:
            found.append(("Model against labels", Filter(against="labels")))
    return tuple(found)


def counted(state: State, own: Mapping[str, Filter]) -> tuple[Preset, ...]:
    """Presets with their counts, the usual ones first; saved ones whose source or class is gone count 0."""
    named = [(name, chosen, False) for name, chosen in usual_presets(state)]
    named += [(name, chosen, True) for name, chosen in own.items()]
    presets = []
    for name, chosen, mine in named:
        try:
            count = chosen.count(state)
        except InputError:
            count = 0  # its source or class no longer exists
        presets.append(Preset(name, chosen, count, mine))
    return tuple(presets)

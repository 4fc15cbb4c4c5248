"""The matcher: all rules of all sources on all texts in one pass of polars, and why each source voted.

Votes are cached on disk, so that after an edit only the edited source is matched again. The key of an entry is a digest of
all that it depends on: the source's meaning, the classes, the documents, and the version of polars; the entry is the files that
functions read for it, and a Parquet file. An entry one of whose files has changed counts as missing.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.datatypes import DataTypeClass

from unruly.errors import RuleError, UnrulyError, UnrulyWarning, Where, first_line, warn
from unruly.files import CacheFiles, cache_folder, unchanged
from unruly.findings import DocumentsGivenUp
from unruly.progress import SILENT, Progress, stage
from unruly.rules.condition import (
    ID,
    TEXT,
    Condition,
    Measure,
    Needs,
    Plain,
    Row,
    RowFailure,
    Span,
    numbers_of,
    suggestion,
)
from unruly.rules.function import Function
from unruly.rules.regular_expressions import SearchedTexts
from unruly.rules.source import Source
from unruly.rules.timeouts import (
    MOST_SECONDS,
    SMALL,
    STEPS,
    Clocks,
    Countdown,
    RuleVote,
    match_long,
)
from unruly.sentences import sentence
from unruly.texts.columns import Layout
from unruly.texts.corpus import Corpus
from unruly.votes.provenance import ColumnLacking, GivenUp, Match
from unruly.votes.votes import ABSTAIN, Votes, one_of
from unruly.wording import plural

_SLICE = 250_000  # texts matched between two reports of progress
_AT_ONCE = 5 * STEPS  # parts of patterns × bytes matched between two chances for Ctrl-C
_QUICK = 0.5  # seconds: after a slice that took less, the next is larger
_FEW = 1_000  # texts: for fewer, polars' streaming engine takes longer to start than to match
_SLOW_SLICE = 2_000  # texts measured in Python between two reports of progress
SOFT = "__soft_votes:"  # before a source's name: the column of its probabilities
UNASKED = "__unasked:"  # likewise: where it has not been asked
_SHARES = "__shares:"  # before a rule's column: the column of its probabilities
VERSION = 5  # of the cache
MOST_BYTES = 512 * 1024 * 1024
_SIZE = 4  # bytes of the length of the JSON that names the files it depends on
_ENTRIES = re.compile(r"([0-9a-f]{2})/\1[0-9a-f]{38}\.votes")


@dataclass(frozen=True)
class VoteCache:
    """A folder of entries; when it grows too large, the least recently used ones are deleted."""

    folder: Path
    most_bytes: int = MOST_BYTES

    @classmethod
    def default(cls) -> VoteCache:
        """The user's own cache."""
        return cls(cache_folder() / "votes")

    def get(self, key: str) -> pl.DataFrame | None:
        """What was kept under the key and still holds, or None."""
        data = self.files.read(_entry(key), "its rules are matched again")
        if data is None:
            return None
        start = _SIZE + int.from_bytes(data[:_SIZE], "little")
        if not unchanged(json.loads(data[_SIZE:start])):
            return None
        return pl.read_parquet(BytesIO(data[start:]))

    def put(self, key: str, frame: pl.DataFrame, files: Mapping[str, str] | None = None) -> bool:
        """Keep a frame as long as these files, given with their `file_state`, do not change."""
        buffer = BytesIO()
        frame.write_parquet(buffer)
        read = json.dumps(dict(files or {})).encode()
        data = len(read).to_bytes(_SIZE, "little") + read + buffer.getvalue()
        return self.files.write(_entry(key), data, "votes are not kept")

    @property
    def files(self) -> CacheFiles:
        """The entries on disk."""
        return CacheFiles(self.folder, _ENTRIES)


def _entry(key: str) -> str:
    """Its file."""
    return f"{key[:2]}/{key}.votes"


def entry_key(meaning: Plain, classes: tuple[str, ...], data: str) -> str:
    """The name of an entry."""
    parts = [VERSION, pl.__version__, list(classes), meaning, data]
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=20).hexdigest()


def texts_digest(frame: pl.DataFrame) -> str:
    """A digest of the texts in their order."""
    digest = hashlib.blake2b(digest_size=20)
    digest.update(frame[TEXT].str.len_bytes().to_numpy().tobytes())
    digest.update(frame[TEXT].str.join("").cast(pl.Binary).item())
    return digest.hexdigest()


def whole_digest(frame: pl.DataFrame, texts: str) -> str:
    """A digest of the texts (theirs is given), ids and all other columns; NaN, the infinities and null differ."""
    digest = hashlib.blake2b(texts.encode(), digest_size=20)
    others = frame.select(pl.exclude(TEXT))
    digest.update(json.dumps([[n, str(t)] for n, t in others.schema.items()]).encode())
    exact = others.select(_exact(name, dtype) for name, dtype in others.schema.items())
    digest.update(exact.write_ndjson().encode())
    return digest.hexdigest()


def _exact(name: str, dtype: pl.DataType) -> pl.Expr:
    """A column as JSON can hold it without loss."""
    column = pl.col(name)
    return column.bin.encode("hex") if dtype == pl.Binary else column.cast(_as_text(dtype))


def _as_text(dtype: pl.DataType) -> pl.DataType:
    """The type with strings in place of floats, because JSON has no NaN."""
    if dtype.is_float():
        return pl.String()
    if isinstance(dtype, pl.List | pl.Array):
        return pl.List(_as_text(_instance(dtype.inner)))
    if isinstance(dtype, pl.Struct):
        return pl.Struct({field.name: _as_text(_instance(field.dtype)) for field in dtype.fields})
    return dtype


def _instance(dtype: pl.DataType | DataTypeClass) -> pl.DataType:
    return dtype if isinstance(dtype, pl.DataType) else dtype()


@dataclass(frozen=True, eq=False)
class MatchFrame:
    """The documents as one frame, with texts and ids under reserved names."""

    frame: pl.DataFrame
    layout: Layout | None = None  # what texts, ids and labels are called in the data

    def __repr__(self) -> str:
        return f"MatchFrame({plural(self.height, 'document')})"

    @classmethod
    def of(cls, corpus: Corpus) -> MatchFrame:
        """The frame of a corpus."""
        columns = [corpus.texts.alias(TEXT), corpus.ids.alias(ID)]
        if not corpus.columns.width:
            return cls(pl.DataFrame(columns), corpus.layout)
        return cls(corpus.columns.with_columns(columns), corpus.layout)

    @property
    def height(self) -> int:
        """How many documents."""
        return self.frame.height

    @cached_property
    def texts(self) -> str:
        """A digest of the texts."""
        return texts_digest(self.frame)

    @cached_property
    def everything(self) -> str:
        """A digest of texts, ids and columns."""
        return whole_digest(self.frame, self.texts)


@dataclass(frozen=True, eq=False)
class Matched:
    """One Int8 column per source (-1 abstains), `SOFT` columns for probabilities, `UNASKED` for missing votes."""

    votes: pl.DataFrame
    given_up: tuple[GivenUp, ...] = ()  # where rules took too long
    lacking: tuple[ColumnLacking, ...] = ()  # where functions ask for columns that are absent


@dataclass(frozen=True)
class Matcher:
    """Sources and classes, with a cache or without."""

    sources: tuple[Source, ...]
    classes: tuple[str, ...]
    cache: VoteCache | None = field(default=None, compare=False)

    @cached_property
    def _expressions(self) -> dict[str, list[pl.Expr]]:
        """The expressions of each source, made once: a server matches one text after the other."""
        found = {source.name: [source.vote(self.classes)] for source in self.sources}
        for source in self.sources:
            if (soft := source.soft(self.classes)) is not None:
                found[source.name].append(soft.alias(SOFT + source.name))
            if (unasked := source.unasked()) is not None:
                found[source.name].append(unasked.alias(UNASKED + source.name))
        return found

    @cached_property
    def _needs(self) -> dict[str, Needs]:
        return {source.name: source.needs(self.classes) for source in self.sources}

    def run(self, documents: MatchFrame, progress: Progress = SILENT) -> Matched:
        """The votes of all sources; those in the cache are not matched again."""
        if self.cache is None:
            return self._match(self.sources, documents, progress)
        keys = {source.name: self._key(source, documents) for source in self.sources}
        kept = {name: self._kept(key, documents) for name, key in keys.items()}
        found = [_renamed(entry, name) for name, entry in kept.items() if entry is not None]
        todo = [source for source in self.sources if kept[source.name] is None]
        if not todo:
            return Matched(pl.concat(found, how="horizontal"))
        done = self._match(todo, documents, progress)
        slow = {fact.source for fact in done.given_up}
        for source in todo:
            key, files = keys[source.name], source.files_read()
            if key is None or files is None or source.name in slow:
                continue
            if not self.cache.put(key, _columns(done.votes, source.name), files):
                break  # it cannot be written
        self.cache.files.trim(self.cache.most_bytes)
        return replace(done, votes=pl.concat([done.votes, *found], how="horizontal"))

    def _kept(self, key: str | None, documents: MatchFrame) -> pl.DataFrame | None:
        """What the cache has under the key for these documents."""
        entry = None if self.cache is None or key is None else self.cache.get(key)
        return entry if entry is not None and entry.height == documents.height else None

    def _key(self, source: Source, documents: MatchFrame) -> str | None:
        """The name of the source's cache entry; None when its votes cannot be kept."""
        meaning = source.meaning()
        if meaning is None:
            return None
        needs = self._needs[source.name]
        wide = needs.all_columns or any(m.meaning() is None for m in needs.measures)
        return entry_key(meaning, self.classes, documents.everything if wide else documents.texts)

    def _match(
        self, sources: Sequence[Source], documents: MatchFrame, progress: Progress
    ) -> Matched:
        frame, clocks = self._with_clocks(sources, documents, progress)
        with stage(progress, "matching rules", frame.height, "texts"):
            long = self._long(sources, frame)
            if not long.any():
                votes = self._match_short(sources, frame, progress)
            else:
                found = [self._match_short(sources, frame.filter(~long), progress)]
                found.append(self._match_long(sources, frame.filter(long), clocks.take(long)))
                progress.advance(int(long.sum()))
                order = np.argsort(np.argsort(long, kind="stable"), kind="stable")
                votes = pl.concat(found)[order]
        given_up = tuple(self._given_up(sources, frame, clocks))
        return Matched(votes, given_up, tuple(self._lacking(sources, frame, votes)))

    def _lacking(
        self, sources: Sequence[Source], frame: pl.DataFrame, votes: pl.DataFrame
    ) -> Iterator[ColumnLacking]:
        """Where sources abstain because a function of theirs asked for a column that is absent."""
        for source in sources:
            for rule in source.rules:
                if isinstance(rule.when, Function):
                    silent = (votes[source.name] == ABSTAIN).to_numpy()
                    for column, rows in rule.when.lacking(frame[rule.when.vote_column]):
                        if (own := rows & silent).any():
                            yield ColumnLacking(source.name, column, own)

    def _match_short(
        self, sources: Sequence[Source], frame: pl.DataFrame, progress: Progress
    ) -> pl.DataFrame:
        """Match all sources at once, a slice of documents at a time, so that Ctrl-C works soon."""
        expressions = [made for source in sources for made in self._expressions[source.name]]
        parts, rows, start = [], self._rows(sources, frame), 0
        while start < frame.height:
            began = time.monotonic()
            part = frame.slice(start, rows)
            parts.append(self._select(sources, part, expressions))
            progress.advance(part.height)
            start += rows
            if time.monotonic() - began < _QUICK:
                rows = min(16 * rows, _SLICE)
        return pl.concat(parts) if parts else self._select(sources, frame, expressions)

    def _rows(self, sources: Sequence[Source], frame: pl.DataFrame) -> int:
        """How many documents the first slice has: fewer where large patterns meet long texts."""
        parts = sum(self._needs[source.name].parts for source in sources)
        if parts <= SMALL or not frame.height:
            return _SLICE
        mean = 1 + int(frame[TEXT].str.len_bytes().sum() or 0) // frame.height
        return min(max(_AT_ONCE // (parts * mean), 1), _SLICE)

    def _long(self, sources: Sequence[Source], frame: pl.DataFrame) -> NDArray[np.bool_]:
        """(n,): the documents on which the patterns may take too long to be matched in this process."""
        parts = [self._needs[source.name].parts for source in sources]
        if sum(parts) <= SMALL:
            return np.zeros(frame.height, dtype=np.bool_)
        limits = [STEPS // each for each in parts if each > SMALL]
        return np.asarray(self._bytes(sources, frame) > min([_AT_ONCE // sum(parts), *limits]))

    def _bytes(self, sources: Sequence[Source], frame: pl.DataFrame) -> NDArray[np.int64]:
        """(n,): the bytes that patterns read of each document: its text, and other columns of strings."""
        own = {c for s in sources if self._needs[s.name].parts for c in self._needs[s.name].columns}
        texts = [TEXT, *(c for c in sorted(own) if frame.schema.get(c) == pl.String)]
        sizes = [pl.col(c).str.len_bytes().fill_null(0).cast(pl.Int64) for c in texts]
        return frame.select(pl.sum_horizontal(sizes)).to_series().to_numpy()

    def _match_long(
        self, sources: Sequence[Source], frame: pl.DataFrame, clocks: Clocks
    ) -> pl.DataFrame:
        """Match documents that are too long for the patterns, in another process."""
        cast = self._rule_votes(sources, frame, clocks)
        expressions = []
        for source in sources:
            names = [_rule_name(source, i) for i in range(len(source.rules))]
            votes = [pl.col(name) for name in names]
            shares = [pl.col(_SHARES + n) if _SHARES + n in cast.columns else None for n in names]
            expressions.append(source.first_vote(votes))
            if (soft := source.first_shares(votes, shares, len(self.classes))) is not None:
                expressions.append(soft.alias(SOFT + source.name))
            if (unasked := source.unasked()) is not None:
                expressions.append(unasked.alias(UNASKED + source.name))
        return pl.concat([frame, cast], how="horizontal").select(expressions)

    def rule_votes(
        self, sources: Sequence[Source], measured: Sequence[Source], documents: MatchFrame
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """For a few documents: a column with the votes of each rule, and the frame with all measures of `measured` sources."""
        frame, clocks = self._with_clocks(measured, documents, SILENT)
        if not sources:
            return pl.DataFrame(), frame
        return self._rule_votes(sources, frame, clocks), frame

    def _rule_votes(
        self, sources: Sequence[Source], frame: pl.DataFrame, clocks: Clocks
    ) -> pl.DataFrame:
        """Each rule's vote and probabilities (`_SHARES`), null where it abstains."""
        rules = [rule for source in sources for rule in self._rules(source)]
        if not self._long(sources, frame).any():
            return self._evaluate(rules, frame)
        patterns = [rule for rule in rules if self._needs[rule.source].parts]
        others = [rule for rule in rules if not self._needs[rule.source].parts]
        found = [self._evaluate(others, frame)] if others else []
        seconds = {source.name: self._needs[source.name].seconds for source in sources}
        cast = match_long(patterns, frame, self._bytes(sources, frame), clocks, seconds)
        return pl.concat([*found, cast], how="horizontal")

    def _evaluate(self, rules: Sequence[RuleVote], frame: pl.DataFrame) -> pl.DataFrame:
        """The same in this process."""
        names = [name for rule in rules for name in rule.schema]
        expressions = [made for rule in rules for made in rule.expressions]
        try:
            return frame.with_columns(expressions).select(names)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise self._blame(self.sources, frame) or RuleError(first_line(error)) from None

    def _rules(self, source: Source) -> Iterator[RuleVote]:
        """The rules of a source with what they vote by."""
        votes, shares = source.rule_votes(self.classes), source.rule_shares(self.classes)
        for i, (vote, share) in enumerate(zip(votes, shares, strict=True)):
            name = _rule_name(source, i)
            schema: dict[str, pl.DataType] = {name: pl.Int8()}
            expressions = [vote.cast(pl.Int8).alias(name)]
            if share is not None:
                schema[_SHARES + name] = pl.List(pl.Float32)
                expressions.append(share.cast(pl.List(pl.Float32)).alias(_SHARES + name))
            yield RuleVote(source.name, i + 1, tuple(expressions), schema)

    def _given_up(
        self, sources: Sequence[Source], frame: pl.DataFrame, clocks: Clocks
    ) -> Iterator[GivenUp]:
        """The documents that each source ran out of time on, with the rule where that happened."""
        for source in sources:
            first = dict(clocks.given_up.get(source.name, {}))  # row -> rule
            for number, rule in enumerate(source.rules, start=1):
                for measure in rule.when.needs(self.classes).measures:
                    if measure.within and (gaps := frame[measure.name].is_null()).any():
                        for row in gaps.arg_true().to_list():
                            first[row] = min(number, first.get(row, number))
            for number in sorted(set(first.values())):
                rows = np.zeros(frame.height, dtype=np.bool_)
                rows[[row for row, each in first.items() if each == number]] = True
                seconds = self._needs[source.name].seconds
                pattern = source.rules[number - 1].when.needs(self.classes).pattern
                yield GivenUp(source.name, number, rows, seconds, pattern)

    def _select(
        self, sources: Sequence[Source], frame: pl.DataFrame, expressions: list[pl.Expr]
    ) -> pl.DataFrame:
        engine: Literal["in-memory", "streaming"]
        engine = "in-memory" if frame.height <= _FEW else "streaming"
        try:
            return frame.lazy().select(expressions).collect(engine=engine)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise self._blame(sources, frame) or RuleError(first_line(error)) from None

    def _blame(self, sources: Sequence[Source], frame: pl.DataFrame) -> RuleError | None:
        """Which rule it was that polars could not evaluate."""
        for source in sources:
            for number, vote in enumerate(source.rule_votes(self.classes), start=1):
                try:
                    frame.select(vote)
                except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
                    return RuleError(first_line(error), where=source.where(number))
        return None

    def with_measures(self, sources: Sequence[Source], documents: MatchFrame) -> pl.DataFrame:
        """The frame with every measure that some rule reads; those that it already has are not computed again."""
        return self._with_clocks(sources, documents, SILENT)[0]

    def _with_clocks(
        self, sources: Sequence[Source], documents: MatchFrame, progress: Progress
    ) -> tuple[pl.DataFrame, Clocks]:
        """The same, and the time that is then left for each document."""
        columns, clocks = [], Clocks(documents.height)
        for measure, rule in self._measures(sources, documents):
            if measure.name not in documents.frame.columns:
                columns.append(self._measured(measure, rule, documents, progress, clocks))
        return documents.frame.with_columns(columns), clocks

    def _measures(
        self, sources: Sequence[Source], documents: MatchFrame
    ) -> Iterable[tuple[Measure, Where]]:
        """Every measure with the first rule that needs it; refuses columns that are missing or cannot be read."""
        wanted: dict[str, tuple[Measure, Where]] = {}
        for source in sources:
            for number, rule in enumerate(source.rules, start=1):
                needs = rule.when.needs(self.classes)
                for column in needs.all_columns:
                    _check_column(column, documents, source.where(number))
                for column in needs.numbers:
                    _check_numbers(column, documents.frame, source.where(number))
                for measure in needs.measures:
                    wanted.setdefault(measure.name, (measure, source.where(number)))
        return wanted.values()

    def _measured(
        self,
        measure: Measure,
        rule: Where,
        documents: MatchFrame,
        progress: Progress,
        clocks: Clocks,
    ) -> pl.Series:
        meaning, key = measure.meaning(), None
        if self.cache is not None and meaning is not None:
            data = documents.everything if measure.reads else documents.texts
            key = entry_key(["measure", meaning], (), data)
            if (kept := self._kept(key, documents)) is not None:
                return kept.to_series().alias(measure.name)
        left = None
        if measure.within and rule.source is not None:
            before = clocks.of(rule.source, self._needs[rule.source].seconds)
            left = before.copy()
        series = _compute(measure, rule, documents.frame, progress, left)
        if left is not None and rule.source is not None:
            clocks.spend(rule.source, slice(None), before - left)
        complete = not measure.within or not series.null_count()
        if self.cache is not None and key is not None and complete:
            self.cache.put(key, series.to_frame("measure"))
        return series


def _rule_name(source: Source, number: int) -> str:
    return f"__rule:{number}:{source.name}"


def _compute(
    measure: Measure,
    rule: Where,
    frame: pl.DataFrame,
    progress: Progress,
    left: NDArray[np.float64] | None,
) -> pl.Series:
    parts, start = [], 0
    with stage(progress, f"measuring for {rule}", frame.height, "texts"):
        for part in frame.iter_slices(_SLOW_SLICE) if frame.height else [frame]:
            try:
                if left is not None and measure.within:
                    own = left[start : start + part.height]  # a view: what it takes is taken there
                    series = measure.within(part, own)
                else:
                    series = measure.compute(part)
                parts.append(series.alias(measure.name))
                start += part.height
            except RowFailure as failure:
                found = part[ID][failure.row]
                known = found if isinstance(found, int) else str(found)
                raise RuleError(
                    failure.problem, where=replace(rule, id=known)
                ) from failure.__cause__
            except UnrulyError as error:
                raise error.located(rule) from None
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
                raise RuleError(first_line(error), where=rule) from None
            progress.advance(part.height)
    return pl.concat(parts)


def _check_column(column: str, documents: MatchFrame, rule: Where) -> None:
    columns = documents.frame.schema
    if columns.get(column) == pl.Binary:
        raise RuleError(
            f"the column {column!r} holds bytes, and rules read texts and numbers: decode it first",
            where=rule,
        )
    if column in columns:
        return
    if own := _what_it_is(column, documents.layout):
        raise RuleError(f"the column {column!r} {own}: name another one", where=rule)
    theirs = [c for c in columns if c not in (TEXT, ID)]
    listed = f"the columns beside text, id and label are {', '.join(theirs)}"
    raise RuleError(
        f"there is no column {column!r} in the data: "
        f"{listed if theirs else 'there is only a text'}{suggestion(column, theirs)}",
        where=rule,
    )


def _check_numbers(column: str, frame: pl.DataFrame, rule: Where) -> None:
    """Refuse a cell that is neither empty nor a number."""
    values = frame[column]
    if values.dtype != pl.String:
        return
    number = frame.select(numbers_of(pl.col(column))).to_series()
    odd = (number.is_null() & (values.fill_null("").str.strip_chars() != "")).arg_true()
    if len(odd):
        found = frame[ID][odd[0]]
        several = f" ({len(odd):,} rows have such a cell)" if len(odd) > 1 else ""
        raise RuleError(
            f"the column {column!r} holds {values[odd[0]]!r}, not a number{several}: correct it, leave it empty, "
            'or add others = "abstain" to the field',
            where=replace(rule, id=found if isinstance(found, int) else str(found)),
        )


def _what_it_is(column: str, layout: Layout | None) -> str:
    """Why rules cannot read a column that is there; empty where it is not."""
    if layout is None:
        return ""
    if column == layout.label:
        return "holds the true labels, which only score and are kept from rules"
    if column == layout.text:
        return "is the text, which rules read without its name"
    return "holds the ids, which rules do not read" if column == layout.id else ""


def _columns(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """The source's own columns, under names that do not depend on the source's."""
    own = [pl.col(name).alias("vote")]
    soft = SOFT + name
    return frame.select([*own, pl.col(soft).alias("soft")] if soft in frame.columns else own)


def _renamed(entry: pl.DataFrame, name: str) -> pl.DataFrame:
    return entry.rename({"vote": name, "soft": SOFT + name}, strict=False)


@dataclass(frozen=True, eq=False)
class Evidence:
    """The provenance of votes: the documents, and the rules that were matched against them."""

    matcher: Matcher
    corpus: Corpus
    given_up: tuple[GivenUp, ...] = ()  # where rules took too long, and so abstain
    lacking: tuple[ColumnLacking, ...] = ()  # where documents lack a column, and sources so abstain

    def __repr__(self) -> str:
        sources = plural(len(self.matcher.sources), "source")
        return f"Evidence({sources}, {plural(len(self.corpus), 'document')})"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the documents, beside the text."""
        return tuple(self.corpus.columns.columns)

    def of_sources(self, names: Sequence[str]) -> Evidence:
        """The same for some of the sources only, in this order."""
        own = {source.name: source for source in self.matcher.sources}
        matcher = replace(self.matcher, sources=tuple(own[name] for name in names if name in own))
        given_up = tuple(fact for fact in self.given_up if fact.source in names)
        lacking = tuple(fact for fact in self.lacking if fact.source in names)
        return Evidence(matcher, self.corpus, given_up, lacking)

    def matches(self, row: int) -> tuple[Match, ...]:
        """What fired on this document, one `Match` for each source that voted."""
        return matches_on(self.matcher, self.corpus.take([row]))[0]


def matches_on(
    matcher: Matcher, corpus: Corpus, cast: NDArray[np.int8] | None = None
) -> list[tuple[Match, ...]]:
    """What fired on each of a few documents: one `Match` for each source that voted on it.

    `cast` (n, k) are the votes of the matcher's sources, if known: then only sources with several rules are matched
    again, to find the rule that decided.
    """
    sources = [
        source
        for j, source in enumerate(matcher.sources)
        if cast is None or (cast[:, j] != ABSTAIN).any()
    ]
    known = {} if cast is None else {s.name: cast[:, j] for j, s in enumerate(matcher.sources)}
    several = [source for source in sources if len(source.rules) > 1 or source.name not in known]
    votes_of, frame = matcher.rule_votes(several, sources, MatchFrame.of(corpus))
    texts, documents = SearchedTexts(corpus.texts.to_list()), frame.rows(named=True)
    left = [MOST_SECONDS] * len(documents)  # to look for what made the rules match
    silent = np.zeros(len(corpus), np.bool_) if corpus.missing is None else corpus.missing
    found: list[dict[str, Match]] = [{} for _ in documents]
    for source, number, votes in _votes_by_rule(sources, votes_of, known):
        when, named = source.rules[number].when, source.rules[number].named(matcher.classes)
        rows = [row for row in votes if not silent[row]]
        reason, seconds = when.reason(), when.needs(matcher.classes).seconds
        shown = _spans(when, texts, documents, rows, seconds, left)
        for row, spans in zip(rows, shown, strict=True):
            # a rule for one class may have flipped its vote
            classes = named if len(named) > 1 else (votes[row],)
            names = tuple(matcher.classes[c] for c in classes)
            why = when.because(documents[row]) or reason
            found[row][source.name] = Match(
                source.name, number, one_of(names), spans, why, names if len(names) > 1 else ()
            )
    return [tuple(matches.values()) for matches in found]


def _votes_by_rule(
    sources: Sequence[Source], votes: pl.DataFrame, known: Mapping[str, NDArray[np.int8]]
) -> Iterator[tuple[Source, int, dict[int, int]]]:
    """Every rule, its number from 0, and the class that it votes for, by row: where no rule before it decided."""
    for source in sources:
        decided: set[int] = set()  # also by a rule that has its source abstain
        for number in range(len(source.rules)):
            name = _rule_name(source, number)
            if name in votes.columns:
                matched = enumerate(votes[name].to_list())
                cast = {row: vote for row, vote in matched if vote is not None}
            else:
                cast = dict(enumerate(known[source.name].tolist()))
            own = {row: vote for row, vote in cast.items() if row not in decided}
            decided |= own.keys()
            yield source, number, {row: vote for row, vote in own.items() if vote != ABSTAIN}


def _spans(
    when: Condition,
    texts: SearchedTexts,
    documents: Sequence[Row],
    rows: Sequence[int],
    seconds: float,
    left: list[float],
) -> list[tuple[Span, ...]]:
    """What made a condition hold in each document; the seconds used are subtracted from `left`."""
    if (together := when.spans_in(texts, rows)) is not None:
        return together
    found = []
    for row in rows:
        given = min(seconds, left[row])
        with Countdown(given) as countdown:
            found.append(when.spans(documents[row], countdown))
        left[row] -= given - countdown.left
    return found


class GaveUpWarning(UnrulyWarning):
    """Rules took too long on some documents, and so abstain there."""


def warn_given_up(facts: Sequence[DocumentsGivenUp]) -> None:
    """Say where rules took too long, and what to do."""
    for fact in facts:
        warn(sentence(fact), GaveUpWarning)


def lacking(votes: Votes) -> tuple[ColumnLacking, ...]:
    """Where the sources behind votes abstain because documents lack a column."""
    return () if votes.provenance is None else votes.provenance.lacking


def given_up(votes: Votes) -> tuple[DocumentsGivenUp, ...]:
    """On how many documents the rules behind votes took too long, and so abstain."""
    facts = () if votes.provenance is None else votes.provenance.given_up
    return given_up_together(
        DocumentsGivenUp(fact.source, fact.rule, int(fact.rows.sum()), fact.seconds, fact.pattern)
        for fact in facts
    )


def given_up_together(facts: Iterable[DocumentsGivenUp]) -> tuple[DocumentsGivenUp, ...]:
    """One fact for each rule, of the documents of all parts."""
    found: dict[DocumentsGivenUp, int] = {}
    for fact in facts:
        kind = replace(fact, documents=0)
        found[kind] = found.get(kind, 0) + fact.documents
    return tuple(replace(kind, documents=count) for kind, count in found.items())

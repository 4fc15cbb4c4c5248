"""The matcher: all rules of all sources over all texts in one pass of polars, and why each source voted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import polars as pl

from unruly.errors import RuleError, UnrulyError, Where
from unruly.facts import DocumentsGivenUp
from unruly.progress import SILENT, Progress, stage
from unruly.rules.cache import Cache, entry_key, texts_digest, whole_digest
from unruly.rules.condition import (
    ID,
    TEXT,
    BatchHighlighter,
    Condition,
    Explained,
    Measure,
    Needs,
    Row,
    RowFailure,
    Span,
    Timed,
    spans_of,
    suggestion,
)
from unruly.rules.pattern import STEPS
from unruly.rules.source import Source
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Match, Votes, one_of
from unruly.wording import plural

_SLICE = 250_000  # texts matched between two words of progress
_STEPS = 10 * STEPS  # parts of large patterns × bytes matched at once: Ctrl-C works in between
_FEW = 1_000  # texts for which polars' streaming engine takes longer to start than to match
_SLOW_SLICE = 2_000  # texts measured in Python between two words of progress
SOFT = "__soft_votes:"  # before a source's name: the column of its probabilities
UNASKED = "__unasked:"  # likewise: where it has not been asked


@dataclass(frozen=True, eq=False)
class MatchFrame:
    """The documents as one frame, texts and ids under names that no user has taken."""

    frame: pl.DataFrame

    def __repr__(self) -> str:
        return f"MatchFrame({plural(self.height, 'document')})"

    @classmethod
    def of(cls, corpus: Corpus) -> MatchFrame:
        """The frame of a corpus."""
        columns = [corpus.texts.alias(TEXT), corpus.ids.alias(ID)]
        if not corpus.columns.width:
            return cls(pl.DataFrame(columns))
        return cls(corpus.columns.with_columns(columns))

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
        return whole_digest(self.frame)


@dataclass(frozen=True, eq=False)
class Matched:
    """One Int8 column per source (-1 abstains), `SOFT` columns for probabilities, `UNASKED` for missing votes."""

    votes: pl.DataFrame
    given_up: tuple[DocumentsGivenUp, ...] = ()  # where rules took too long


@dataclass(frozen=True)
class Matcher:
    """Sources and classes, with a cache or without."""

    sources: tuple[Source, ...]
    classes: tuple[str, ...]
    cache: Cache | None = field(default=None, compare=False)

    @cached_property
    def _expressions(self) -> dict[str, list[pl.Expr]]:
        """What each source votes by, made once: a server asks for one text after the other."""
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
        """Every source's votes; sources whose votes the cache has are not matched."""
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
            key = None if source.name in slow else keys[source.name]
            if key is not None and not self.cache.put(key, _columns(done.votes, source.name)):
                break  # it cannot be written
        self.cache.trim()
        return Matched(pl.concat([done.votes, *found], how="horizontal"), done.given_up)

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
        wide = needs.columns or any(m.reads or m.meaning() is None for m in needs.measures)
        return entry_key(meaning, self.classes, documents.everything if wide else documents.texts)

    def _match(
        self, sources: Sequence[Source], documents: MatchFrame, progress: Progress
    ) -> Matched:
        expressions = [made for source in sources for made in self._expressions[source.name]]
        frame = self.with_measures(sources, documents, progress)
        parts = []
        with stage(progress, "matching rules", frame.height, "texts"):
            for part in frame.iter_slices(self._rows(sources, frame)):
                parts.append(self._select(sources, part, expressions))
                progress.advance(part.height)
        votes = pl.concat(parts) if parts else self._select(sources, frame, expressions)
        return Matched(votes, tuple(self._given_up(sources, frame)))

    def _rows(self, sources: Sequence[Source], frame: pl.DataFrame) -> int:
        """How many documents are matched at once: fewer where large patterns meet long texts."""
        parts = sum(self._needs[source.name].parts for source in sources)
        if not parts or not frame.height:
            return _SLICE
        mean = 1 + int(frame[TEXT].str.len_bytes().sum() or 0) // frame.height
        return min(max(_STEPS // (parts * mean), 1), _SLICE)

    def _given_up(
        self, sources: Sequence[Source], frame: pl.DataFrame
    ) -> Iterator[DocumentsGivenUp]:
        for source in sources:
            for number, rule in enumerate(source.rules, start=1):
                for measure in rule.when.needs(self.classes).measures:
                    if isinstance(measure, Timed) and (count := frame[measure.name].null_count()):
                        yield DocumentsGivenUp(source.name, number, count, measure.seconds)

    def _select(
        self, sources: Sequence[Source], frame: pl.DataFrame, expressions: list[pl.Expr]
    ) -> pl.DataFrame:
        engine: Literal["in-memory", "streaming"]
        engine = "in-memory" if frame.height <= _FEW else "streaming"
        try:
            return frame.lazy().select(expressions).collect(engine=engine)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise self._blame(sources, frame) or RuleError(_first_line(error)) from None

    def _blame(self, sources: Sequence[Source], frame: pl.DataFrame) -> RuleError | None:
        """Which rule it was that polars could not evaluate."""
        for source in sources:
            for number, vote in enumerate(source.rule_votes(self.classes), start=1):
                try:
                    frame.select(vote)
                except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
                    return RuleError(_first_line(error), where=source.where(number))
        return None

    def with_measures(
        self, sources: Sequence[Source], documents: MatchFrame, progress: Progress = SILENT
    ) -> pl.DataFrame:
        """The frame with every measure that some rule reads, each worked out once; those that it has are kept."""
        columns = []
        for measure, rule in self._measures(sources, documents.frame.schema).items():
            if measure.name not in documents.frame.columns:
                columns.append(self._measured(measure, rule, documents, progress))
        return documents.frame.with_columns(columns)

    def _measures(
        self, sources: Sequence[Source], columns: Mapping[str, pl.DataType]
    ) -> dict[Measure, Where]:
        """Every measure with the first rule that asks for it; columns that cannot be read are found on the way."""
        wanted: dict[Measure, Where] = {}
        for source in sources:
            for number, rule in enumerate(source.rules, start=1):
                needs = rule.when.needs(self.classes)
                for column in (*needs.columns, *(c for m in needs.measures for c in m.reads)):
                    _check_column(column, columns, source.where(number))
                for measure in needs.measures:
                    wanted.setdefault(measure, source.where(number))
        return wanted

    def _measured(
        self, measure: Measure, rule: Where, documents: MatchFrame, progress: Progress
    ) -> pl.Series:
        meaning, key = measure.meaning(), None
        if self.cache is not None and meaning is not None:
            data = documents.everything if measure.reads else documents.texts
            key = entry_key(["measure", meaning], (), data)
            if (kept := self._kept(key, documents)) is not None:
                return kept.to_series().alias(measure.name)
        series = _compute(measure, rule, documents.frame, progress)
        complete = not isinstance(measure, Timed) or not series.null_count()
        if self.cache is not None and key is not None and complete:
            self.cache.put(key, series.to_frame("measure"))
        return series


def _compute(measure: Measure, rule: Where, frame: pl.DataFrame, progress: Progress) -> pl.Series:
    parts = []
    with stage(progress, f"measuring for {rule}", frame.height, "texts"):
        for part in frame.iter_slices(_SLOW_SLICE) if frame.height else [frame]:
            try:
                parts.append(measure.compute(part).alias(measure.name))
            except RowFailure as failure:
                found = part[ID][failure.row]
                known = found if isinstance(found, int) else str(found)
                raise RuleError(
                    failure.problem, where=replace(rule, id=known)
                ) from failure.__cause__
            except UnrulyError as error:
                raise error.located(rule) from None
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
                raise RuleError(_first_line(error), where=rule) from None
            progress.advance(part.height)
    return pl.concat(parts)


def _check_column(column: str, columns: Mapping[str, pl.DataType], rule: Where) -> None:
    if columns.get(column) == pl.Binary:
        raise RuleError(
            f"the column {column!r} holds bytes, and rules read texts and numbers: decode it first",
            where=rule,
        )
    if column in columns:
        return
    theirs = [c for c in columns if c not in (TEXT, ID)]
    listed = f"the columns beside text, id and label are {', '.join(theirs)}"
    raise RuleError(
        f"there is no column {column!r} in the data: "
        f"{listed if theirs else 'there is only a text'}{suggestion(column, theirs)}",
        where=rule,
    )


def _columns(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """The source's own columns, under names that do not depend on the source's."""
    own = [pl.col(name).alias("vote")]
    soft = SOFT + name
    return frame.select([*own, pl.col(soft).alias("soft")] if soft in frame.columns else own)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _renamed(entry: pl.DataFrame, name: str) -> pl.DataFrame:
    return entry.rename({"vote": name, "soft": SOFT + name}, strict=False)


@dataclass(frozen=True, eq=False)
class Evidence:
    """The provenance of votes: the documents, and the rules that were matched against them."""

    matcher: Matcher
    corpus: Corpus
    given_up: tuple[DocumentsGivenUp, ...] = ()  # where rules took too long, and so abstain

    def __repr__(self) -> str:
        sources = plural(len(self.matcher.sources), "source")
        return f"Evidence({sources}, {plural(len(self.corpus), 'document')})"

    def matches(self, row: int) -> tuple[Match, ...]:
        """What fired on this document, one `Match` for each source that voted."""
        return matches_on(self.matcher, self.corpus.take([row]))[0]


def matches_on(matcher: Matcher, corpus: Corpus) -> list[tuple[Match, ...]]:
    """What fired on each of a few documents: one `Match` for each source that voted on it."""
    frame = matcher.with_measures(matcher.sources, MatchFrame.of(corpus))
    rules = [
        (source, number, vote)
        for source in matcher.sources
        for number, vote in enumerate(source.rule_votes(matcher.classes))
    ]
    cast = frame.select(vote.alias(str(i)) for i, (_, _, vote) in enumerate(rules))
    found: list[dict[str, Match]] = [{} for _ in range(len(corpus))]
    for i, (source, number, _) in enumerate(rules):
        rule = source.rules[number]
        when = rule.when
        votes = {
            row: decided
            for row, decided in enumerate(cast[str(i)].to_list() if len(corpus) else ())
            if decided is not None
            and source.name not in found[row]
            and not (corpus.missing is not None and corpus.missing[row])  # there is no text
        }
        documents = [frame.row(row, named=True) for row in votes]
        several = rule.named(matcher.classes)  # a rule for one class may have flipped its vote
        for (row, decided), document, spans in zip(
            votes.items(), documents, _spans(when, documents), strict=True
        ):
            named = several if len(several) > 1 else (decided,)
            label = one_of(matcher.classes[c] for c in named)
            why = when.because(document) if isinstance(when, Explained) else when.reason()
            found[row][source.name] = Match(source.name, number, label, spans, why)
    return [tuple(matches.values()) for matches in found]


def _spans(when: Condition, documents: Sequence[Row]) -> list[tuple[Span, ...]]:
    if isinstance(when, BatchHighlighter):
        return when.spans_in([str(document[TEXT]) for document in documents])
    return [spans_of(when, document) for document in documents]


def given_up(votes: Votes) -> tuple[DocumentsGivenUp, ...]:
    """Where the rules behind votes took too long, and so abstain."""
    provenance = votes.provenance
    return provenance.given_up if isinstance(provenance, Evidence) else ()

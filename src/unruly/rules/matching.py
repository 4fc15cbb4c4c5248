"""The matcher: all rules of all sources over all texts, in one pass of polars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from unruly.errors import RuleError, UnrulyError
from unruly.progress import SILENT, Progress, stage
from unruly.rules.cache import Cache, entry_key, texts_digest, whole_digest
from unruly.rules.condition import ID, TEXT, Measure, RowFailure
from unruly.rules.place import suggestion
from unruly.rules.source import Source
from unruly.texts.corpus import Corpus

_SLICE = 250_000  # texts matched between two words of progress
_SLOW_SLICE = 2_000  # texts measured in Python between two words of progress
SOFT = "__soft_votes:"  # before a source's name: the column of its probabilities


@dataclass(frozen=True, eq=False)
class Ground:
    """The documents as one frame, texts and ids under names that no user has taken."""

    frame: pl.DataFrame

    @classmethod
    def of(cls, corpus: Corpus) -> Ground:
        """The frame of a corpus."""
        columns = [corpus.texts.alias(TEXT), corpus.ids.alias(ID)]
        if not corpus.columns.width:
            return cls(pl.DataFrame(columns))
        return cls(corpus.columns.with_columns(columns))

    @cached_property
    def texts(self) -> str:
        """A digest of the texts."""
        return texts_digest(self.frame)

    @cached_property
    def everything(self) -> str:
        """A digest of texts, ids and columns."""
        return whole_digest(self.frame)


@dataclass(frozen=True, eq=False)
class Matcher:
    """Sources and classes, with a cache or without."""

    sources: tuple[Source, ...]
    classes: tuple[str, ...]
    cache: Cache | None = None

    def run(self, ground: Ground, progress: Progress = SILENT) -> pl.DataFrame:
        """One Int8 column per source (-1 abstains), and `SOFT` columns for probabilities."""
        if self.cache is None:
            return self._match(self.sources, ground, progress)
        keys = {source.name: self._key(source, ground) for source in self.sources}
        kept = {name: self.cache.get(key) for name, key in keys.items() if key is not None}
        todo = [source for source in self.sources if kept.get(source.name) is None]
        done = self._match(todo, ground, progress) if todo else pl.DataFrame()
        for source in todo:
            key = keys[source.name]
            entry = _columns(done, source.name)
            kept[source.name] = entry
            if key is not None:
                self.cache.put(key, entry)
        if todo:
            self.cache.trim()
        return pl.concat(
            [_renamed(kept[source.name], source.name) for source in self.sources], how="horizontal"
        )

    def _key(self, source: Source, ground: Ground) -> str | None:
        """The name of the source's cache entry; None when its votes cannot be kept."""
        meaning = source.meaning()
        if meaning is None:
            return None
        needs = source.needs(self.classes)
        wide = needs.columns or any(m.reads or m.meaning() is None for m in needs.measures)
        return entry_key(meaning, self.classes, ground.everything if wide else ground.texts)

    def _match(self, sources: Sequence[Source], ground: Ground, progress: Progress) -> pl.DataFrame:
        expressions = [source.vote(self.classes) for source in sources]
        for source in sources:
            soft = source.soft(self.classes)
            expressions += [] if soft is None else [soft.alias(SOFT + source.name)]
        frame = self.with_measures(sources, ground, progress)
        parts = []
        with stage(progress, "matching rules", frame.height, "texts"):
            for part in frame.iter_slices(_SLICE):
                parts.append(self._select(sources, part, expressions))
                progress.advance(part.height)
        return pl.concat(parts) if parts else self._select(sources, frame, expressions)

    def _select(
        self, sources: Sequence[Source], frame: pl.DataFrame, expressions: list[pl.Expr]
    ) -> pl.DataFrame:
        try:
            return frame.lazy().select(expressions).collect(engine="streaming")
        except pl.exceptions.PolarsError as error:
            raise self._blame(sources, frame) or error from None

    def _blame(self, sources: Sequence[Source], frame: pl.DataFrame) -> RuleError | None:
        """Which rule it was that polars could not evaluate."""
        for source in sources:
            for number, vote in enumerate(source.rule_votes(self.classes), start=1):
                try:
                    frame.select(vote)
                except pl.exceptions.PolarsError as error:
                    return RuleError(f"{source.title(number)}: {str(error).splitlines()[0]}")
        return None

    def with_measures(
        self, sources: Sequence[Source], ground: Ground, progress: Progress = SILENT
    ) -> pl.DataFrame:
        """The frame with every measure that some rule reads, each worked out once."""
        columns = []
        for measure, rule in self._measures(sources, ground.frame.columns).items():
            columns.append(self._measured(measure, rule, ground, progress))
        return ground.frame.with_columns(columns)

    def _measures(self, sources: Sequence[Source], columns: Sequence[str]) -> dict[Measure, str]:
        """Every measure with the first rule that asks for it; missing columns are found on the way."""
        wanted: dict[Measure, str] = {}
        for source in sources:
            for number, rule in enumerate(source.rules, start=1):
                needs = rule.when.needs(self.classes)
                for column in (*needs.columns, *(c for m in needs.measures for c in m.reads)):
                    _check_column(column, columns, source.title(number))
                for measure in needs.measures:
                    wanted.setdefault(measure, source.title(number))
        return wanted

    def _measured(
        self, measure: Measure, rule: str, ground: Ground, progress: Progress
    ) -> pl.Series:
        meaning, key = measure.meaning(), None
        if self.cache is not None and meaning is not None:
            data = ground.everything if measure.reads else ground.texts
            key = entry_key(["measure", meaning], (), data)
            if (kept := self.cache.get(key)) is not None:
                return kept.to_series().alias(measure.name)
        series = _compute(measure, rule, ground.frame, progress)
        if self.cache is not None and key is not None:
            self.cache.put(key, series.to_frame("measure"))
        return series


def _compute(measure: Measure, rule: str, frame: pl.DataFrame, progress: Progress) -> pl.Series:
    parts = []
    with stage(progress, f"measuring for {rule}", frame.height, "texts"):
        for part in frame.iter_slices(_SLOW_SLICE) if frame.height else [frame]:
            try:
                parts.append(measure.compute(part).alias(measure.name))
            except RowFailure as failure:
                found = part[ID][failure.row]
                raise RuleError(
                    f"{rule}, row id {found!r}: {failure.problem}"
                ) from failure.__cause__
            except UnrulyError as error:
                raise type(error)(f"{rule}: {error}") from None
            progress.advance(part.height)
    return pl.concat(parts)


def _check_column(column: str, columns: Sequence[str], rule: str) -> None:
    if column in columns:
        return
    theirs = [c for c in columns if c not in (TEXT, ID)]
    listed = f"the columns beside text, id and label are {', '.join(theirs)}"
    raise RuleError(
        f"{rule}: there is no column {column!r} in the data: "
        f"{listed if theirs else 'there is only a text'}{suggestion(column, theirs)}"
    )


def _columns(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """The source's own columns, under names that do not depend on the source's."""
    own = [pl.col(name).alias("vote")]
    soft = SOFT + name
    return frame.select([*own, pl.col(soft).alias("soft")] if soft in frame.columns else own)


def _renamed(entry: pl.DataFrame | None, name: str) -> pl.DataFrame:
    assert entry is not None
    return entry.rename({"vote": name, "soft": SOFT + name}, strict=False)

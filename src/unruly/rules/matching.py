"""The matcher: all rules of all sources over all texts, in one pass of polars."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from unruly.errors import RuleError
from unruly.progress import SILENT, Progress, stage
from unruly.rules.condition import ID, TEXT, Measure, Needs, RowFailure
from unruly.rules.place import suggestion
from unruly.rules.source import Source
from unruly.texts.corpus import Corpus


def frame_of(corpus: Corpus) -> pl.DataFrame:
    """The corpus as one frame, texts and ids under names that no user has taken."""
    both = [corpus.texts.alias(TEXT), corpus.ids.alias(ID)]
    return corpus.columns.with_columns(both) if corpus.columns.width else pl.DataFrame(both)


def cast_votes(
    sources: Sequence[Source],
    classes: tuple[str, ...],
    frame: pl.DataFrame,
    progress: Progress = SILENT,
) -> pl.DataFrame:
    """One Int8 column per source: class numbers, -1 to abstain."""
    votes = [source.vote(classes) for source in sources]
    measured = with_measures(sources, classes, frame, progress)
    with stage(progress, "matching rules", frame.height, "texts"):
        cast = measured.lazy().select(votes).collect(engine="streaming")
        progress.advance(frame.height)
    return cast


def with_measures(
    sources: Sequence[Source],
    classes: tuple[str, ...],
    frame: pl.DataFrame,
    progress: Progress = SILENT,
) -> pl.DataFrame:
    """The frame with every measure that some rule reads, each worked out once."""
    for measure, rule in _measures(sources, classes, frame.columns).items():
        with stage(progress, f"measuring for {rule}", frame.height, "texts"):
            frame = frame.with_columns(_compute(measure, rule, frame))
            progress.advance(frame.height)
    return frame


def total_needs(sources: Sequence[Source], classes: tuple[str, ...]) -> Needs:
    """What all the sources read."""
    total = Needs()
    for source in sources:
        total = total + source.needs(classes)
    return total


def _measures(
    sources: Sequence[Source], classes: tuple[str, ...], columns: Sequence[str]
) -> dict[Measure, str]:
    """Every measure with the first rule that asks for it; missing columns are found on the way."""
    wanted: dict[Measure, str] = {}
    for source in sources:
        for number, rule in enumerate(source.rules, start=1):
            needs = rule.when.needs(classes)
            for column in (*needs.columns, *(c for m in needs.measures for c in m.reads)):
                _check_column(column, columns, source.title(number))
            for measure in needs.measures:
                wanted.setdefault(measure, source.title(number))
    return wanted


def _check_column(column: str, columns: Sequence[str], rule: str) -> None:
    if column in columns:
        return
    theirs = [c for c in columns if c not in (TEXT, ID)]
    listed = (
        f"the columns beside the text are {', '.join(theirs)}" if theirs else "there is only a text"
    )
    raise RuleError(
        f"{rule}: there is no column {column!r} in the data: {listed}{suggestion(column, theirs)}"
    )


def _compute(measure: Measure, rule: str, frame: pl.DataFrame) -> pl.Series:
    try:
        return measure.compute(frame).alias(measure.name)
    except RowFailure as failure:
        found = frame[ID][failure.row]
        raise RuleError(f"{rule}, row id {found!r}: {failure.problem}") from failure.__cause__

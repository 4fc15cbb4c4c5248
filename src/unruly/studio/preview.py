"""What an edited source would do: its counts, what it newly matches, whom it contradicts, its examples.

It is parsed within the limits of what a browser may ask for: paths stay in the project's folder, models as well. Python runs only
from files that the saved project names, and types that a classifier's file may hold are trusted only where the saved project trusts them.

Only the edited source is matched, over all documents, with the same expressions as everywhere else. A source that
Python evaluates text by text is timed on a few documents first, and waits for a button where it is slow.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.errors import RuleError, UnrulyError, Where
from unruly.project.file import rule_space
from unruly.project.toml import Table
from unruly.rules.classifier import Classifier
from unruly.rules.function import Function
from unruly.rules.matching import Matcher, MatchFrame, matches_on
from unruly.rules.similar import descriptions_of
from unruly.rules.source import Source, source_from_plain
from unruly.rules.sources import failures
from unruly.rules.tools import MODEL, Entity
from unruly.statistics import Share, posterior_share, sample_rows, wilson
from unruly.studio.incremental_matching import SourceMatches, TypedVotes
from unruly.studio.state import (
    Sample,
    State,
    counts_with,
    sample_of,
)
from unruly.texts.columns import UNKNOWN
from unruly.votes.majority import winners
from unruly.votes.provenance import Match

FILE_KEYS = ("keywords_file", "file")  # whose values are paths
MODELS = ("classifier", "entity")  # whose `model` may be a path
FEW, SOME = 4, 40  # documents on which a source is timed; some where a few were quick
QUICK = 0.02  # seconds for a few documents


def parse_source(text: str, state: State) -> Source:
    """The one source that a piece of TOML describes."""
    table = Table.parse(text, "rule")
    table.only(("source",))
    tables = table.tables("source")
    if len(tables) != 1:
        raise table.error("write one [[source]] with its rules" if not tables else "one at a time")
    one = tables[0]
    _check(one.values, state)
    found = (descriptions_of(source) for source in state.project.sources.sources)
    return source_from_plain(
        one.values,
        state.classes,
        state.folder,
        lambda path: replace(one.where(*path), keys=path),
        state.once("space", lambda: rule_space(state.project)),
        next((known for known in found if known is not None), None),
    )


def _check(values: Mapping[str, Any], state: State) -> None:
    saved = [rule.when for source in state.project.sources.with_disabled for rule in source.rules]
    files = {when.file for when in saved if isinstance(when, Function)}
    models = {MODEL} | {when.model for when in saved if isinstance(when, Classifier | Entity)}
    trusted = {one for when in saved if isinstance(when, Classifier) for one in when.trusted}
    for kind, key, value in _keys(values):
        if key in FILE_KEYS and kind != "function" and isinstance(value, str):
            _inside(value, state.folder)
        elif kind == "function" and key == "file" and value not in files:
            raise RuleError(
                f"the project file does not name {value!r}: Python is run only from files "
                "that it names; add the source there in an editor"
            )
        elif kind in MODELS and key == "model" and isinstance(value, str) and value not in models:
            _inside(value, state.folder)
            if value and not (state.folder / value).exists():
                raise RuleError(f"there is no model {value!r} in the project's folder")
        elif kind == "classifier" and key == "trusted" and not set(map(str, value)) <= trusted:
            raise RuleError(
                "types that a model file may hold are trusted in an editor, not in the browser"
            )


def _keys(value: object, kind: str = "", key: str = "") -> Iterator[tuple[str, str, Any]]:
    """Every key with the kind of rule that it stands in, and its value."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _keys(inner, key or kind, str(name))
        return
    yield kind, key, value
    for inner in value if isinstance(value, list) else ():
        if isinstance(inner, Mapping | list):
            yield from _keys(inner, "", "")


def _inside(value: str, folder: Path) -> None:
    root = folder.resolve()
    if not (root / value).resolve().is_relative_to(root):
        raise RuleError(f"{value!r} is outside the project's folder: copy the file into it")


def seconds_for(source: Source, state: State) -> float:
    """Estimated seconds for all documents, from a few; 0 where polars evaluates the source."""
    measures = source.needs(state.classes).measures  # evaluated in Python
    if not measures or state.typed.knows(source, state.classes):
        return 0.0
    _timed(source, state, FEW)  # the first call loads models: not counted
    seconds = _timed(source, state, FEW)
    if seconds < QUICK:
        return _timed(source, state, SOME) * state.n / SOME
    return seconds * state.n / FEW


def _timed(source: Source, state: State, most: int) -> float:
    rows = sample_rows(state.n, most)
    documents = MatchFrame.of(state.corpus.take(rows))
    start = time.perf_counter()
    TypedVotes(documents).of(source, state.classes)
    return time.perf_counter() - start


AT_ONCE = 200_000  # documents that are matched at every keystroke; of more, a sample first
SHOWN = 6  # documents of each kind
AT_EVERY_KEY = 0.5  # seconds: what takes longer waits for a button


@dataclass(frozen=True)
class Example:
    """An example of a rule, and whether it holds."""

    text: str
    counter: bool
    holds: bool


@dataclass(frozen=True)
class PreviewedDocuments:
    """Documents of one kind: how many there are, and the first few with what the source matched."""

    count: int
    rows: tuple[int, ...]
    matches: tuple[tuple[Match, ...], ...]


@dataclass(frozen=True)
class Preview:
    """The effect of an edit."""

    source: str
    documents: int
    votes: int
    by_class: tuple[tuple[str, int], ...]
    before: int | None  # votes of the saved source; None where it is new
    changed: bool  # whether any vote is not that of the saved source
    matched: PreviewedDocuments  # documents on which it votes
    added: PreviewedDocuments  # documents on which it did not vote before
    removed: PreviewedDocuments  # documents on which it no longer votes
    contradicts: PreviewedDocuments | None  # votes against the model; None without one
    by_model: Share | None  # the mean probability of its votes: its accuracy, as the model sees it
    by_others: Share | None  # votes that agree with the majority of the other sources
    only_voter: bool  # no other source votes for any of its classes, so none can agree
    measured: Share | None  # against labels
    examples: tuple[Example, ...]
    covered: int  # documents with a vote, after
    covered_before: int
    majority: PreviewedDocuments  # documents whose majority vote changes
    moves: tuple[tuple[str | None, str | None], ...]  # of those shown: their majority before, after
    seconds: float
    sample_of: int | None = None  # counted on a sample of so many; None: on all


@dataclass(frozen=True)
class Slow:
    """A source too slow for every keystroke: it waits for a button."""

    source: str
    seconds: float  # that it would take


@dataclass(frozen=True)
class Wrong:
    """A text that is not a valid source, and why."""

    message: str
    line: int | None = None
    keys: tuple[str | int, ...] = ()  # that lead to it
    field: str = ""  # of the form
    missing: bool = False  # not entered yet


Outcome = Preview | Slow | Wrong


def prepare(state: State, most: int = AT_ONCE) -> None:
    """Prepare the texts in the background, so that the first keystrokes find them ready."""

    def work() -> None:
        documents = state if state.n <= most else sample_of(state, most).state
        documents.typed.begin()

    threading.Thread(target=work, daemon=True).start()


def preview_sampled(text: str, state: State, saved: str | None, most: int = AT_ONCE) -> Outcome:
    """The same on a sample where there are more documents than can be matched at every keystroke."""
    if state.n <= most:
        state.typed.begin()
        return preview(text, state, saved)
    sample = sample_of(state, most)
    sample.state.typed.begin()
    found = preview(text, sample.state, saved)
    if not isinstance(found, Preview):
        return found
    against = found.contradicts
    return replace(
        found,
        matched=_in_whole(found.matched, sample),
        added=_in_whole(found.added, sample),
        removed=_in_whole(found.removed, sample),
        contradicts=None if against is None else _in_whole(against, sample),
        majority=_in_whole(found.majority, sample),
        sample_of=state.n,
    )


def _in_whole(shown: PreviewedDocuments, sample: Sample) -> PreviewedDocuments:
    return replace(shown, rows=tuple(int(sample.rows[row]) for row in shown.rows))


def preview(text: str, state: State, saved: str | None = None, *, patient: bool = False) -> Outcome:
    """What the source in `text` would do in the place of the source called `saved`.

    A source that would take too long is only timed on a few documents, unless the caller is `patient`.
    """
    start = time.perf_counter()
    try:
        source = parse_source(text, state)
        if not patient and (seconds := seconds_for(source, state)) > AT_EVERY_KEY:
            return Slow(source.name, seconds)
        return _outcome(source, _votes(source, state), state, saved, start)
    except UnrulyError as error:
        where = error.where or Where()
        message = error.message or str(error)
        return Wrong(message, where.line, where.keys or ())


def _votes(source: Source, state: State) -> SourceMatches:
    votes, silent = state.typed.of(source, state.classes), state.corpus.missing
    return votes if silent is None else votes.without(silent)


def _shown(
    masks: Sequence[NDArray[np.bool_]],
    source: Source | None,
    votes: SourceMatches | None,
    state: State,
) -> list[PreviewedDocuments]:
    """The first documents of each kind; what the source matched is looked for in all of them at once."""
    found = [np.flatnonzero(mask) for mask in masks]
    rows = np.unique(np.concatenate([every[:SHOWN] for every in found]))
    matches: list[tuple[Match, ...]] = [() for _ in rows]
    if source is not None and votes is not None and len(rows):
        cast = votes.first[rows][:, None]
        matches = matches_on(Matcher((source,), state.classes), state.corpus.take(rows), cast)
    known = dict(zip(rows.tolist(), matches, strict=True))
    return [
        PreviewedDocuments(
            len(every), tuple(first := every[:SHOWN].tolist()), tuple(known[r] for r in first)
        )
        for every in found
    ]


def _outcome(
    source: Source, votes: SourceMatches, state: State, saved: str | None, start: float
) -> Preview:
    old = state.votes_of(saved) if saved is not None and saved in state.votes.sources else None
    now = votes.voted
    was = np.zeros(state.n, np.bool_) if old is None else old.voted
    old_source = next((s for s in state.project.sources.sources if s.name == saved), None)
    effect = _effect(votes, old, state)
    moved = np.zeros(state.n, np.bool_)
    moved[effect.rows] = True
    against = now if state.answers is None else now & ~votes.names(state.answers.predicted)
    kinds = [now & ~was, against, moved, now]
    added, contradicts, majority, matched = _shown(kinds, source, votes, state)
    (removed,) = _shown([was & ~now], old_source, old, state)
    return Preview(
        source=source.name,
        documents=state.n,
        votes=int(now.sum()),
        by_class=votes.tally(state.classes),
        before=None if old is None else int(was.sum()),
        changed=old is None or bool(votes.differs(old).any()),
        matched=matched,
        added=added,
        removed=removed,
        contradicts=None if state.answers is None else contradicts,
        by_model=_by_model(votes, state),
        by_others=_by_others(votes, old, state),
        only_voter=_only_voter(source, saved, state),
        measured=None if state.truth is None else _agreement(votes, state.truth),
        examples=_examples(source, state.classes),
        covered=int(state.votes.covered.sum()) + effect.covered,
        covered_before=int(state.votes.covered.sum()),
        majority=majority,
        moves=tuple(
            (_name(before, state), _name(after, state))
            for before, after in zip(
                state.winner[effect.rows[:SHOWN]], effect.after[:SHOWN], strict=True
            )
        ),
        seconds=time.perf_counter() - start,
    )


@dataclass(frozen=True, eq=False)
class _Effect:
    """What an edit does to majority vote."""

    covered: int  # documents with a vote that had none, less those that lose their only one
    rows: NDArray[np.intp]  # documents whose majority vote changes
    after: NDArray[np.int64]  # their class then, -1 where there is none


def _effect(votes: SourceMatches, old: SourceMatches | None, state: State) -> _Effect:
    rows = np.flatnonzero(votes.voted if old is None else votes.differs(old))
    counts = counts_with(state, rows, None if old is None else old.take(rows), votes.take(rows))
    now = counts.any(axis=1)
    covered = int(now.sum()) - int(state.votes.covered[rows].sum())
    after = winners(counts)
    moved = after != state.winner[rows]
    return _Effect(covered, rows[moved], after[moved])


def _name(number: int, state: State) -> str | None:
    return None if number == UNKNOWN else state.classes[number]


def _by_others(votes: SourceMatches, old: SourceMatches | None, state: State) -> Share | None:
    """How often its vote names the class that the majority of the other sources names, where there is one."""
    rows = np.flatnonzero(votes.voted)
    others = counts_with(state, rows, None if old is None else old.take(rows))
    return _agreement(votes.take(rows), winners(others))


def _only_voter(source: Source, saved: str | None, state: State) -> bool:
    """Whether no other source votes for a class that this one votes for."""
    if not state.votes.k:
        return True
    classes = state.classes
    own = {c for rule in source.rules for c in rule.named(classes) or range(len(classes))}
    rest = [line for line in state.summary.sources if line.source != saved and line.j is not None]
    return not any(own.intersection(line.polarity) for line in rest)


def _by_model(votes: SourceMatches, state: State) -> Share | None:
    """Σ P(class of the vote | document) / votes, with the interval that suggestions have."""
    rows = np.flatnonzero(votes.voted)
    if state.answers is None or not len(rows):
        return None
    believed = votes.take(rows).believed(state.answers.proba[rows])
    return posterior_share(float(believed.mean()), len(rows))


def _agreement(votes: SourceMatches, other: NDArray[np.int64]) -> Share | None:
    both = votes.voted & (other != UNKNOWN)
    n = int(both.sum())
    return wilson(int((votes.names(other) & both).sum()), n) if n else None


def _examples(source: Source, classes: tuple[str, ...]) -> tuple[Example, ...]:
    wrong = {(f.where.rule, f.text, f.counter_example) for f in failures(source, classes)}
    return tuple(
        Example(text, counter, (number, text, counter) not in wrong)
        for number, rule in enumerate(source.rules, start=1)
        for counter, texts in ((False, rule.examples), (True, rule.counter_examples))
        for text in texts
    )

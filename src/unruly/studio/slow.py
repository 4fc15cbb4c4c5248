"""Rules that are worked out in Python, text by text: how long all documents would take, and what is known already."""

from __future__ import annotations

import time

from unruly.rules.condition import Measure
from unruly.rules.matching import MatchFrame
from unruly.rules.pattern import LongTexts
from unruly.rules.source import Source
from unruly.sampling import sample_rows
from unruly.studio.state import State
from unruly.studio.typed_votes import TypedVotes

FEW, SOME = 4, 40  # documents on which a source is timed; some where a few were quick
QUICK = 0.02  # seconds for a few documents


def slow_measures(source: Source, classes: tuple[str, ...]) -> tuple[Measure, ...]:
    """What Python works out; long texts are left out, for few texts are long."""
    found = source.needs(classes).measures
    return tuple(measure for measure in found if not isinstance(measure, LongTexts))


def seconds_for(source: Source, state: State) -> float:
    """How long the votes on all documents take, by those on a few; 0 where polars works them out."""
    if not slow_measures(source, state.classes) or state.typed.knows(source, state.classes):
        return 0.0
    _timed(source, state, FEW)  # what is loaded for the first text counts for none
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

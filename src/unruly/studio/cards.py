"""Documents as the pages show them: an excerpt with marks, votes, label, and what the model says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unruly.studio.marking import Piece, excerpt, pieces
from unruly.studio.state import NONE, State
from unruly.votes.votes import Match

PAGE = 20  # documents on a page


@dataclass(frozen=True)
class Card:
    """One document in a list."""

    row: int
    id: str
    pieces: tuple[Piece, ...]
    cut_before: bool
    cut_after: bool
    votes: tuple[Match, ...]
    label: str | None  # by hand
    predicted: str | None
    confidence: float | None
    earlier: str | None = None  # what the model before said, where it said something else
    empty: bool = False


@dataclass(frozen=True)
class Page:
    """One page of a list."""

    cards: tuple[Card, ...]
    number: int  # from 1
    pages: int
    total: int

    @property
    def first(self) -> int:
        """The place of its first document in the list, from 1."""
        return (self.number - 1) * PAGE + 1 if self.total else 0

    @property
    def last(self) -> int:
        """The place of its last document."""
        return min(self.number * PAGE, self.total)


def cards(
    state: State,
    rows: Sequence[int],
    matches: Sequence[tuple[Match, ...]] | None = None,
    *,
    whole: bool = False,
) -> tuple[Card, ...]:
    """Documents for a list; what fired is looked up where it is not given."""
    fired = state.matches(list(rows)) if matches is None else matches
    return tuple(_card(state, row, found, whole) for row, found in zip(rows, fired, strict=True))


def page(state: State, rows: Sequence[int], number: int) -> Page:
    """The page of this number, or the nearest that there is."""
    pages = max(1, -(-len(rows) // PAGE))
    number = min(max(number, 1), pages)
    chosen = [int(row) for row in rows[(number - 1) * PAGE : number * PAGE]]
    return Page(cards(state, chosen), number, pages, len(rows))


def _card(state: State, row: int, matches: tuple[Match, ...], whole: bool) -> Card:
    text = state.corpus.texts[row]
    shown, before, after = (
        (pieces(text, matches), False, False) if whole else excerpt(text, matches)
    )
    answers = state.answers
    label = int(state.labels[row])
    return Card(
        row=row,
        id=str(state.corpus.ids[row]),
        pieces=tuple(shown),
        cut_before=before,
        cut_after=after,
        votes=matches,
        label=None if label == NONE else state.classes[label],
        predicted=None if answers is None else state.classes[answers.predicted[row]],
        confidence=None if answers is None else float(answers.confidence[row]),
        earlier=_earlier(state, row),
        empty=not text.strip(),
    )


def _earlier(state: State, row: int) -> str | None:
    if state.earlier is None or state.answers is None:
        return None
    then, now = int(state.earlier.predicted[row]), int(state.answers.predicted[row])
    return None if then == now else state.classes[then]

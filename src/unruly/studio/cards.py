"""Documents as the pages show them: an excerpt with marks, votes, label, and what the model says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from unruly.studio.state import NONE, State
from unruly.votes.votes import Match

PAGE = 20  # documents on a page
EXCERPT = 600  # characters of a document in a list


@dataclass(frozen=True)
class Piece:
    """A stretch of a text, and the votes that it gave rise to."""

    text: str
    labels: tuple[str, ...] = ()  # the classes that these votes name, each once
    sources: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """Who marked it, for a tooltip."""
        return f"{', '.join(self.sources)}: {', '.join(self.labels)}" if self.sources else ""


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


def pieces(
    text: str, matches: Sequence[Match], start: int = 0, end: int | None = None
) -> list[Piece]:
    """The text from `start` to `end`, cut where a match begins or ends.

    >>> links = Match("links", 0, "spam", ((3, 8),), "")
    >>> [(piece.text, piece.labels) for piece in pieces("go there", [links])]
    [('go ', ()), ('there', ('spam',))]
    """
    last = len(text) if end is None else min(end, len(text))
    cuts = {start, last}
    for match in matches:
        for a, b in match.spans:
            cuts |= {min(max(a, start), last), min(max(b, start), last)}
    order = sorted(cuts)
    found = []
    for a, b in pairwise(order):
        over = [m for m in matches if any(x <= a and b <= y for x, y in m.spans)]
        labels = tuple(dict.fromkeys(m.label for m in over))
        found.append(Piece(text[a:b], labels, tuple(m.source for m in over)))
    return found


def excerpt(
    text: str, matches: Sequence[Match], most: int = EXCERPT
) -> tuple[list[Piece], bool, bool]:
    """At most so many characters around the first match, and whether text is cut before and after."""
    if len(text) <= most:
        return pieces(text, matches), False, False
    first = min((a for m in matches for a, _ in m.spans), default=0)
    start = max(0, min(first - most // 3, len(text) - most))
    while 0 < start < first and not text[start - 1].isspace():
        start += 1
    end = min(len(text), start + most)
    return pieces(text, matches, start, end), start > 0, end < len(text)

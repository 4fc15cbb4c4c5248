"""Documents: pages of the list under a filter, one document with its explanation, labels in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from starlette.responses import PlainTextResponse, RedirectResponse, Response

from unruly.errors import InputError
from unruly.studio.filters import SORTS, Filter
from unruly.studio.state import NONE, State
from unruly.studio.words import inflections, similar
from unruly.votes.votes import Match
from unruly.wording import plural

if TYPE_CHECKING:
    from unruly.studio.app import PageRequest, Routes, Studio


PAGE = 20  # documents on a page
EXCERPT = 600  # characters of a document in a list


@dataclass(frozen=True)
class Piece:
    """A piece of a text, and the votes that matched it."""

    text: str
    labels: tuple[str, ...] = ()  # the classes that these votes name, each once
    sources: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """Its sources and classes, for the tooltip."""
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
    earlier: str | None = None  # the answer of the model before, where it differs
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
    """Documents for a list; matches are computed where they are not given."""
    fired = state.matches(list(rows)) if matches is None else matches
    return tuple(_card(state, row, found, whole) for row, found in zip(rows, fired, strict=True))


def page(state: State, rows: Sequence[int], number: int) -> Page:
    """The page of this number, or the nearest one."""
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


def listing(studio: Studio, request: PageRequest) -> Response:
    """A page of documents under a filter."""
    work = studio.workspace
    state, chosen = work.state, Filter.of(request.query)
    problem = ""
    try:
        rows = chosen.rows(state)
    except InputError as error:
        problem, rows = str(error), Filter().rows(state)[:0]
    context: dict[str, Any] = {
        "here": "documents",
        "state": state,
        "filter": chosen,
        "problem": problem,
        "page": page(state, rows.tolist(), _number(request.query.get("page", "1"), 1)),
        "presets": work.presets(),
        "sorts": SORTS,
    }
    return studio.page("_documents.html" if request.part else "documents.html", context)


def one(studio: Studio, request: PageRequest) -> Response:
    """One document, whole, with the reasons for its label."""
    work = studio.workspace
    state, row = work.state, _row(request.path["row"], work.state)
    chosen = Filter.of(request.query)
    rows = chosen.rows(state)
    place = next((i for i, other in enumerate(rows.tolist()) if other == row), None)
    context = {
        "here": "documents",
        "state": state,
        "card": cards(state, [row], whole=True)[0],
        "filter": chosen,
        "previous": None if not place else int(rows[place - 1]),
        "next": None if place is None or place + 1 >= len(rows) else int(rows[place + 1]),
        "columns": _columns(state, row),
        "gold": _gold(state, row),
    }
    return studio.page("document.html", context)


def reasons(studio: Studio, request: PageRequest) -> Response:
    """The model's full explanation: slower than the rest of the page, so loaded after it."""
    state, trainer = studio.workspace.state, studio.trainer
    row = _row(request.path["row"], state)
    context = {
        "state": state,
        "explanation": trainer.explained(row),
        "card": cards(state, [row], [()])[0],
        "changes": trainer.changes_on(row),
    }
    return studio.page("_reasons.html", context)


def alike(studio: Studio, request: PageRequest) -> Response:
    """Similar documents, loaded after the page as well."""
    state = studio.workspace.state
    near = similar(state, _row(request.path["row"], state))
    found = cards(state, [other for other, _ in near])
    pairs = [(card, score) for card, (_, score) in zip(found, near, strict=True)]
    return studio.page("_similar.html", {"state": state, "similar": pairs})


def marked(studio: Studio, request: PageRequest) -> Response:
    """The inflections of words marked in a document, to make a rule of."""
    words = " ".join(request.query.get("words", "").split())[:200]
    context = {
        "words": words,
        "forms": inflections(words, studio.workspace.state),
        "state": studio.workspace.state,
    }
    return studio.page("_marked.html", context)


def label(studio: Studio, request: PageRequest) -> Response:
    """Label one document, or withdraw its label; returns its card."""
    work = studio.workspace
    row = _row(request.form.get("row", ""), work.state)
    work.label([row], request.form.get("label") or None)
    card = cards(work.state, [row])[0]
    return studio.page("_card.html", {"card": card, "state": work.state, "filter": Filter()})


def label_all(studio: Studio, request: PageRequest) -> Response:
    """Label all documents of a filter, if the count that the user saw still holds."""
    work = studio.workspace
    chosen = Filter.of(request.form)
    rows = chosen.rows(work.state).tolist()
    seen = _number(request.form.get("expected", ""), -1)
    if seen != len(rows):
        raise InputError(
            f"the filter now has {plural(len(rows), 'document')}, not {seen:,}: check the list, then confirm again"
        )
    changed = work.label(rows, request.form.get("class") or None)
    return PlainTextResponse(f"{plural(changed, 'document')} labelled: undo takes it back")


def preset(studio: Studio, request: PageRequest) -> Response:
    """Save a filter under a name, or delete one."""
    chosen = None if request.form.get("forget") else Filter.of(request.form)
    studio.workspace.save_preset(request.form.get("name", ""), chosen)
    return RedirectResponse(f"/documents?{chosen.query() if chosen else ''}", 303)


def _row(given: str, state: State) -> int:
    row = _number(given, -1)
    if not 0 <= row < state.n:
        raise InputError(f"there is no document {given!r}: they are numbered 0 to {state.n - 1}")
    return row


def _number(given: str, otherwise: int) -> int:
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 12 else otherwise


def _columns(state: State, row: int) -> Mapping[str, str]:
    if not state.corpus.columns.width:
        return {}
    return {name: str(value) for name, value in state.corpus.columns.row(row, named=True).items()}


def _gold(state: State, row: int) -> str | None:
    gold = state.corpus.gold
    return None if gold is None or gold[row] < 0 else state.classes[gold[row]]


ROUTES: Routes = [
    ("GET", "/documents", listing),
    ("GET", "/documents/{row}", one),
    ("GET", "/documents/{row}/reasons", reasons),
    ("GET", "/documents/{row}/similar", alike),
    ("GET", "/marked", marked),
    ("POST", "/label/one", label),
    ("POST", "/label/all", label_all),
    ("POST", "/presets", preset),
]

"""Documents: pages of the list under a filter, one document with its explanation and similar ones, labels in place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from unruly.errors import InputError, UnrulyError
from unruly.statistics import sample_rows
from unruly.studio.filters import SORTS, Filter, column_look
from unruly.studio.state import State
from unruly.texts.columns import UNKNOWN
from unruly.votes.provenance import Match
from unruly.wording import listed, plural, shortened

if TYPE_CHECKING:
    from unruly.model.fitted import Neighbour
    from unruly.studio.app import PageRequest, Routes, Studio


PAGE = 20  # documents on a page
EXCERPT = 600  # characters of a document in a list
LONGEST_WORD = 60  # characters: longer ones are cut
NAMED = 5  # sources of a marked word in its tooltip
WORDS = 12  # of a document, by which similar ones are found
MOST_SIMILAR = 8  # documents
MOST_COPIES = 200  # documents among which those are sought whose texts differ
TRIED = 60  # words of the document that are looked up in the sample
SAMPLE = 4_000  # documents that tell which words are rare
FORMS_SAMPLE = 50_000  # documents in which other forms of a word are looked for
MOST_FORMS = 12
_ENDINGS = ("ing", "ed", "es", "er", "ers", "ly", "s", "e", "y")
_WORD = re.compile(r"[^\W\d_][\w'’]{2,}")


@dataclass(frozen=True)
class Piece:
    """A piece of a text, and the votes that matched it."""

    text: str
    labels: tuple[str, ...] = ()  # the classes that these votes name, each once
    sources: tuple[str, ...] = ()
    conflict: bool = False  # the votes allow no class in common
    colour: str = (
        ""  # the class that colours it: the only one that all allow; one of several in a conflict
    )

    @property
    def why(self) -> str:
        """Its sources and classes, for the tooltip."""
        if not self.sources:
            return ""
        return f"{listed(self.sources, most=NAMED)}: {listed(self.labels, most=NAMED)}"


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


def page(state: State, rows: NDArray[np.int64], number: int) -> Page:
    """The page of this number, or the nearest one."""
    pages = max(1, -(-len(rows) // PAGE))
    number = min(max(number, 1), pages)
    chosen = rows[(number - 1) * PAGE : number * PAGE].tolist()
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
        label=None if label == UNKNOWN else state.classes[label],
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
    begin: dict[int, list[int]] = {}  # by place, the matches with a span that begins there
    stop: dict[int, list[int]] = {}
    for number, match in enumerate(matches):
        for a, b in match.spans:
            if (low := max(a, start)) < (high := min(b, last)):
                begin.setdefault(low, []).append(number)
                stop.setdefault(high, []).append(number)
    found: list[Piece] = []
    over: list[int] = []  # the matches over this piece
    for a, b in pairwise(sorted({start, last, *begin, *stop})):
        for number in stop.get(a, ()):
            over.remove(number)
        over += begin.get(a, ())
        there = [matches[number] for number in sorted(set(over))]
        found.append(_piece(text[a:b], there))
    return found


def _piece(text: str, matches: Sequence[Match]) -> Piece:
    if not matches:
        return Piece(text)
    labels = tuple(dict.fromkeys(match.label for match in matches))
    common = set(matches[0].classes).intersection(*(match.classes for match in matches[1:]))
    colour = next(iter(common)) if len(common) == 1 else labels[0]
    return Piece(text, labels, tuple(match.source for match in matches), not common, colour)


def excerpt(
    text: str, matches: Sequence[Match], most: int = EXCERPT
) -> tuple[list[Piece], bool, bool]:
    """So many characters around the first match, and whether text is cut before and after."""
    if len(text) <= most:
        return pieces(text, matches), False, False
    first = min((a for m in matches for a, _ in m.spans), default=0)
    start = max(0, min(first - most // 3, len(text) - most))
    while 0 < start < first and not text[start - 1].isspace():
        start += 1
    end = _word_end(text, min(len(text), start + most), max(first, start) + 1)
    return pieces(text, matches, start, end), start > 0, end < len(text)


def _word_end(text: str, end: int, least: int) -> int:
    """The end of the last whole word before this place; the place itself within a very long word."""
    if end >= len(text) or text[end].isspace():
        return end
    back = end
    while back > max(least, end - LONGEST_WORD) and not text[back - 1].isspace():
        back -= 1
    return back if text[back - 1].isspace() else end


@dataclass(frozen=True)
class Similar:
    """A similar document, and how many others have the same text."""

    row: int
    score: float  # from 0 to 1
    copies: int = 0


def similar(state: State, row: int) -> list[Similar]:
    """The most similar documents, best first, each text once: without an index or a model.

        score(d) = sum_{w in q and d} idf(w)^2 / sum_{w in q} idf(w)^2        idf(w) = log(n / documents with w)

    q: the document's dozen rarest words that stand elsewhere as well.
    """
    words = _rare_words(state, row)
    score = np.zeros(state.n)
    total = 0.0
    for word in words:
        found = state.corpus.texts.str.contains(rf"(?i)\b{pl.escape_regex(word)}\b").to_numpy()
        weight = float(np.log(state.n / max(int(found.sum()), 1))) ** 2
        score += weight * found
        total += weight
    if not total:
        return []
    score[row] = 0.0
    best = np.argsort(-score, kind="stable")[:MOST_COPIES]
    texts = state.corpus.texts.gather(best.tolist()).str.to_lowercase().str.replace_all(r"\s+", " ")
    found_by_text: dict[str, Similar] = {}
    for i, text in zip(best.tolist(), texts, strict=True):
        if score[i] <= 0.1 * total:
            break
        first = found_by_text.get(text)
        found_by_text[text] = (
            Similar(i, float(score[i] / total))
            if first is None
            else replace(first, copies=first.copies + 1)
        )
    return list(found_by_text.values())[:MOST_SIMILAR]


def _rare_words(state: State, row: int) -> list[str]:
    text = state.corpus.texts[row]
    words = list(dict.fromkeys(word.casefold() for word in _WORD.findall(text[:20_000])))
    words = sorted(words, key=len, reverse=True)[:TRIED]
    if not words:
        return []
    rows = pl.Series(sample_rows(state.n, SAMPLE), dtype=pl.UInt32)
    sample = state.corpus.texts.gather(rows).alias("text").to_frame()
    counts = sample.select(
        pl.col("text").str.contains(rf"(?i)\b{pl.escape_regex(word)}\b").sum().alias(str(i))
        for i, word in enumerate(words)
    ).row(0)
    order = sorted(range(len(words)), key=lambda i: (counts[i], words[i]))
    return [words[i] for i in order[:WORDS]]


def stem_of(word: str) -> str:
    """A word without a common English ending, where enough of it is left.

    >>> stem_of("subscribing"), stem_of("songs"), stem_of("bus")
    ('subscrib', 'song', 'bus')
    """
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def inflections(words: str, state: State) -> list[tuple[str, int]]:
    """Other forms of the last of these words that the texts have, with the number of texts.

    What comes after the stem is at most four letters, so that *subscribe* offers *subscribed* and
    *subscribers*, but not another word.
    """
    phrase = words.casefold().split()
    if not phrase:
        return []
    stem = stem_of(phrase[-1])
    if len(stem) < 3:
        return []
    before = r"\s+".join(pl.escape_regex(word) for word in phrase[:-1])
    pattern = (
        rf"(?i)\b({before}{chr(92) + 's+' if before else ''}{pl.escape_regex(stem)}\w{{0,4}})\b"
    )
    rows = pl.Series(sample_rows(state.n, FORMS_SAMPLE), dtype=pl.UInt32)
    found = state.corpus.texts.gather(rows).str.extract(pattern).drop_nulls().str.to_lowercase()
    counts = found.str.replace_all(r"\s+", " ").value_counts(sort=True, name="n")
    return [(form, n) for form, n in counts.iter_rows()][:MOST_FORMS]


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
        "page": page(state, rows, _number(request.query.get("page", "1"), 1)),
        "presets": work.presets(),
        "sorts": SORTS,
        "look": column_look(state, chosen.column) if _known(chosen.column, state) else None,
    }
    return studio.page("_documents.html" if request.part else "documents.html", context)


def presets(studio: Studio, request: PageRequest) -> Response:
    """The usual and the saved filters with their counts, which a label changes."""
    context = {"presets": studio.workspace.presets(), "filter": Filter.of(request.query)}
    return studio.page("_presets.html", context)


def column(studio: Studio, request: PageRequest) -> Response:
    """What can be chosen of a column: a range, or one of its commonest values."""
    state, chosen = studio.workspace.state, Filter.of(request.query)
    look = column_look(state, chosen.column) if _known(chosen.column, state) else None
    return studio.page("_column.html", {"look": look, "filter": chosen, "state": state})


def _known(column: str, state: State) -> bool:
    return column in state.corpus.columns.columns


def one(studio: Studio, request: PageRequest) -> Response:
    """One document, whole, with the reasons for its label."""
    work = studio.workspace
    state, row = work.state, _row(request.path["row"], work.state)
    chosen = Filter.of(request.query)
    try:
        rows = chosen.rows(state)
    except InputError:  # of a source or model that is gone: the document is shown all the same
        chosen, rows = Filter(), Filter().rows(state)
    place = next(iter(np.flatnonzero(rows == row).tolist()), None)
    card = cards(state, [row], whole=True)[0]
    rules = {source.name: source.rules for source in state.project.sources.sources}
    context = {
        "here": "documents",
        "state": state,
        "card": card,
        "conditions": [
            rules[vote.source][vote.rule].when if vote.source in rules else None
            for vote in card.votes
        ],
        "matched": [_matched(state.corpus.texts[row], vote) for vote in card.votes],
        "filter": chosen,
        "previous": None if not place else int(rows[place - 1]),
        "next": None if place is None or place + 1 >= len(rows) else int(rows[place + 1]),
        "columns": _columns(state, row),
        "gold": _gold(state, row),
    }
    return studio.page("document.html", context)


def _matched(text: str, vote: Match) -> str:
    """What a rule matched, each word once; empty where it is no part of the text.

    >>> _matched("Free, free beats", Match("money", 0, "spam", ((0, 4), (6, 10), (11, 16)), ""))
    'Free, beats'
    >>> _matched("Visit me", Match("short", 0, "ham", (), ""))
    ''
    """
    found: dict[str, str] = {}
    for a, b in vote.spans:
        found.setdefault(text[a:b].casefold(), shortened(text[a:b], 40))
    return listed(found.values(), most=NAMED) if found else ""


def reasons(studio: Studio, request: PageRequest) -> Response:
    """The model's full explanation: slower than the rest of the page, so loaded after it."""
    state, trainer = studio.workspace.state, studio.trainer
    row = _row(request.path["row"], state)
    explanation = trainer.explained(row)
    near: tuple[Neighbour, ...] = ()
    decided = ""
    if explanation is not None and not isinstance(explanation, UnrulyError):
        from unruly.model.explanation import decision

        near, decided = explanation.neighbours, decision(explanation.decided_by)
    context = {
        "state": state,
        "explanation": explanation,
        "decided": decided,
        "rows": {other.id: state.corpus.ids.index_of(pl.lit(other.id)) for other in near},
        "card": cards(state, [row], [()])[0],
        "changes": trainer.changes_on(row),
    }
    return studio.page("_reasons.html", context)


def alike(studio: Studio, request: PageRequest) -> Response:
    """Similar documents, loaded after the page as well."""
    state = studio.workspace.state
    near = similar(state, _row(request.path["row"], state))
    found = cards(state, [one.row for one in near])
    pairs = list(zip(found, near, strict=True))
    return studio.page("_similar.html", {"state": state, "similar": pairs})


def marked(studio: Studio, request: PageRequest) -> Response:
    """The inflections of words marked in a document, to make a rule of."""
    words = " ".join(request.query.get("words", "").split())[:200]
    context = {
        "words": words,
        "forms": inflections(words, studio.workspace.state),
        "lists": _word_lists(studio.workspace.state),
        "state": studio.workspace.state,
    }
    return studio.page("_marked.html", context)


def _word_lists(state: State) -> list[tuple[str, str]]:
    """The sources with a list of words, and the class of its first."""
    from unruly.model.critique import keyword_lists

    found: dict[str, str] = {}
    for name, _, label, _ in keyword_lists(state.project.sources):
        found.setdefault(name, label)
    return list(found.items())


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
    given = request.form.get("class", "")
    if not given:
        raise InputError("choose a class for all of them first")
    changed = work.label(rows, given.strip() or None)
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
    ("GET", "/documents/column", column),
    ("GET", "/documents/presets", presets),
    ("GET", "/documents/{row}", one),
    ("GET", "/documents/{row}/reasons", reasons),
    ("GET", "/documents/{row}/similar", alike),
    ("GET", "/marked", marked),
    ("POST", "/label/one", label),
    ("POST", "/label/all", label_all),
    ("POST", "/presets", preset),
]

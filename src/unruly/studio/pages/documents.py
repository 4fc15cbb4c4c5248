"""Documents: the list under filters, one document with its explanation, labels in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import PlainTextResponse, RedirectResponse, Response

from unruly.errors import InputError
from unruly.studio.app import Asked, Studio, get, post
from unruly.studio.cards import cards, page
from unruly.studio.filters import SORTS, Filter
from unruly.studio.pages.setup import the
from unruly.studio.state import State
from unruly.studio.words import inflections, similar
from unruly.wording import plural


def listing(studio: Studio, asked: Asked) -> Response:
    """A page of documents under a filter."""
    work = the(studio)
    state, chosen = work.state, Filter.of(asked.query)
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
        "page": page(state, rows.tolist(), _number(asked.query.get("page", "1"), 1)),
        "presets": work.presets(),
        "sorts": SORTS,
    }
    return studio.page("_documents.html" if asked.part else "documents.html", context)


def one(studio: Studio, asked: Asked) -> Response:
    """One document, whole, with the reasons for its label."""
    work = the(studio)
    state, row = work.state, _row(asked.path["row"], work.state)
    chosen = Filter.of(asked.query)
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


def reasons(studio: Studio, asked: Asked) -> Response:
    """The model's full explanation: slower than the rest of the page, so asked for after it."""
    work = the(studio)
    assert studio.trainer is not None
    row = _row(asked.path["row"], work.state)
    near = similar(work.state, row)
    found = cards(work.state, [other for other, _ in near])
    context = {
        "state": work.state,
        "explanation": studio.trainer.explained(row),
        "similar": [(card, score) for card, (_, score) in zip(found, near, strict=True)],
    }
    return studio.page("_reasons.html", context)


def marked(studio: Studio, asked: Asked) -> Response:
    """Words that were marked in a document: their inflections, to make a rule of."""
    words = " ".join(asked.query.get("words", "").split())[:200]
    context = {
        "words": words,
        "forms": inflections(words, the(studio).state),
        "state": the(studio).state,
    }
    return studio.page("_marked.html", context)


def label(studio: Studio, asked: Asked) -> Response:
    """Label one document, or take its label back; gives its card anew."""
    work = the(studio)
    row = _row(asked.form.get("row", ""), work.state)
    work.label([row], asked.form.get("label") or None)
    card = cards(work.state, [row])[0]
    return studio.page("_card.html", {"card": card, "state": work.state, "filter": Filter()})


def label_all(studio: Studio, asked: Asked) -> Response:
    """Label all documents of a filter; the count that the user saw must still hold."""
    work = the(studio)
    chosen = Filter.of(asked.form)
    rows = chosen.rows(work.state).tolist()
    seen = _number(asked.form.get("expected", ""), -1)
    if seen != len(rows):
        raise InputError(
            f"the filter now has {plural(len(rows), 'document')}, not {seen:,}: look again, then confirm"
        )
    changed = work.label(rows, asked.form.get("class") or None)
    return PlainTextResponse(f"{plural(changed, 'document')} labelled: undo takes it back")


def preset(studio: Studio, asked: Asked) -> Response:
    """Save a filter under a name, or forget one."""
    chosen = None if asked.form.get("forget") else Filter.of(asked.form)
    the(studio).save_preset(asked.form.get("name", ""), chosen)
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


ROUTES = [
    get("/documents", listing),
    get("/documents/{row}", one),
    get("/documents/{row}/reasons", reasons),
    get("/marked", marked),
    post("/label/one", label),
    post("/label/all", label_all),
    post("/presets", preset),
]

"""Label: one document at a time, the votes hidden until it is answered, and a meter of the balance."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from unruly.errors import InputError
from unruly.labelling.label_file import CANNOT_TELL, SKIPPED
from unruly.studio.app import Asked, Studio, get, post
from unruly.studio.cards import Card, cards
from unruly.studio.pages.setup import the
from unruly.studio.queue import WAYS, balance_of
from unruly.studio.state import NONE


def queue(studio: Studio, asked: Asked) -> Response:
    """The next question."""
    if by := asked.query.get("by"):
        studio.queue.choose(by)
    return studio.page("label.html", _context(studio, None))


def answer(studio: Studio, asked: Asked) -> Response:
    """An answer; gives the next question, and what the rules said of this one."""
    work = the(studio)
    given = asked.form.get("row", "")
    question = studio.queue.find(int(given) if given.isdecimal() else -1)
    label = asked.form.get("label", "")
    if label not in (*work.state.classes, CANNOT_TELL, SKIPPED):
        raise InputError(f"{label!r} is not a class")
    work.answer(question, label)
    last = cards(work.state, [question.row])[0]
    return studio.page("_question.html", {**_context(studio, last), "said": label})


def _context(studio: Studio, last: Card | None) -> dict[str, Any]:
    work = the(studio)
    assert studio.trainer is not None
    question = studio.queue.next(work)
    card = None if question is None else cards(work.state, [question.row], [()], whole=True)[0]
    return {
        "here": "label",
        "state": work.state,
        "question": question,
        "place": 0 if question is None else studio.queue.place(question),
        "drawn": len(studio.queue.questions or ()),
        "card": card,
        "last": last,
        "said": "",
        "balance": balance_of(studio.trainer),
        "labels": int((work.state.labels != NONE).sum()),
        "problems": work.label_problems(),
        "ways": WAYS,
        "by": studio.queue.by,
        "CANNOT_TELL": CANNOT_TELL,
        "SKIPPED": SKIPPED,
    }


ROUTES = [get("/label", queue), post("/label/answer", answer)]

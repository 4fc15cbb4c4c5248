"""Suggestions: new rules and the critique of old ones, accepted or refused with one key."""

from __future__ import annotations

from starlette.responses import Response

from unruly.studio.app import Asked, Studio, get, post
from unruly.studio.pages.setup import the
from unruly.studio.pages.training import trainer_of


def overview(studio: Studio, asked: Asked) -> Response:
    """What was found."""
    return studio.page("suggestions.html", _context(studio, ""))


def look(studio: Studio, asked: Asked) -> Response:
    """Look again, in the background."""
    studio.advisor.look(trainer_of(studio))
    return studio.page("_job.html", {"job": trainer_of(studio).status})


def decide(studio: Studio, asked: Asked) -> Response:
    """Accept or refuse one; gives the list anew."""
    number = asked.form.get("number", "")
    said = studio.advisor.decide(
        trainer_of(studio),
        int(number) if number.isdecimal() else 0,
        asked.form.get("what") == "accept",
        asked.form.get("class", ""),
    )
    return studio.page("_suggestions.html", _context(studio, said))


def _context(studio: Studio, said: str) -> dict[str, object]:
    return {
        "here": "suggestions",
        "state": the(studio).state,
        "advisor": studio.advisor,
        "job": trainer_of(studio).status,
        "said": said,
    }


ROUTES = [
    get("/suggestions", overview),
    post("/suggestions/look", look),
    post("/suggestions/decide", decide),
]

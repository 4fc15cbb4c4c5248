"""Out: labelled data, the model, the report and the project to take away; and the commands that do the same."""

from __future__ import annotations

from starlette.responses import FileResponse, PlainTextResponse, Response

from unruly.errors import InputError
from unruly.studio.app import Asked, Studio, get, post
from unruly.studio.exports import begin_export, exports
from unruly.studio.pages.setup import the
from unruly.studio.pages.training import trainer_of


def overview(studio: Studio, asked: Asked) -> Response:
    """What there is to take away."""
    trainer = trainer_of(studio)
    context = {
        "here": "out",
        "state": the(studio).state,
        "exports": exports(trainer),
        "model": trainer.current,
        "job": trainer.status,
    }
    return studio.page("out.html", context)


def make(studio: Studio, asked: Asked) -> Response:
    """Write a file, in the background."""
    name = asked.form.get("name", "")
    begin_export(trainer_of(studio), name)
    return PlainTextResponse(f"writing {name}")


def download(studio: Studio, asked: Asked) -> Response:
    """One of the files that the page lists, and no other."""
    for export in exports(trainer_of(studio)):
        if export.name == asked.path["name"] and export.path is not None:
            kind = "application/octet-stream"
            return FileResponse(export.path, media_type=kind, filename=export.name)
    raise InputError(f"{asked.path['name']!r} is not there: make it first")


ROUTES = [get("/out", overview), post("/out", make), get("/out/{name}", download)]

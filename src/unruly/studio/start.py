"""The start: a project from a file of texts; and what every page needs: status, undo, redo, edits made outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from unruly.errors import InputError, UnrulyError
from unruly.project.starter import begin_project, look_at
from unruly.studio.history import Step

if TYPE_CHECKING:
    from unruly.studio.app import PageRequest, Routes, Studio


def start(studio: Studio, request: PageRequest) -> Response:
    """Redirect to the documents or, without a project, ask what it takes to create one."""
    if studio.is_open:
        return RedirectResponse("/documents", 303)
    if studio.data is None:
        raise InputError("no project and no file of texts was given")
    return studio.page("start.html", {"look": look_at(studio.data), "problem": "", "given": {}})


def make(studio: Studio, request: PageRequest) -> Response:
    """Create the project."""
    if studio.is_open or studio.data is None:
        return RedirectResponse("/documents", 303)
    form = request.form
    classes = tuple(
        name.strip() for line in form.get("classes", "").splitlines() for name in line.split(",")
    )
    try:
        project = begin_project(
            studio.data,
            tuple(name for name in classes if name),
            text=form.get("text", ""),
            id=form.get("id") or None,
            label=form.get("label") or None,
        )
        studio.open(project)
    except UnrulyError as error:
        return _again(studio, form, str(error))
    return RedirectResponse("/documents", 303)


def _again(studio: Studio, form: Mapping[str, str], problem: str) -> Response:
    assert studio.data is not None
    context = {"look": look_at(studio.data), "problem": problem, "given": form}
    return studio.page("start.html", context, 422)


def status(studio: Studio, request: PageRequest) -> Response:
    """What every page polls: outside edits, the background job, what can be undone."""
    if not studio.is_open:
        return JSONResponse({})
    work, trainer = studio.workspace, studio.trainer
    if work.labels_changed():
        work.reload_labels()
    job = trainer.status
    return JSONResponse(
        {
            "outside": bool(work.outside()),
            "job": None
            if job is None
            else {
                "what": job.what,
                "stage": job.stage,
                "share": job.share,
                "state": job.state,
                "error": job.error,
            },
            "undo": _what(work.last_step),
            "redo": _what(work.next_step),
            "labels": work.state.labelled.labels,
        }
    )


def _what(step: Step | None) -> str | None:
    return None if step is None else step.what


def undo(studio: Studio, request: PageRequest) -> Response:
    """Undo the last edit or label."""
    step = studio.workspace.undo()
    return PlainTextResponse("nothing to undo" if step is None else f"undone: {step.what}")


def redo(studio: Studio, request: PageRequest) -> Response:
    """Redo it."""
    step = studio.workspace.redo()
    return PlainTextResponse("nothing to redo" if step is None else f"redone: {step.what}")


def outside(studio: Studio, request: PageRequest) -> Response:
    """Show how the project file on disk differs."""
    return studio.page("outside.html", {"difference": studio.workspace.outside().splitlines()})


def load(studio: Studio, request: PageRequest) -> Response:
    """Load the project file from disk."""
    studio.workspace.reload()
    return RedirectResponse("/rules", 303)


BEFORE_A_PROJECT = (start, make, status)
ROUTES: Routes = [
    ("GET", "/", start),
    ("GET", "/start", start),
    ("POST", "/start", make),
    ("GET", "/status", status),
    ("POST", "/undo", undo),
    ("POST", "/redo", redo),
    ("GET", "/outside", outside),
    ("POST", "/outside", load),
]

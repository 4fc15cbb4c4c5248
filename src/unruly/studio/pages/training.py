"""Train: a fit in the background, every model kept, the new one beside the last, and the report's charts."""

from __future__ import annotations

from typing import Any

from starlette.responses import PlainTextResponse, Response

from unruly.report.markup import figure
from unruly.studio.app import Asked, Studio, get, post
from unruly.studio.filters import Filter
from unruly.studio.live_report import live_report
from unruly.studio.pages.setup import the
from unruly.studio.state import NONE
from unruly.studio.training import Trainer


def trainer_of(studio: Studio) -> Trainer:
    """The trainer, which is there on all pages but the first."""
    assert studio.trainer is not None
    return studio.trainer


def overview(studio: Studio, asked: Asked) -> Response:
    """The models, and what can be done with them."""
    work, trainer = the(studio), trainer_of(studio)
    state = work.state
    context: dict[str, Any] = {
        "here": "train",
        "state": state,
        "job": trainer.status,
        "models": trainer.models,
        "current": trainer.current,
        "summary_now": trainer.summary(),
        "stale": trainer.stale,
        "rules": len(state.project.sources.sources),
        "labels": int((state.labels != NONE).sum()),
        "changed": None if state.earlier is None else Filter(changed="yes").count(state),
    }
    return studio.page("train.html", context)


def progress(studio: Studio, asked: Asked) -> Response:
    """How far the work is."""
    return studio.page("_job.html", {"job": trainer_of(studio).status})


def fit(studio: Studio, asked: Asked) -> Response:
    """Begin a fit."""
    trainer = trainer_of(studio)
    trainer.fit()
    return studio.page("_job.html", {"job": trainer.status})


def cancel(studio: Studio, asked: Asked) -> Response:
    """Stop it."""
    trainer_of(studio).cancel()
    return PlainTextResponse("cancelled: nothing was written")


def show(studio: Studio, asked: Asked) -> Response:
    """Show another model's answers."""
    trainer = trainer_of(studio)
    trainer.show(trainer.find(asked.form.get("name", "")))
    return PlainTextResponse("asked: its answers are shown as soon as they are there")


def charts(studio: Studio, asked: Asked) -> Response:
    """The verdict and the charts, which take a moment."""
    trainer = trainer_of(studio)
    found = trainer.workspace.state.once("live report", lambda: live_report(trainer))
    figures = () if found is None else tuple(figure(chart) for chart in found.charts)
    return studio.page(
        "_charts.html", {"found": found, "figures": figures, "state": the(studio).state}
    )


def difference(studio: Studio, asked: Asked) -> Response:
    """What changed from one model to another."""
    trainer = trainer_of(studio)
    pair = [trainer.find(asked.query.get(name, "")) for name in ("old", "new")]
    found = trainer.compare(pair[0].path, pair[1].path)
    return studio.page("_difference.html", {"lines": str(found).splitlines(), "pair": pair})


ROUTES = [
    get("/train", overview),
    get("/train/progress", progress),
    post("/train/fit", fit),
    post("/train/cancel", cancel),
    post("/train/show", show),
    get("/train/charts", charts),
    get("/train/difference", difference),
]

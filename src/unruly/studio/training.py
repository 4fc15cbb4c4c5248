"""Train: a fit in the background, every model kept, the new one beside the last, the report's verdict and charts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import PlainTextResponse, Response

from unruly.errors import InputError, UnrulyError
from unruly.features.cache import Cache as FeatureCache
from unruly.model.explanation import Explanation
from unruly.model.summary import FitSummary
from unruly.model.weak_classifier import WeakClassifier
from unruly.project.difference import Difference, compare_models
from unruly.report.accuracy import calibration_chart, confidence_chart
from unruly.report.facts import Facts, gather
from unruly.report.markup import Chart, figure
from unruly.report.matrices import agreement_map, confusion_chart
from unruly.report.sources import bubble_chart
from unruly.report.training_curves import training_curves
from unruly.report.verdict import Verdict, verdict
from unruly.rules.cache import Cache
from unruly.sampling import sample_rows
from unruly.studio.filters import Filter
from unruly.studio.jobs import Job, JobStatus
from unruly.studio.models import KeptModel, answers_of, keep, kept_answers, kept_models, open_model
from unruly.studio.state import NONE
from unruly.studio.workspace import Workspace

if TYPE_CHECKING:
    from unruly.studio.app import PageRequest, Routes, Studio


class Trainer:
    """Fits models of a project, keeps them all, and shows the answers of one."""

    def __init__(self, workspace: Workspace, cache: Cache | None = None) -> None:
        self.workspace = workspace
        self._cache = Cache.default() if cache is None else cache
        self._job: Job | None = None
        self._lock = threading.Lock()
        self.current: KeptModel | None = None
        self._opened: tuple[Path, WeakClassifier] | None = None

    @property
    def models(self) -> tuple[KeptModel, ...]:
        """All models, the newest first."""
        return kept_models(self.workspace.folder)

    @property
    def status(self) -> JobStatus | None:
        """How far the last piece of work is, where there was one."""
        return None if self._job is None else self._job.status

    @property
    def stale(self) -> bool:
        """Whether the rules changed since the shown model was trained."""
        model = self.current
        return (
            model is not None and model.text is not None and model.text != self.workspace.state.text
        )

    def opened(self, model: KeptModel) -> WeakClassifier:
        """The model itself; the one that was asked for last is kept."""
        kept = self._opened
        if kept is None or kept[0] != model.path:
            kept = (model.path, open_model(model.path, self.workspace.state))
            self._opened = kept
        return kept[1]

    def explained(self, row: int) -> Explanation | UnrulyError | None:
        """Why the shown model answers as it does on a document, or the error; None without a model."""
        state, model = self.workspace.state, self.current
        if model is None or state.answers is None:
            return None
        try:
            return self.opened(model).explain(state.corpus.take([row]))
        except UnrulyError as error:
            return error

    def summary(self) -> FitSummary | None:
        """What the fit of the shown model came to."""
        model = self.current
        if model is None:
            return None
        return model.summary if model.facts is not None else self.opened(model).summary_

    def open_newest(self) -> None:
        """Show the newest model: at once where it was asked before, else in the background."""
        models = self.models
        if not models:
            return
        state = self.workspace.state
        found = kept_answers(models[0].path, state, self._cache)
        if found is None:
            self.show(models[0])
            return
        before = next((m for m in models[1:] if m.path.parent == models[0].path.parent), None)
        earlier = None if before is None else kept_answers(before.path, state, self._cache)
        self.current = models[0]
        self.workspace.use_answers(found, earlier)

    def show(self, model: KeptModel) -> None:
        """Show another model's answers, beside those that were shown until now."""

        def work(job: Job) -> None:
            state = self.workspace.state
            found = answers_of(self.opened(model), model.path, state, self._cache, job)
            self.current = model
            self.workspace.use_answers(found, self.workspace.state.answers)

        self.begin(f"asking {model.name} about all documents", work)

    def fit(self) -> None:
        """Train a model on the rules and labels as they are now."""
        if not self.workspace.state.project.sources.sources:
            raise InputError("there are no rules yet: write some first")

        def work(job: Job) -> None:
            state = self.workspace.state
            fit = state.project.fit(job)
            model = keep(fit, state, datetime.now())
            self._opened = (model.path, fit.model)
            found = answers_of(fit.model, model.path, state, self._cache, job)
            self.current = model
            self.workspace.use_answers(found, self.workspace.state.answers)

        self.begin("training", work)

    def begin(self, what: str, work: Callable[[Job], None]) -> None:
        """Do something in the background, one thing at a time."""
        with self._lock:
            if self._job is not None and self._job.status.running:
                raise InputError("something is running already: wait for it, or cancel it")
            self._job = Job(what, work)

    def cancel(self) -> None:
        """Stop what is running; models on disk stay as they are."""
        if self._job is not None:
            self._job.cancel()

    def wait(self, seconds: float | None = None) -> None:
        """Until what is running has ended."""
        if self._job is not None:
            self._job.wait(seconds)

    def find(self, name: str) -> KeptModel:
        """The model of this name."""
        for model in self.models:
            if model.name == name:
                return model
        raise InputError(f"there is no model {name!r}")

    def compare(self, old: Path, new: Path) -> Difference:
        """What differs between two models, their answers left out: the pages count those."""
        state = self.workspace.state
        return compare_models(open_model(old, state), open_model(new, state))


SAMPLE = 5_000  # documents that the charts are drawn from


@dataclass(frozen=True)
class LiveReport:
    """What the report would begin with."""

    verdict: Verdict
    charts: tuple[Chart, ...]
    documents: int  # that they are drawn from


def live_report(trainer: Trainer) -> LiveReport | None:
    """The verdict on the shown model; None without one."""
    model, state = trainer.current, trainer.workspace.state
    if model is None:
        return None
    rows = sample_rows(state.n, SAMPLE)
    test = state.project.corpus("test") if state.project.data.test else None
    facts = gather(
        model.path.name,
        trainer.opened(model)._fitted(),
        state.corpus.take(rows),
        test,
        cache=FeatureCache(),
    )
    return LiveReport(verdict(facts), _charts(facts), len(rows))


def _charts(facts: Facts) -> tuple[Chart, ...]:
    scores = facts.evaluation
    found = [
        bubble_chart(facts.sources),
        agreement_map(facts.pairs),
        confidence_chart(facts.confidence),
        calibration_chart(
            facts.confidence, None if scores is None else scores.everything.model.calibration_error
        ),
        None
        if scores is None
        else confusion_chart(scores.everything.model.confusion, facts.classes),
        training_curves(facts.history),
    ]
    return tuple(chart for chart in found if chart is not None)


def overview(studio: Studio, request: PageRequest) -> Response:
    """The models, and what can be done with them."""
    work, trainer = studio.workspace, studio.trainer
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


def progress(studio: Studio, request: PageRequest) -> Response:
    """How far the work is."""
    return studio.page("_job.html", {"job": studio.trainer.status})


def fit(studio: Studio, request: PageRequest) -> Response:
    """Begin a fit."""
    trainer = studio.trainer
    trainer.fit()
    return studio.page("_job.html", {"job": trainer.status})


def cancel(studio: Studio, request: PageRequest) -> Response:
    """Stop it."""
    studio.trainer.cancel()
    return PlainTextResponse("cancelled: nothing was written")


def show(studio: Studio, request: PageRequest) -> Response:
    """Show another model's answers."""
    trainer = studio.trainer
    trainer.show(trainer.find(request.form.get("name", "")))
    return PlainTextResponse("asked: its answers are shown as soon as they are there")


def charts(studio: Studio, request: PageRequest) -> Response:
    """The verdict and the charts, which take a moment."""
    trainer = studio.trainer
    found = trainer.workspace.state.once("live report", lambda: live_report(trainer))
    figures = () if found is None else tuple(figure(chart) for chart in found.charts)
    return studio.page(
        "_charts.html", {"found": found, "figures": figures, "state": studio.workspace.state}
    )


def difference(studio: Studio, request: PageRequest) -> Response:
    """What changed from one model to another."""
    trainer = studio.trainer
    pair = [trainer.find(request.query.get(name, "")) for name in ("old", "new")]
    found = trainer.compare(pair[0].path, pair[1].path)
    return studio.page("_difference.html", {"lines": str(found).splitlines(), "pair": pair})


ROUTES: Routes = [
    ("GET", "/train", overview),
    ("GET", "/train/progress", progress),
    ("POST", "/train/fit", fit),
    ("POST", "/train/cancel", cancel),
    ("POST", "/train/show", show),
    ("GET", "/train/charts", charts),
    ("GET", "/train/difference", difference),
]

"""Train: a fit as a job in the background, every model kept, the new one beside the last, the report's verdict and charts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.responses import PlainTextResponse, Response

from unruly.errors import InputError, UnrulyError
from unruly.ledger import Use
from unruly.prior import parse_prior
from unruly.project.project import Project
from unruly.rules.matching import VoteCache
from unruly.statistics import Share, sample_rows
from unruly.studio.documents import cards
from unruly.studio.filters import Filter
from unruly.studio.models import (
    ChangedAnswers,
    KeptModel,
    VoteChange,
    answers_of,
    changed_answers,
    keep,
    kept_answers,
    kept_models,
    models_chart,
    open_model,
    vote_changes,
)
from unruly.studio.workspace import Workspace
from unruly.wording import plural

if TYPE_CHECKING:  # models and reports import scipy, which the first page does without
    from unruly.html import Chart
    from unruly.model.explanation import Explanation
    from unruly.model.summary import FitSummary
    from unruly.model.weak_classifier import WeakClassifier
    from unruly.project.difference import Difference
    from unruly.report.facts import CountedOn, KeyFigures
    from unruly.report.verdict import Verdict
    from unruly.studio.app import PageRequest, Routes, Studio


class Cancelled(Exception):
    """The job was cancelled."""


@dataclass(frozen=True)
class JobStatus:
    """The progress of a job."""

    what: str  # such as "training"
    stage: str = ""
    done: int = 0
    total: int | None = None
    unit: str = ""
    note: str = ""
    seconds: float = 0.0
    state: str = "running"  # running, done, cancelled, failed
    error: str = ""

    @property
    def share(self) -> float | None:
        """The share of the stage that is done; None where the total is unknown."""
        return min(1.0, self.done / self.total) if self.total else None

    @property
    def running(self) -> bool:
        """Whether it is still running."""
        return self.state == "running"


class Job:
    """Work in a thread of its own; it is the `Progress` that the work reports to."""

    def __init__(self, what: str, work: Callable[[Job], None]) -> None:
        self._status = JobStatus(what)
        self._started = time.monotonic()
        self._cancel = threading.Event()
        self._stages: list[tuple[str, int | None, str]] = []
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    @property
    def status(self) -> JobStatus:
        """Its progress."""
        status = self._status
        return (
            replace(status, seconds=time.monotonic() - self._started) if status.running else status
        )

    def cancel(self) -> None:
        """Stop at the next report of progress."""
        self._cancel.set()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until it has ended."""
        self._thread.join(seconds)

    def start(self, what: str, total: int | None, unit: str) -> None:
        self._stages.append((what, total, unit))
        self._status = replace(self._status, stage=what, done=0, total=total, unit=unit, note="")
        self._stop_if_asked()

    def advance(self, units: int, note: str = "") -> None:
        self._status = replace(self._status, done=self._status.done + units, note=note)
        self._stop_if_asked()

    def finish(self) -> None:
        if self._stages:
            self._stages.pop()

    def _stop_if_asked(self) -> None:
        if self._cancel.is_set():
            raise Cancelled

    def _run(self, work: Callable[[Job], None]) -> None:
        try:
            work(self)
            end = replace(self._status, state="done")
        except Cancelled:
            end = replace(self._status, state="cancelled")
        except UnrulyError as error:
            end = replace(self._status, state="failed", error=str(error))
        except Exception as error:  # shown on the page: nobody else catches it in a thread
            end = replace(self._status, state="failed", error=f"{type(error).__name__}: {error}")
        self._status = replace(end, seconds=time.monotonic() - self._started)


class Trainer:
    """Fits models of a project, keeps them all, and shows the answers of one."""

    def __init__(self, workspace: Workspace, cache: VoteCache | None = None) -> None:
        self.workspace = workspace
        self._cache = VoteCache.default() if cache is None else cache
        self._job: Job | None = None
        self._lock = threading.Lock()
        self.current: KeptModel | None = None  # whose answers are shown
        self.before: KeptModel | None = None  # whose answers they are compared with
        self._opened: dict[Path, WeakClassifier] = {}  # these two
        self._corpus = workspace.state.corpus  # read again with other documents or classes

    @property
    def models(self) -> tuple[KeptModel, ...]:
        """All models, the newest first."""
        return kept_models(self.workspace.folder)

    @property
    def status(self) -> JobStatus | None:
        """The progress of the last job; None before the first."""
        return None if self._job is None else self._job.status

    @property
    def stale(self) -> str:
        """What changed since the shown model was trained, in words; empty where nothing did."""
        model, state = self.current, self.workspace.state
        if model is None or model.text is None or model.labels is None:
            return ""
        found = ["rules or settings changed"] if model.text != state.text else []
        if more := state.labelled.labels - model.labels:
            were = "was" if abs(more) == 1 else "were"
            done = "given" if more > 0 else "taken back"
            found.append(f"{plural(abs(more), 'label')} {were} {done}")
        return " and ".join(found)

    def opened(self, model: KeptModel) -> WeakClassifier:
        """The model itself; the shown one and the one before it are kept."""
        found = self._opened.get(model.path)
        return found or self._keep(model, open_model(model.path, self.workspace.state))

    def _keep(self, model: KeptModel, opened: WeakClassifier) -> WeakClassifier:
        kept = {one.path for one in (self.current, self.before) if one is not None}
        self._opened = {p: m for p, m in self._opened.items() if p in kept} | {model.path: opened}
        return opened

    def _apply(self, model: KeptModel, opened: WeakClassifier, job: Job) -> None:
        """Show a model's answers, beside those that were shown until now; on documents loaded meanwhile as well."""
        used = False
        while not used:
            state = self.workspace.state
            found = answers_of(opened, model.path, state, self._cache, job)
            same = self.current is not None and self.current.path == model.path
            earlier = state.earlier if same else state.answers
            used = self.workspace.use_answers(state.corpus, found, earlier)
        self._corpus = state.corpus
        if not same:
            self.before, self.current = self.current, model

    def explained(self, row: int) -> Explanation | UnrulyError | None:
        """The shown model's explanation of one document, or the error; None without a model."""
        state, model = self.workspace.state, self.current
        if model is None or state.answers is None:
            return None
        try:
            found = self.opened(model).explain(state.corpus.take([row]))
        except UnrulyError as error:
            return error
        own = str(state.corpus.ids[row])  # the document itself is no neighbour
        others = tuple(near for near in found.neighbours if str(near.id) != own)
        return replace(found, neighbours=others)

    def summary(self) -> FitSummary | None:
        """The fit summary of the shown model."""
        return None if self.current is None else self._summary(self.current)

    def estimated(self) -> dict[str, Share]:
        """The accuracies of the sources as the shown model's fit has estimated them."""
        summary = self.summary()
        return {} if summary is None else summary.estimated

    def summaries(self) -> dict[Path, FitSummary]:
        """The fit summaries of the shown model and the one before it."""
        return {m.path: self._summary(m) for m in (self.current, self.before) if m is not None}

    def _summary(self, model: KeptModel) -> FitSummary:
        return model.summary or self.opened(model).summary_

    def open_newest(self) -> None:
        """Show the newest model: at once where its answers are cached, else from the background."""
        models = self.models
        if not models:
            return
        state = self.workspace.state
        found = kept_answers(models[0].path, state, self._cache)
        if found is None:
            self.show(models[0])
            return
        earlier = kept_answers(models[1].path, state, self._cache) if len(models) > 1 else None
        self.current, self.before = models[0], None if earlier is None else models[1]
        self.workspace.use_answers(state.corpus, found, earlier)

    def refresh(self) -> None:
        """Show the newest model again where other documents or classes were loaded; one of other classes says so."""
        corpus = self.workspace.state.corpus
        if self._corpus is corpus:
            return
        self.current = self.before = None
        with suppress(InputError):  # another job is running
            self.open_newest()
            self._corpus = corpus

    def show(self, model: KeptModel) -> None:
        """Show another model's answers, beside those that were shown until now."""

        def work(job: Job) -> None:
            self._apply(model, self.opened(model), job)

        self.begin(f"applying {model.name} to all documents", work)

    def fit(self) -> None:
        """Train a model on the rules and labels as they are now."""
        if not self.workspace.state.project.sources.sources:
            raise InputError("there are no rules yet: write some first")

        def work(job: Job) -> None:
            state = self.workspace.state
            fit = state.project.fit(job)
            model = keep(fit, state, datetime.now())
            self._apply(model, self._keep(model, fit.model), job)

        self.begin("training", work)

    def begin(self, what: str, work: Callable[[Job], None]) -> None:
        """Run a job in the background, one at a time."""
        with self._lock:
            if self._job is not None and self._job.status.running:
                raise InputError("another job is running: wait for it, or cancel it")
            self._job = Job(what, work)

    def cancel(self) -> None:
        """Cancel the running job; models on disk stay as they are."""
        if self._job is not None:
            self._job.cancel()

    def wait(self, seconds: float | None = None) -> None:
        """Wait for the running job to end."""
        if self._job is not None:
            self._job.wait(seconds)

    def find(self, name: str) -> KeptModel:
        """The model of this name."""
        for model in self.models:
            if model.name == name:
                return model
        raise InputError(f"there is no model {name!r}")

    def difference(self) -> tuple[Difference, ChangedAnswers] | None:
        """How the shown model and its answers differ from the one before it; None without two models."""
        state = self.workspace.state
        if self.current is None or self.before is None or state.earlier is None:
            return None
        from unruly.project.difference import compare_models

        old, new = self.opened(self.before), self.opened(self.current)
        return state.once(
            ("difference", self.before.path, self.current.path),
            lambda: (compare_models(old, new), changed_answers(old, new, state)),
        )

    def changes_on(self, row: int) -> tuple[VoteChange, ...] | None:
        """The votes that changed on a document with another answer than before; None where it has the same."""
        state = self.workspace.state
        if self.current is None or self.before is None or state.answers is None:
            return None
        if state.earlier is None or state.earlier.predicted[row] == state.answers.predicted[row]:
            return None
        pair = self.opened(self.before), self.opened(self.current)
        return vote_changes(*pair, state, np.array([row]))[0]


SAMPLE = 5_000  # documents behind the charts
MOST_CAUSES = 8  # reasons for other answers that the page names
SHOWN_CHANGES = 3  # documents of each


@dataclass(frozen=True)
class LiveReport:
    """The beginning of the report."""

    verdict: Verdict
    charts: tuple[Chart, ...]
    documents: CountedOn


def live_report(trainer: Trainer) -> LiveReport | None:
    """The verdict on the shown model; None without one."""
    from unruly.features.cache import FeatureCache
    from unruly.report.facts import key_figures
    from unruly.report.verdict import verdict

    model, state = trainer.current, trainer.workspace.state
    if model is None:
        return None
    rows = np.union1d(sample_rows(state.n, SAMPLE), state.labelled.rows)
    test = state.project.corpus("test") if state.project.data.test else None
    facts = key_figures(
        model.path.name,
        trainer.opened(model).fitted,
        state.corpus.take(rows),
        test,
        labels=state.labelled.take(rows),
        cache=FeatureCache(),
    )
    if len(rows) < state.n:
        facts = replace(facts, documents=replace(facts.documents, of=state.n))
    return LiveReport(verdict(facts), _charts(facts), facts.documents)


def _charts(facts: KeyFigures) -> tuple[Chart, ...]:
    from unruly.report.accuracy import calibration_chart, confidence_chart, confusion_chart
    from unruly.report.page import training_curves
    from unruly.report.sources import agreement_map, bubble_chart

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
    """The page of models."""
    work, trainer = studio.workspace, studio.trainer
    state, models, summaries = work.state, trainer.models, trainer.summaries()
    context: dict[str, Any] = {
        "here": "train",
        "state": state,
        "job": trainer.status,
        "models": models,
        "current": trainer.current,
        "summaries": summaries,
        "labels_of": {model.path: _labels_of(model, summaries) for model in models},
        "stale": trainer.stale,
        "rules": len(state.project.sources.sources),
        "labels": state.labelled.labels,
        "prior": _shares_in_words(state.project),
        "compared": trainer.before is not None and state.earlier is not None,
    }
    return studio.page("train.html", context)


def _labels_of(model: KeptModel, summaries: Mapping[Path, FitSummary]) -> int | None:
    """How many labels a model was trained with; of one that the command line made, by its own account."""
    if model.labels is not None or model.path not in summaries:
        return model.labels
    return summaries[model.path].ledger.used_for(Use.TRAINING)


def _shares_in_words(project: Project) -> str | None:
    """The class shares as the project states them; None where its method does not use them."""
    if project.method == "paper":
        return None
    if isinstance(project.prior, str):
        return project.prior
    stated = parse_prior(project.prior, project.classes)
    return "" if stated is None else stated.in_words(project.classes)


def shares(studio: Studio, request: PageRequest) -> Response:
    """State the class shares, in words or numbers."""
    given = request.form.get("prior", "").strip()
    studio.workspace.state_shares(given)
    return PlainTextResponse("Class shares saved" if given else "Class shares removed")


def progress(studio: Studio, request: PageRequest) -> Response:
    """The progress of the job."""
    return studio.page("_job.html", {"job": studio.trainer.status})


def fit(studio: Studio, request: PageRequest) -> Response:
    """Start a fit."""
    trainer = studio.trainer
    trainer.fit()
    return studio.page("_job.html", {"job": trainer.status})


def cancel(studio: Studio, request: PageRequest) -> Response:
    """Cancel the job."""
    studio.trainer.cancel()
    return PlainTextResponse("Cancelling: no model is written")


def show(studio: Studio, request: PageRequest) -> Response:
    """Show another model's answers."""
    trainer = studio.trainer
    trainer.show(trainer.find(request.form.get("name", "")))
    return PlainTextResponse("Its answers are shown as soon as they are known")


def charts(studio: Studio, request: PageRequest) -> Response:
    """The verdict and the charts, loaded after the page."""
    from unruly.html import figure

    trainer = studio.trainer
    shown = tuple(model.path for model in (trainer.before, trainer.current) if model is not None)
    found = trainer.workspace.state.once(("live report", shown), lambda: live_report(trainer))
    drawn = [*(() if found is None else found.charts), models_chart(trainer.models)]
    figures = [figure(chart) for chart in drawn if chart is not None]
    return studio.page(
        "_charts.html", {"found": found, "figures": figures, "state": studio.workspace.state}
    )


def difference(studio: Studio, request: PageRequest) -> Response:
    """How the answers of the shown model differ from those of the one before it, and why."""
    trainer, state = studio.trainer, studio.workspace.state
    if (found := trainer.difference()) is None:
        return PlainTextResponse("")
    settings, changed = found
    causes = [
        (cause, cards(state, cause.rows[:SHOWN_CHANGES])) for cause in changed.causes[:MOST_CAUSES]
    ]
    context = {
        "lines": settings.lines(),
        "pair": (trainer.before, trainer.current),
        "changed": changed,
        "causes": causes,
        "others": changed.causes[MOST_CAUSES:],
        "state": state,
        "filter": Filter(changed="yes"),
    }
    return studio.page("_difference.html", context)


ROUTES: Routes = [
    ("GET", "/train", overview),
    ("GET", "/train/progress", progress),
    ("POST", "/train/shares", shares),
    ("POST", "/train/fit", fit),
    ("POST", "/train/cancel", cancel),
    ("POST", "/train/show", show),
    ("GET", "/train/charts", charts),
    ("GET", "/train/difference", difference),
]

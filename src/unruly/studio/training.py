"""Work in the background: a fit, or a model asked about all documents; with progress, and cancellable."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from unruly.errors import InputError, UnrulyError
from unruly.model.explanation import Explanation
from unruly.model.summary import FitSummary
from unruly.model.weak_classifier import WeakClassifier
from unruly.project.difference import Difference, compare_models
from unruly.rules.cache import Cache
from unruly.studio.models import KeptModel, answers_of, keep, kept_answers, kept_models, open_model
from unruly.studio.workspace import Workspace


class Cancelled(Exception):
    """Whoever waits for the work no longer wants it."""


@dataclass(frozen=True)
class JobStatus:
    """How far the work is."""

    what: str  # in words: "training", or "asking model"
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
        """How much of the stage is done, where that is known."""
        return min(1.0, self.done / self.total) if self.total else None

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        return self.state == "running"


class Job:
    """One piece of work in a thread of its own; it is the `Progress` that the work reports to."""

    def __init__(self, what: str, work: Callable[[Job], None]) -> None:
        self._status = JobStatus(what)
        self._started = time.monotonic()
        self._cancel = threading.Event()
        self._stages: list[tuple[str, int | None, str]] = []
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    @property
    def status(self) -> JobStatus:
        """How far it is."""
        status = self._status
        return (
            replace(status, seconds=time.monotonic() - self._started) if status.running else status
        )

    def cancel(self) -> None:
        """Stop at the next word of progress."""
        self._cancel.set()

    def wait(self, seconds: float | None = None) -> None:
        """Until it has ended."""
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
        except Exception as error:  # a thread has nobody else to tell
            end = replace(self._status, state="failed", error=f"{type(error).__name__}: {error}")
        self._status = replace(end, seconds=time.monotonic() - self._started)


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

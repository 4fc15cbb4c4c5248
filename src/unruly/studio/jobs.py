"""One piece of work in the background, with progress, and cancellable."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from unruly.errors import UnrulyError


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

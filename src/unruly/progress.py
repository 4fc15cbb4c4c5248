"""Progress bars: one small protocol, so that the work knows nothing of the screen."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

WIDTH = 24  # characters of a bar


class Progress(Protocol):
    """Gets reports of work as it is done. `SILENT` ignores them; the command line draws a bar."""

    def start(self, what: str, total: int | None, unit: str) -> None:
        """A stage of work begins: `total` units, or unknown."""

    def advance(self, units: int, note: str = "") -> None:
        """More units are done; the note (such as losses) may be shown beside the bar."""

    def finish(self) -> None:
        """The stage is over."""


class Silent:
    """Says nothing."""

    def start(self, what: str, total: int | None, unit: str) -> None: ...

    def advance(self, units: int, note: str = "") -> None: ...

    def finish(self) -> None: ...


SILENT: Progress = Silent()


class Inner:
    """Work inside a stage that has begun: what is done counts there, and stages of its own are not shown."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.done = 0

    def start(self, what: str, total: int | None, unit: str) -> None: ...

    def advance(self, units: int, note: str = "") -> None:
        self.done += units
        self._progress.advance(units, note)

    def finish(self) -> None: ...


class Timed:
    """Passes reports on, and keeps how long each stage took.

    >>> timed = Timed(SILENT, clock=iter([0.0, 5.0, 5.0, 7.5]).__next__)
    >>> for what in ("encoding", "training"):
    ...     with stage(timed, what, None, "texts"):
    ...         pass
    >>> timed.seconds
    {'encoding': 5.0, 'training': 2.5}
    """

    def __init__(self, progress: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        self._progress, self._clock = progress, clock
        self._began: list[tuple[str, float]] = []
        self.seconds: dict[str, float] = {}  # stages inside a stage are not counted by themselves

    def start(self, what: str, total: int | None, unit: str) -> None:
        self._began.append((what, 0.0 if self._began else self._clock()))
        self._progress.start(what, total, unit)

    def advance(self, units: int, note: str = "") -> None:
        self._progress.advance(units, note)

    def finish(self) -> None:
        self._progress.finish()
        what, began = self._began.pop()
        if not self._began:
            self.seconds[what] = self.seconds.get(what, 0.0) + self._clock() - began


class NotebookBar:
    """A bar for notebooks: one line of text that is overwritten as the work goes on."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stdout if stream is None else stream
        self._stages: list[tuple[str, int | None, str]] = []
        self._done: list[int] = []
        self._drawn = 0.0  # when
        self._length = 0  # of the line that is shown

    def start(self, what: str, total: int | None, unit: str) -> None:
        self._stages.append((what, total, unit))
        self._done.append(0)
        self._draw()

    def advance(self, units: int, note: str = "") -> None:
        if not self._stages:
            return
        self._done[-1] += units
        if time.monotonic() - self._drawn > 0.1:
            self._draw(note)

    def finish(self) -> None:
        if self._stages:
            self._stages.pop()
            self._done.pop()
            self._show("")

    def _draw(self, note: str = "") -> None:
        what, total, unit = self._stages[-1]
        done = self._done[-1]
        if total:
            filled = round(WIDTH * min(1.0, done / total))
            bar = "█" * filled + "░" * (WIDTH - filled)
            self._show(f"{what} {bar} {done:,}/{total:,} {unit} {note}")
        else:
            self._show(f"{what} {done:,} {unit} {note}")
        self._drawn = time.monotonic()

    def _show(self, line: str) -> None:
        self._stream.write(
            "\r" + line.ljust(self._length).rstrip("\n") + ("\r" if not line else "")
        )
        self._stream.flush()
        self._length = len(line)


def usual_progress() -> Progress:
    """A bar in notebooks, where a long call shows nothing else; silence everywhere else.

    >>> usual_progress() is SILENT
    True
    """
    shell = sys.modules.get("IPython")
    kernel = None if shell is None else shell.get_ipython()
    return NotebookBar() if type(kernel).__name__ == "ZMQInteractiveShell" else SILENT


@contextmanager
def stage(progress: Progress, what: str, total: int | None, unit: str) -> Iterator[Progress]:
    """Start a stage and finish it, whatever happens in between."""
    progress.start(what, total, unit)
    try:
        yield progress
    finally:
        progress.finish()

"""Progress bars: one small protocol, so that the work knows nothing of the screen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Progress(Protocol):
    """Told of work as it is done. `silent` ignores it; the command line draws a bar."""

    def start(self, what: str, total: int | None, unit: str) -> None:
        """A stage of work begins: `total` units, or unknown."""

    def advance(self, units: int, note: str = "") -> None:
        """So many units are done; the note (losses, say) may be shown beside the bar."""

    def finish(self) -> None:
        """The stage is over."""


class Silent:
    """Says nothing."""

    def start(self, what: str, total: int | None, unit: str) -> None: ...

    def advance(self, units: int, note: str = "") -> None: ...

    def finish(self) -> None: ...


SILENT: Progress = Silent()


@contextmanager
def stage(progress: Progress, what: str, total: int | None, unit: str) -> Iterator[Progress]:
    """Start a stage and finish it, whatever happens in between."""
    progress.start(what, total, unit)
    try:
        yield progress
    finally:
        progress.finish()

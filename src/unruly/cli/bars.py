"""Progress bars in the terminal: how far, how fast, how long still."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class Bars:
    """Draws `unruly.progress.Progress`: one bar for each stage, gone when the stage is over."""

    def __init__(self, console: Console) -> None:
        self._display = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            Done(),
            Rate(),
            TimeRemainingColumn(compact=True),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
            transient=True,
        )
        self._stages: list[TaskID] = []

    def start(self, what: str, total: int | None, unit: str) -> None:
        if not self._stages:
            self._display.start()
        self._stages.append(self._display.add_task(what, total=total, unit=unit, note=""))

    def advance(self, units: int, note: str = "") -> None:
        if not self._stages:
            return
        self._display.advance(self._stages[-1], units)
        if note:
            self._display.update(self._stages[-1], note=note)

    def finish(self) -> None:
        if not self._stages:
            return
        self._display.remove_task(self._stages.pop())
        if not self._stages:
            self._display.stop()

    def refresh(self) -> None:
        """Draw now, without waiting for the next tick."""
        self._display.refresh()


class Done(ProgressColumn):
    """`1,200/5,000`, or `1,200` where nobody knows how many there will be."""

    def render(self, task: Task) -> Text:
        total = "" if task.total is None else f"/{int(task.total):,}"
        return Text(f"{int(task.completed):,}{total}")


class Rate(ProgressColumn):
    """`850 texts/s`."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        if not speed:
            return Text("")
        shown = f"{speed:,.0f}" if speed >= 10 else f"{speed:.1f}"
        return Text(f"{shown} {task.fields['unit']}/s")

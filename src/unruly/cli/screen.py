"""Where commands print: results on standard output, bars and remarks on standard error."""

from __future__ import annotations

import codecs
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from io import RawIOBase
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

import click

from unruly.errors import harmless
from unruly.progress import SILENT, Progress
from unruly.wording import counted, plural

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID
    from rich.table import Table

    from unruly.distributed.run import ClusterRun
    from unruly.votes.summary import Summary


PIPE_WIDTH = 160  # columns, where there is no terminal to ask


@dataclass(frozen=True)
class Screen:
    """What a command may show, as its `--quiet` and `--json` say."""

    quiet: bool = False
    json: bool = False

    def progress(self) -> Progress:
        """Bars on a terminal, a line for each long stage in a log; silence when asked for."""
        if self.quiet:
            return SILENT
        if not sys.stderr.isatty():
            return Lines(sys.stderr)
        return Bars(console(sys.stderr))

    def table(self, table: Table) -> None:
        """A table of results."""
        if not self.json:
            console(sys.stdout).print(table)

    def say(self, text: str, *, prose: bool = False) -> None:
        """Lines of results; `prose` is wrapped between words on a terminal."""
        if not self.json:
            _echo(text, sys.stdout, prose)

    def remark(self, text: str, *, prose: bool = False) -> None:
        """A line beside the results: what was done, what to do next."""
        if not self.quiet:
            _echo(text, sys.stderr, prose)

    def warn(self, text: str) -> None:
        """A line that is shown even where few are wanted: something failed, or leaves the machine."""
        click.echo(harmless(text), err=True)

    def answer(self, value: object) -> None:
        """The one JSON object of `--json`."""
        if self.json:
            click.echo(harmless(json.dumps(value, ensure_ascii=False, allow_nan=False)))


def _echo(text: str, stream: IO[str], prose: bool) -> None:
    """Print lines; commands and paths to copy stay whole, for which `prose` is false."""
    if prose and stream.isatty():
        from rich.text import Text

        console(stream).print(Text(harmless(text)), highlight=False)
    else:
        click.echo(harmless(text), file=stream)


class _Shown(RawIOBase):
    """Bytes of UTF-8 as a terminal may see them."""

    def __init__(self, stream: IO[str]) -> None:
        super().__init__()
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._stream.write(harmless(self._decoder.decode(bytes(data))))
        return len(data)

    def flush(self) -> None:
        self._stream.flush()


def results(stream: TextIO) -> IO[bytes]:
    """Where a command writes a table: the very bytes, but what a terminal obeys is written out on one."""
    return cast(IO[bytes], _Shown(stream)) if stream.isatty() else stream.buffer


def console(stream: IO[str]) -> Console:
    """Colours on a terminal only, and not where NO_COLOR is set."""
    from rich.console import Console

    class Pipe(Console):
        """A console that leaves a closed pipe to the caller."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    terminal = stream.isatty()
    width, height = _plain_size(stream) if terminal else (PIPE_WIDTH, None)
    return Pipe(
        file=stream,
        force_terminal=terminal,
        no_color=not terminal or "NO_COLOR" in os.environ,
        width=width,
        height=height,
    )


def _plain_size(stream: IO[str]) -> tuple[int | None, int | None]:
    """Columns and lines of a terminal without a cursor, for which rich would assume 80 and 25; None: rich finds out."""
    if os.environ.get("TERM", "").lower() not in ("dumb", "unknown"):
        return None, None
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return None, None
    return (size.columns or None), (size.lines or None)


def table_of(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: Sequence[int] = (0,),
    last: bool = False,
) -> Table:
    """A plain table: the columns in `left` to the left, all others to the right; `last` sets the
    last row apart."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for place, name in enumerate(header):
        table.add_column(
            Text(harmless(name)),
            justify="left" if place in left else "right",
            no_wrap=place not in left,
        )
    for number, row in enumerate(rows):
        if last and number == len(rows) - 1:
            table.add_section()
        table.add_row(*(Text(harmless(cell)) for cell in row))
    return table


def source_table(summary: Summary) -> Table:
    """One row for each source, and a total."""
    header, rows = summary.cells()
    return table_of(header, rows, left=(0, 1), last=True)


class Lines:
    """Progress for logs and pipes: a stage that takes longer than `patience` seconds says how far it is."""

    def __init__(self, stream: IO[str], patience: float = 10.0) -> None:
        self._stream, self._patience = stream, patience
        self._stages: list[Stage] = []

    def start(self, what: str, total: int | None, unit: str) -> None:
        self._stages.append(Stage(harmless(what), total, unit, time.monotonic()))

    def advance(self, units: int, note: str = "") -> None:
        if not self._stages:
            return
        stage = self._stages[-1]
        stage.done += units
        if time.monotonic() - stage.shown < self._patience:
            return
        self._show(stage)

    def finish(self) -> None:
        if not self._stages:
            return
        stage = self._stages.pop()
        begun = stage.told is not None and stage.told != stage.done
        if begun and stage.total in (None, stage.done):  # else it was interrupted
            self._show(stage)

    def _show(self, stage: Stage) -> None:
        stage.shown, stage.told = time.monotonic(), stage.done
        whole = "" if stage.total is None else f" of {stage.total:,}"
        print(f"{stage.what}: {stage.done:,}{whole} {stage.unit}", file=self._stream, flush=True)


@dataclass
class Stage:
    """A stage of work, how far it is, and when that was last shown."""

    what: str
    total: int | None
    unit: str
    shown: float
    done: int = 0
    told: int | None = None  # how much was done when it was last shown


def show_cluster_run(done: ClusterRun, screen: Screen) -> None:
    """One object, or a few lines."""
    screen.answer(done.to_plain())
    if done.resumed:
        screen.remark(f"{plural(done.resumed, 'part')} of {done.parts:,} were done before")
    if done.skipped:
        screen.remark(f"{plural(done.skipped, 'row')} skipped as unusable")
    for file in done.broken:
        screen.remark(f"left out: {file}")
    labels = counted(done.labels, done.labels.values())
    line = f"{done.path}: {plural(done.documents, 'document')}"
    line += f" in {plural(done.parts, 'part')} by {plural(done.workers, 'worker')}"
    screen.remark(f"{line}: {labels}" if labels else line)


class Bars:
    """Draws `unruly.progress.Progress`: one bar for each stage, gone when the stage is over."""

    def __init__(self, console: Console) -> None:
        self._display = _bars(console)
        self._stages: list[TaskID] = []

    def start(self, what: str, total: int | None, unit: str) -> None:
        if not self._stages:
            self._display.start()
        self._stages.append(self._display.add_task(harmless(what), total=total, unit=unit, note=""))

    def advance(self, units: int, note: str = "") -> None:
        if not self._stages:
            return
        self._display.advance(self._stages[-1], units)
        if note:
            self._display.update(self._stages[-1], note=harmless(note))

    def finish(self) -> None:
        if not self._stages:
            return
        self._display.remove_task(self._stages.pop())
        if not self._stages:
            self._display.stop()

    def refresh(self) -> None:
        """Draw now, without waiting for the next tick."""
        self._display.refresh()


def _bars(console: Console) -> RichProgress:
    """What, a bar, how far, how fast, how long still, and a note."""
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

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

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        Done(),
        Rate(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[note]}", markup=False),
        console=console,
        transient=True,
    )

"""Where commands print: results on standard output, bars and remarks on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

import click
from rich.console import Console
from rich.table import Table

from unruly.cli.bars import Bars, Lines
from unruly.progress import SILENT, Progress

Command = TypeVar("Command", bound=Callable[..., object])
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

    def say(self, text: str) -> None:
        """Lines of results."""
        if not self.json:
            console(sys.stdout).print(text, markup=False, highlight=False, soft_wrap=True)

    def remark(self, text: str) -> None:
        """A line beside the results: what was done, what to do next."""
        if not self.quiet:
            console(sys.stderr).print(text, markup=False, highlight=False, soft_wrap=True)

    def answer(self, value: object) -> None:
        """The one JSON object of `--json`."""
        if self.json:
            click.echo(json.dumps(value, ensure_ascii=False, allow_nan=False))


class Paper(Console):
    """A console that leaves a closed pipe to the caller."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console(stream: IO[str]) -> Console:
    """Colours on a terminal only, and not where NO_COLOR is set."""
    terminal = stream.isatty()
    return Paper(
        file=stream,
        force_terminal=terminal,
        no_color=not terminal or "NO_COLOR" in os.environ,
        width=None if terminal else PIPE_WIDTH,
    )


def quiet_option(command: Command) -> Command:
    """`--quiet`, the same on every command."""
    return click.option(
        "-q", "--quiet", is_flag=True, help="Print results and errors only: no bar, no remarks."
    )(command)


def json_option(command: Command) -> Command:
    """`--json`, the same on every command that has it."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")(
        command
    )


def functions_option(command: Command) -> Command:
    """`--functions`, the same on every command that reads a model."""
    return click.option(
        "--functions",
        type=click.Path(path_type=Path),
        multiple=True,
        help="A Python file with the model's rule functions: models carry no code.",
    )(command)

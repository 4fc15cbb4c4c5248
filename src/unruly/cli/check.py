"""`unruly check`: is the project sound, do the rules match their examples, and what does each source cover?"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import click

from unruly.cli.options import SPLITS, bad_row_option, json_option, quiet_option
from unruly.cli.screen import Screen, source_table
from unruly.errors import ExampleError, UnrulyError
from unruly.wording import listed

_PATIENCE = 0.3  # seconds between two looks at the files


@click.command()
@click.argument("project", type=click.Path(path_type=Path))
@click.option("--split", type=click.Choice(SPLITS), default="train", help="Which file to look at.")
@click.option("--watch", is_flag=True, help="Check again whenever a file of the project is saved.")
@bad_row_option
@json_option
@quiet_option
def command(
    project: Path, split: str, watch: bool, on_bad_row: str, as_json: bool, quiet: bool
) -> None:
    """Validate a project, run its rules' own examples, show its sources.

    PROJECT is a folder with unruly.toml, or the path of that file. The exit code is 1 when a rule
    does not match one of its examples, or matches one of its counter_examples, and when there is
    nothing to learn from: no vote at all, or votes for one class only.

    \b
    Example:
      unruly check spam
      unruly check spam --watch
      unruly check spam --json
    """
    screen = Screen(quiet, as_json)
    if not watch:
        check(project, split, on_bad_row, screen)
        return
    for _ in saves(project):
        click.clear()
        try:
            check(project, split, on_bad_row, screen)
        except UnrulyError as error:
            screen.say(f"error: {error}")
        screen.remark("watching the project's files: Ctrl-C ends it")


def check(path: Path, split: str, on_bad_row: str | None, screen: Screen) -> None:
    """One check, shown; raises when it fails."""
    from unruly.cli.documents import open_project
    from unruly.project.checking import check_project
    from unruly.rules.cache import Cache

    project = open_project(path, on_bad_row=on_bad_row)
    checked = check_project(project, split, screen.progress(), Cache.default())
    screen.answer(checked.to_plain())
    for problem in checked.problems:
        screen.say(problem)
    if checked.disabled:
        off = "is disabled and left" if len(checked.disabled) == 1 else "are disabled and left"
        screen.say(f"{listed(checked.disabled)} {off} out")
    screen.table(source_table(checked.summary))
    if legend := checked.summary.legend():
        screen.say(legend)
    screen.say(checked.summary.majority_line())
    held = checked.examples - len(checked.failures)
    screen.say(
        f"examples: {held} of {checked.examples} as expected"
        if checked.examples
        else "examples: none"
    )
    for failure in checked.failures:
        screen.say(str(failure))
    if checked.failures:
        first, *others = checked.failures
        raise ExampleError(f"{first}" + (f" (and {len(others)} more)" if others else ""))
    if not checked.learnable:
        raise ExampleError("nothing can be learnt from this project: the first line above says why")


def saves(project: Path) -> Iterator[None]:
    """Once at the beginning, and again whenever a file of the project has been saved."""
    before: dict[Path, int] = {}
    while True:
        now = _saved(project)
        if now != before:
            before = now
            yield
        time.sleep(_PATIENCE)


def _saved(project: Path) -> dict[Path, int]:
    """When each file of the project was last written."""
    folder = project if project.is_dir() else project.parent
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    found = {}
    for path in files:
        try:
            found[path] = path.stat().st_mtime_ns
        except OSError:  # deleted between the two looks
            continue
    return found

"""`unruly check`: is the project sound, do the rules do what they say, and what does each cover?"""

from __future__ import annotations

from pathlib import Path

import click

from unruly.cli.screen import Screen, json_option, quiet_option
from unruly.cli.tables import source_table
from unruly.errors import ExampleError
from unruly.project.checking import check_project
from unruly.project.data import SPLITS
from unruly.rules.cache import Cache


@click.command()
@click.argument("project", type=click.Path(path_type=Path))
@click.option("--split", type=click.Choice(SPLITS), default="train", help="Which file to look at.")
@json_option
@quiet_option
def command(project: Path, split: str, as_json: bool, quiet: bool) -> None:
    """Validate a project, run its rules' own examples, show its sources.

    PROJECT is a folder with unruly.toml, or the path of that file. The exit code is 1 when a rule
    does not match one of its examples, or matches one of its counter_examples.

    \b
    Example:
      unruly check spam
      unruly check spam --json
    """
    screen = Screen(quiet, as_json)
    checked = check_project(project, split, screen.progress(), Cache.default())
    screen.answer(checked.to_plain())
    screen.table(source_table(checked.summary))
    if legend := checked.summary.legend():
        screen.say(legend)
    screen.say(checked.summary.majority_line())
    held = checked.examples - len(checked.failures)
    screen.say(
        f"examples: {held} of {checked.examples} hold" if checked.examples else "examples: none"
    )
    for failure in checked.failures:
        screen.say(str(failure))
    if checked.failures:
        first, *others = checked.failures
        raise ExampleError(f"{first}" + (f" (and {len(others)} more)" if others else ""))

"""`unruly new`: a starter folder."""

from __future__ import annotations

from pathlib import Path

import click

from unruly.cli.options import quiet_option
from unruly.cli.screen import Screen
from unruly.project.starter import make_starter


@click.command()
@click.argument("name", type=click.Path(path_type=Path))
@quiet_option
def command(name: Path, quiet: bool) -> None:
    """Make a starter folder: unruly.toml with eight sources, a few dozen texts, a README.

    NAME is the folder to make; one that exists is never touched.

    \b
    Example:
      unruly new spam
    """
    made = make_starter(name)
    Screen(quiet).remark(
        f"{made} is ready: edit {made / 'unruly.toml'}, then run: unruly check {made}"
    )

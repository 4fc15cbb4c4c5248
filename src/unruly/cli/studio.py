"""`unruly studio`: rules, documents, labels and training on one local web page."""

from __future__ import annotations

from pathlib import Path

import click

from unruly.cli.options import quiet_option
from unruly.cli.screen import Screen


@click.command()
@click.argument("project", type=click.Path(path_type=Path))
@click.option(
    "--port", type=click.IntRange(0, 65535), help="The port.  [default: the first free from 8765]"
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on; any other one lets other machines in, with the token.",
)
@click.option("--no-open", "closed", is_flag=True, help="Open no browser: print the link only.")
@quiet_option
def command(project: Path, port: int | None, host: str, closed: bool, quiet: bool) -> None:
    """Write rules and watch them work, browse, label and train on one local page.

    PROJECT is a project's folder, or a file of texts: then the page asks for the column and the
    classes, and makes the project. One process, no network; the link that is printed holds a token
    without which nobody gets in. Ctrl-C ends it: all that was saved or labelled is on disk.

    \b
    Example:
      unruly studio spam
      unruly studio reviews.csv
    """
    from unruly.studio.server import serve

    screen = Screen(quiet)

    def ready(link: str) -> None:
        screen.say(link)
        screen.remark("the studio is open at this link; Ctrl-C ends it")

    serve(project, host=host, port=port, opened=not closed, ready=ready)

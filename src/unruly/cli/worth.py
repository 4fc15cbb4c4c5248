"""`unruly worth`: how many hand labels is this rule set worth?"""

from __future__ import annotations

from pathlib import Path

import click

from unruly.cli.options import encoder_option, json_option, quiet_option
from unruly.cli.screen import Screen, table_of


@click.command()
@click.argument("project", type=click.Path(path_type=Path))
@encoder_option
@click.option(
    "--draws",
    type=click.IntRange(2, 100),
    default=5,
    show_default=True,
    help="How often labels are drawn for each number of them.",
)
@json_option
@quiet_option
def command(
    project: Path, encoder: tuple[str, ...], draws: int, as_json: bool, quiet: bool
) -> None:
    """Estimate how many hand labels a project's rules are worth.

    A model learns from the rules alone; a classifier on the same features learns from 10, 20, 50, ...
    gold labels. Both are scored on the test file, or without one on half of the labelled training
    documents. The rules are worth as many labels as the classifier needs to match them. Gold labels
    must be in the training file, or in labels.csv.

    \b
    Example:
      unruly worth spam
    """
    from unruly.cli.documents import open_project
    from unruly.project.worth import project_worth

    screen = Screen(quiet, as_json)
    worth = project_worth(open_project(project, encoder), draws, screen.progress())
    screen.answer(worth.to_plain())
    rows = [(f"{r.labels:,}", f"{r.accuracy:.1%}", f"± {r.deviation:.1%}") for r in worth.rungs]
    rows.append(("the rules", f"{worth.rules.value:.1%}", ""))
    screen.table(table_of(("hand labels", "accuracy", "spread over draws"), rows, last=True))
    screen.say(worth.sentence)
    screen.say(str(worth.ledger))

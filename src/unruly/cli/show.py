"""`unruly show`: the documents behind any figure of a project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from unruly.cli.options import (
    SPLITS,
    TABLES,
    bad_row_option,
    check_output,
    json_option,
    output_option,
    quiet_option,
)
from unruly.cli.screen import Screen
from unruly.wording import plural

if TYPE_CHECKING:
    from unruly.project.showing import ShownDocument


@click.command()
@click.argument("project", type=click.Path(path_type=Path))
@click.option("--source", help="Documents that this source votes on.")
@click.option("--conflicts-with", help="With --source: and on which this one votes otherwise.")
@click.option("--label", help="Documents with a vote (of --source) for this class.")
@click.option("--uncovered", is_flag=True, help="Documents without any vote.")
@click.option("--split", type=click.Choice(SPLITS), default="train", help="Which file to look at.")
@click.option(
    "-n", "most", type=click.IntRange(1), default=20, show_default=True, help="How many at most."
)
@output_option("Write them to a file instead: .csv, .tsv, .jsonl or .parquet.", required=False)
@bad_row_option
@json_option
@quiet_option
def command(
    project: Path,
    source: str | None,
    conflicts_with: str | None,
    label: str | None,
    uncovered: bool,
    split: str,
    most: int,
    output: Path | None,
    on_bad_row: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Show the documents behind any figure of a project.

    Every document comes with its id, its votes and what each rule matched, marked in the text.

    \b
    Example:
      unruly show spam --source links --label spam
      unruly show spam --source links --conflicts-with praise
      unruly show spam --uncovered -n 100 -o uncovered.csv
    """
    from unruly.cli.documents import open_project
    from unruly.project.showing import show

    screen = Screen(quiet, as_json)
    if output is not None:
        check_output(output, TABLES)
    found = show(
        open_project(project, on_bad_row=on_bad_row),
        split,
        source=source,
        conflicts_with=conflicts_with,
        label=label,
        uncovered=uncovered,
        most=most,
        progress=screen.progress(),
    )
    screen.answer({"total": found.total, "documents": [one.to_plain() for one in found.documents]})
    if output is not None:
        found.write(output)
    else:
        for one in found.documents:
            screen.say(_lines(one))
    where = "" if output is None else f"{output}: "
    screen.remark(f"{where}{len(found.documents):,} of {plural(found.total, 'document')}")


def _lines(one: ShownDocument) -> str:
    """One document on the screen, what rules matched in brackets."""
    gold = "" if one.gold is None else f"  gold: {one.gold}"
    votes = "".join(f"\n  {vote.source}: {vote.label} ({vote.reason})" for vote in one.votes)
    return f"{one.id}{gold}\n  {one.marked()}{votes or chr(10) + '  no votes'}\n"

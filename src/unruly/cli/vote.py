"""`unruly vote`: the vote matrix of a project, to a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unruly.cli.options import (
    SPLITS,
    TABLES,
    bad_row_option,
    check_engine,
    check_output,
    engine_options,
    json_option,
    output_option,
    quiet_option,
)
from unruly.cli.screen import Screen
from unruly.wording import plural

if TYPE_CHECKING:
    from unruly.prompts.asking import Asked
    from unruly.prompts.budget import Plan


@click.command()
@click.argument("project", type=click.Path(path_type=Path))
@output_option("The file to write: .parquet, .csv, .tsv or .jsonl.", required=False)
@click.option("--split", type=click.Choice(SPLITS), default="train", help="Which file to vote on.")
@click.option("--no-cache", is_flag=True, help="Run every rule, whatever was matched before.")
@click.option(
    "--plan", is_flag=True, help="Tell what language models would be asked and cost; send nothing."
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="With --engine ray: a Parquet file, or a folder of them, in place of the project's own.",
)
@engine_options
@bad_row_option
@json_option
@quiet_option
def command(
    project: Path,
    output: Path | None,
    split: str,
    no_cache: bool,
    plan: bool,
    data: Path | None,
    engine: str,
    address: str | None,
    workers: int | None,
    on_bad_row: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Apply the rules to the texts and write the vote matrix.

    One row for each text, in the order of the file and with its id; one column for each source.
    Parquet holds class numbers and -1 where a source abstains; CSV and JSON Lines hold class names.
    Files larger than memory are read as a stream. Only sources that were edited since the last run
    are matched again.

    Language models among the sources are asked first, within their budgets; every answer is kept the
    moment it arrives, so a run that was interrupted goes on where it stopped. --plan tells the
    requests, tokens, money and time that this takes, and sends nothing.

    \b
    Example:
      unruly vote spam -o votes.parquet
      unruly vote spam --split test -o votes.csv
      unruly vote spam --plan
      unruly vote spam -o votes/ --engine ray --workers 8
    """
    from unruly.cli.documents import open_project
    from unruly.project.voting import ask_split, plan_split, vote_split
    from unruly.rules.cache import Cache
    from unruly.votes.files import write_votes

    screen = Screen(quiet, as_json)
    check_engine(engine, address, workers)
    cache = None if no_cache else Cache.default()
    if plan:
        show_plans(plan_split(open_project(project, on_bad_row=on_bad_row), split, cache), screen)
        return
    if output is None:
        raise click.UsageError("Missing option '-o' / '--output'.")
    if engine == "ray":
        from unruly.cli.documents import named
        from unruly.cli.screen import show_spread
        from unruly.distributed.run import Placement, vote

        spread = vote(
            project,
            data or named(project, split).path,
            output,
            on_bad_row=on_bad_row,  # type: ignore[arg-type]
            placement=Placement(address, workers),
            progress=screen.progress(),
        )
        show_spread(spread, screen)
        return
    if data is not None:
        raise click.UsageError("--data is an option of --engine ray")
    check_output(output, TABLES)
    opened = open_project(project, on_bad_row=on_bad_row)
    for planned in plan_split(opened, split, cache):
        if planned.leaves:
            screen.warn(planned.leaves)
    asked = ask_split(opened, split, screen.progress(), cache)
    show_asked(asked, screen)
    voted = vote_split(opened, split, screen.progress(), cache)
    votes = voted.votes
    write_votes(votes, output)
    screen.answer(
        {
            "documents": votes.n,
            "sources": votes.k,
            "coverage": votes.coverage,
            "skipped": voted.texts.skipped,
            "asked": [asdict(one) for one in asked],
            "broken": [str(bad) for bad in voted.texts.broken],
            "output": str(output),
        }
    )
    screen.remark(
        f"{output}: {plural(votes.n, 'document')}, {plural(votes.k, 'source')}; {votes.coverage:.1%} of the "
        "documents have a vote"
    )
    if voted.texts.skipped:
        screen.remark(f"{plural(voted.texts.skipped, 'row')} skipped as unusable")
    for bad in voted.texts.broken:
        screen.remark(f"left out: {bad}")


def show_asked(asked: Sequence[Asked], screen: Screen) -> None:
    """What asking came to, source by source; a failure is shown even where few lines are wanted."""
    from unruly.project.voting import asked_line

    for one in asked:
        (screen.warn if one.failed else screen.remark)(asked_line(one))


def show_plans(plans: Sequence[Plan], screen: Screen) -> None:
    """What asking would cost, source by source."""
    screen.answer({"plans": [plan.to_plain() for plan in plans]})
    for plan in plans:
        screen.say(str(plan))
    if not plans:
        screen.say("no source is a language model: there is nothing to ask")

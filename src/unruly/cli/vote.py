"""`unruly vote`: the vote matrix of a project, to a file."""

from __future__ import annotations

from pathlib import Path

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


@click.command()
@click.argument("project", type=click.Path(path_type=Path))
@output_option("The file to write: .parquet, .csv, .tsv or .jsonl.")
@click.option("--split", type=click.Choice(SPLITS), default="train", help="Which file to vote on.")
@click.option("--no-cache", is_flag=True, help="Run every rule, whatever was matched before.")
@bad_row_option
@json_option
@quiet_option
def command(
    project: Path,
    output: Path,
    split: str,
    no_cache: bool,
    on_bad_row: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Apply the rules to the texts and write the vote matrix.

    One row for each text, in the order of the file and with its id; one column for each source.
    Parquet holds class numbers and -1 where a source abstains; CSV and JSON Lines hold class names.
    Files larger than memory are read as a stream. Only sources that were edited since the last run
    are matched again.

    \b
    Example:
      unruly vote spam -o votes.parquet
      unruly vote spam --split test -o votes.csv
    """
    from unruly.cli.documents import open_project
    from unruly.project.voting import vote_split
    from unruly.rules.cache import Cache
    from unruly.votes.files import write_votes

    screen = Screen(quiet, as_json)
    check_output(output, TABLES)
    cache = None if no_cache else Cache.default()
    opened = open_project(project, on_bad_row=on_bad_row)
    voted = vote_split(opened, split, screen.progress(), cache)
    votes = voted.votes
    write_votes(votes, output)
    screen.answer(
        {
            "documents": votes.n,
            "sources": votes.k,
            "coverage": votes.coverage,
            "skipped": voted.texts.skipped,
            "output": str(output),
        }
    )
    screen.remark(
        f"{output}: {plural(votes.n, 'document')}, {plural(votes.k, 'source')}; {votes.coverage:.1%} of the "
        "documents have a vote"
    )
    if voted.texts.skipped:
        screen.remark(f"{plural(voted.texts.skipped, 'row')} skipped as unusable")

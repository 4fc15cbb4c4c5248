"""`unruly vote`: the vote matrix of a project, to a file."""

from __future__ import annotations

from pathlib import Path

import click

from unruly.cli.outputs import TABLES, check_output
from unruly.cli.screen import Screen, json_option, quiet_option
from unruly.plural import plural
from unruly.project.data import SPLITS
from unruly.project.project import Project
from unruly.project.voting import vote_split
from unruly.rules.cache import Cache
from unruly.votes.files import write_votes


@click.command()
@click.argument("project", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="The file to write: .parquet, .csv, .tsv or .jsonl.",
)
@click.option("--split", type=click.Choice(SPLITS), default="train", help="Which file to vote on.")
@click.option("--no-cache", is_flag=True, help="Run every rule, whatever was matched before.")
@json_option
@quiet_option
def command(
    project: Path, output: Path, split: str, no_cache: bool, as_json: bool, quiet: bool
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
    screen = Screen(quiet, as_json)
    check_output(output, TABLES)
    cache = None if no_cache else Cache.default()
    votes = vote_split(Project.read(project), split, screen.progress(), cache).votes
    write_votes(votes, output)
    screen.answer(
        {
            "documents": votes.n,
            "sources": votes.k,
            "coverage": votes.coverage,
            "output": str(output),
        }
    )
    screen.remark(
        f"{output}: {plural(votes.n, 'document')}, {plural(votes.k, 'source')}; {votes.coverage:.1%} of the documents have a vote"
    )

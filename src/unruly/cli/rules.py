"""`unruly new`, `check` and `vote`: a starter folder, is the project sound, and the vote matrix of its rules."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from unruly.cli.options import (
    PATH,
    bad_row_option,
    check_output,
    defuse_option,
    engine_options,
    json_option,
    open_project,
    output_option,
    placement_of,
    quiet_option,
    skipped_option,
    write_skipped,
)
from unruly.cli.screen import Screen, show_cluster_run, source_table
from unruly.errors import ExampleError, InputError, UnrulyError
from unruly.files import TABLES, check_not_input
from unruly.project import SPLITS
from unruly.wording import listed, plural

if TYPE_CHECKING:
    from unruly.distributed.run import Placement
    from unruly.project.project import Project
    from unruly.prompts.asking import Asked, Plan
    from unruly.rules.matching import VoteCache


@click.command()
@click.argument("name", type=PATH)
@click.option(
    "--data",
    type=PATH,
    help="Your file of texts: CSV, JSON Lines, Parquet, Excel …; or a folder in WRENCH's layout.",
)
@click.option("--classes", help='Your classes, with commas between: "billing,technical".')
@click.option("--text", help="The column of texts; guessed if left out.")
@click.option(
    "--label",
    help="A column of true labels, for scoring only. Its values are the classes unless you name them.",
)
@quiet_option
def new(
    name: Path,
    data: Path | None,
    classes: str | None,
    text: str | None,
    label: str | None,
    quiet: bool,
) -> None:
    """Make a project: for your own file of texts, or a starter to try.

    NAME is the folder to make; one that exists is never touched. With --data its unruly.toml names your file, which stays
    where it is, and begins with one source for each class. Without, it has eight sources, a few dozen texts and a
    README.

    \b
    Example:
      unruly new spam
      unruly new tickets --data tickets.csv --classes billing,technical,praise
    """
    from unruly.project.new import make_starter, new_project

    screen = Screen(quiet)
    if data is None:
        given = {"--classes": classes, "--text": text, "--label": label}
        if useless := [option for option, value in given.items() if value]:
            raise InputError(
                f"{listed(useless)} is about your own texts: name their file, --data FILE"
            )
        make_starter(name)
    else:
        listing = (classes or "").split(",")
        project = new_project(name, data, listing, text=text, label=label)
        named = "" if text else " (if it is another: --text)"
        ids = f"; ids: {project.data.id}" if project.data.id else ""
        texts = f"the texts are in the column {project.data.text}{named}{ids}"
        if project.data.text is None:
            texts = "texts and true labels are read from WRENCH's layout; its votes are not used"
        screen.remark(f"{data}: {texts}; classes: {listed(project.classes)}")
    screen.remark(
        f"{name} is ready: edit {name / 'unruly.toml'}, then run: unruly check {quote(str(name))}"
    )


_PATIENCE = 0.3  # seconds between two looks at the files


@click.command()
@click.argument("project", type=PATH)
@click.option("--split", type=click.Choice(SPLITS), default="train", help="Which file to look at.")
@click.option("--watch", is_flag=True, help="Check again whenever a file of the project is saved.")
@bad_row_option
@json_option
@quiet_option
def check(
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
        check_once(project, split, on_bad_row, screen)
        return
    try:
        for _ in saves(project):
            click.clear()
            try:
                check_once(project, split, on_bad_row, screen)
            except UnrulyError as error:
                screen.say(f"error: {error}")
            screen.remark("watching the project's files: Ctrl-C ends it")
    except KeyboardInterrupt:  # as announced
        screen.remark("stopped")


def check_once(path: Path, split: str, on_bad_row: str | None, screen: Screen) -> None:
    """One check, shown; raises when it fails."""
    from unruly.project.voting import check_project
    from unruly.rules.matching import VoteCache
    from unruly.sentences import sentence

    project = open_project(path, on_bad_row=on_bad_row)
    checked = check_project(project, split, screen.progress(), VoteCache.default())
    screen.answer(checked.to_plain())
    for line in checked.lines():
        screen.say(line)
    if checked.disabled:
        off = "is disabled and left" if len(checked.disabled) == 1 else "are disabled and left"
        screen.say(f"{listed(checked.disabled)} {off} out")
    screen.table(source_table(checked.summary))
    if scored := checked.scored_line():
        screen.say(scored)
    screen.say(checked.summary.majority_line())
    held = checked.examples - len(checked.failures)
    screen.say(
        f"examples: {held} of {checked.examples} as expected"
        if checked.examples
        else "examples: none"
    )
    failed = [sentence(failure) for failure in checked.failures]
    for line in failed:
        screen.say(line)
    if failed:
        raise ExampleError(
            f"{plural(len(failed), 'example')} failed: change the rule or the example"
        )
    if not checked.learnable:
        raise ExampleError(f"nothing can be learnt from this project. {checked.lines()[0]}")


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


@click.command()
@click.argument("project", type=PATH)
@output_option("The file to write: .parquet, .csv, .tsv, .jsonl or .ndjson.", required=False)
@click.option("--split", type=click.Choice(SPLITS), default="train", help="Which file to vote on.")
@click.option("--no-cache", is_flag=True, help="Run every rule, whatever was matched before.")
@click.option(
    "--plan", is_flag=True, help="Show what asking the language models would cost; send nothing."
)
@click.option(
    "--data",
    type=PATH,
    help="With --engine ray: a Parquet file, or a folder of them, in place of the project's own.",
)
@engine_options
@bad_row_option
@skipped_option
@defuse_option
@json_option
@quiet_option
def vote(
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
    skipped: Path | None,
    defuse: bool,
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
    from unruly.project.voting import plan_split
    from unruly.rules.matching import VoteCache

    screen = Screen(quiet, as_json)
    placement = placement_of(engine, address, workers)
    if output is None and not plan:
        raise click.UsageError("Missing option '-o' / '--output'.")
    if data is not None and placement is None:
        raise click.UsageError("--data is an option of --engine ray")
    if placement is not None and (skipped is not None or defuse):
        raise click.UsageError("--skipped and --defuse cannot be used with --engine ray")
    opened = open_project(project, on_bad_row=on_bad_row)
    cache = None if no_cache else VoteCache.default()
    if plan or output is None:
        show_plans(plan_split(opened, split, cache), screen)
    elif placement is not None:
        data = data or opened.data.path(split, opened.folder)
        _vote_on_cluster(project, data, output, opened.data.on_bad_row, placement, screen)
    else:
        _vote_here(opened, split, output, cache, skipped, defuse, screen)


def _vote_on_cluster(
    project: Path,
    data: Path,
    output: Path,
    on_bad_row: str | None,
    placement: Placement,
    screen: Screen,
) -> None:
    from unruly.distributed.run import vote
    from unruly.texts.table import on_bad_row_of

    done = vote(
        project,
        data,
        output,
        on_bad_row=on_bad_row_of(on_bad_row),
        placement=placement,
        progress=screen.progress(),
    )
    show_cluster_run(done, screen)


def _vote_here(
    project: Project,
    split: str,
    output: Path,
    cache: VoteCache | None,
    skipped: Path | None,
    defuse: bool,
    screen: Screen,
) -> None:
    from unruly.project.voting import ask_split, plan_split, vote_split
    from unruly.texts.table import row_remarks
    from unruly.votes.files import loss, write_votes

    check_output(output, TABLES)
    check_not_input(output, project.inputs())
    if skipped is not None:
        check_output(skipped, inputs=(*project.inputs(), output))
    for planned in plan_split(project, split, cache):
        if planned.leaves:
            screen.warn(planned.leaves)
    asked = ask_split(project, split, screen.progress(), cache)
    show_asked(asked, screen)
    voted = vote_split(project, split, screen.progress(), cache)
    votes, texts = voted.votes, voted.texts
    write_votes(votes, output, defuse=defuse)
    if skipped is not None:
        write_skipped(skipped, (*texts.skipped, *texts.broken))
    screen.answer(
        {
            "documents": votes.n,
            "sources": votes.k,
            "coverage": votes.coverage,
            "missing": texts.blank,
            "skipped": len(texts.skipped),
            "asked": [asdict(one) for one in asked],
            "broken": [asdict(file) for file in texts.broken],
            "output": str(output),
        }
    )
    screen.remark(
        f"{output}: {plural(votes.n, 'document')}, {plural(votes.k, 'source')}; {votes.coverage:.1%} of the "
        "documents have a vote"
    )
    if lost := loss(votes, output):
        screen.remark(lost)
    for line in row_remarks(texts.skipped, texts.blank, ": no rule votes there", texts.broken):
        screen.remark(line)


def show_asked(asked: Sequence[Asked], screen: Screen) -> None:
    """The outcome of asking, source by source; a failure is shown even with --quiet."""
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

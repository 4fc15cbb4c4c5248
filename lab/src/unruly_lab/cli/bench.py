"""`unruly bench`: every system on public data sets, in tables and pictures beside the paper's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unruly.cli.options import json_option, quiet_option
from unruly.cli.screen import Screen
from unruly.errors import InputError
from unruly.wording import plural
from unruly_lab.cli.lists import among, names_in, priors_in

if TYPE_CHECKING:
    from unruly.progress import Progress
    from unruly_lab.bench.datasets import Folder
    from unruly_lab.bench.measuring import Keywords
    from unruly_lab.bench.page import Results
    from unruly_lab.bench.plan import Plan
    from unruly_lab.bench.runs import Store


@click.command()
@click.option("--data", type=click.Path(path_type=Path), help="The folder with the data sets.")
@click.option("--datasets", help="Their names, with commas between.  [default: all in DIR]")
@click.option("--methods", help="Which, with commas between; --list shows them.  [default: all]")
@click.option(
    "--experiments",
    default="main,clean,parameters,search",
    show_default=True,
    help="Which, with commas between.",
)
@click.option(
    "--selection",
    default="none,gold",
    show_default=True,
    help="Which epoch is kept: without gold, or by the validation documents' true labels, as the paper does.",
)
@click.option(
    "--encoder",
    default="minilm",
    show_default=True,
    help="What reads the texts; several with + between. A data set with features of its own uses those.",
)
@click.option("--seeds", type=click.IntRange(1), default=5, show_default=True, help="Runs of each.")
@click.option(
    "--rows",
    type=click.IntRange(1),
    help="Training documents at most, and validation documents, drawn by chance.",
)
@click.option(
    "--trials",
    type=click.IntRange(1),
    default=30,
    show_default=True,
    help="Of each hyper-parameter search.",
)
@click.option(
    "--prior",
    "priors",
    multiple=True,
    metavar="DATASET=SHARES",
    help="Class shares that every method is shown, as in spouse=0.9,0.1.",
)
@click.option(
    "--rules",
    type=click.Path(path_type=Path),
    help="A folder of projects named like the data sets: WeSTClass takes its seed words from their rules, "
    "else from the votes.",
)
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes.")
@click.option("--quick", is_flag=True, help="Short training, few seeds and values: a first look.")
@click.option("--download", "fetch", is_flag=True, help="Fetch data sets that DIR does not have.")
@click.option("--tables-only", is_flag=True, help="Run nothing; write tables of what there is.")
@click.option("--list", "listed", is_flag=True, help="Show the methods, and end.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("results"),
    show_default=True,
    help="The folder for results.",
)
@json_option
@quiet_option
def command(
    data: Path | None,
    datasets: str | None,
    methods: str | None,
    experiments: str,
    selection: str,
    encoder: str,
    seeds: int,
    rows: int | None,
    trials: int,
    priors: tuple[str, ...],
    rules: Path | None,
    jobs: int,
    quick: bool,
    fetch: bool,
    tables_only: bool,
    listed: bool,
    output: Path,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compare all methods on data sets with true labels, beside the paper's figures.

    The data sets are folders in WRENCH's layout; the published ones are on the Hugging Face hub as
    jieyuz2/WRENCH. Each finished run is kept in runs.jsonl, so a benchmark that was interrupted goes
    on where it stopped. Tables (Markdown) and pictures are written beside it. Every figure says what
    true labels were used for; those of test documents are for scoring alone.

    \b
    Example:
      unruly bench --data wrench --datasets youtube,imdb --download --jobs 2 -o results
      unruly bench --data wrench --quick
    """
    from unruly_lab.bench.runs import Store

    screen = Screen(quiet, as_json)
    if listed:
        _list(screen)
        return
    store = Store(output / "runs.jsonl")
    made = failed = 0
    if not tables_only:
        from unruly_lab.bench.plan import QUICK_SEEDS, QUICK_TRIALS, Plan
        from unruly_lab.bench.runs import EXPERIMENTS, SELECTIONS

        context = click.get_current_context()
        folders = _folders(data, _quick_default(datasets, quick), fetch, screen.progress())
        plan = Plan(
            folders=folders,
            methods=_methods(methods),
            experiments=among(experiments, EXPERIMENTS, "experiment"),
            encoder=encoder,
            seeds=QUICK_SEEDS if quick and _untouched(context, "seeds") else seeds,
            selections=among(selection, SELECTIONS, "selection"),
            rows=rows,
            trials=QUICK_TRIALS if quick and _untouched(context, "trials") else trials,
            priors=priors_in(priors, tuple(folder.name for folder in folders)),
            keywords=_keywords(rules, folders),
            quick=quick,
        )
        if quick and _untouched(context, "jobs"):
            jobs = min(2, os.cpu_count() or 1)
        made, failed = _run(plan, store, jobs, output, screen.progress())
    results = _results(store, output)
    if not results.outcomes and not results.failures:
        raise InputError(f"{store.path}: there are no results yet: run without --tables-only")
    _show(screen, results, output, made, failed)


def _list(screen: Screen) -> None:
    from unruly.cli.screen import table_of
    from unruly_lab.peers.systems import SYSTEMS

    screen.answer([{"name": e.name, "title": e.title, "cites": e.cites} for e in SYSTEMS])
    rows = [(e.name, e.title, e.cites) for e in SYSTEMS]
    screen.table(table_of(("method", "", "cites"), rows, left=(0, 1, 2)))


def _quick_default(datasets: str | None, quick: bool) -> str | None:
    return "youtube" if quick and datasets is None else datasets


def _untouched(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is click.core.ParameterSource.DEFAULT


def _folders(
    data: Path | None, datasets: str | None, fetch: bool, progress: Progress
) -> tuple[Folder, ...]:
    """The data sets asked for, fetched where that was asked for, too."""
    from unruly.texts.wrench import is_wrench
    from unruly_lab.bench.datasets import download, folder_of

    if data is None:
        raise InputError("--data is missing: name the folder with the data sets in WRENCH's layout")
    if datasets is None:
        names = tuple(sorted(path.name for path in data.glob("*") if is_wrench(path)))
        if not names:
            raise InputError(
                f"{data}: no data set in WRENCH's layout there: name some with --datasets and fetch them "
                "with --download (the published ones are jieyuz2/WRENCH on the Hugging Face hub)"
            )
    else:
        names = names_in(datasets)
    if fetch:
        for name in names:
            if not is_wrench(data / name):
                download(data, name, progress)
    return tuple(folder_of(data, name) for name in names)


def _methods(typed: str | None) -> tuple[str, ...]:
    """The methods asked for; all where none is named."""
    from unruly_lab.peers.systems import SYSTEMS, entry

    return (
        tuple(entry(name).name for name in names_in(typed))
        if typed
        else tuple(known.name for known in SYSTEMS)
    )


def _keywords(rules: Path | None, folders: tuple[Folder, ...]) -> dict[str, Keywords]:
    """The seed words of each data set."""
    from unruly.votes.votes import Votes
    from unruly_lab.bench.measuring import keywords_of

    if rules is not None and not rules.is_dir():
        raise InputError(f"{rules}: there is no such folder of rules")
    classes = {folder: Votes.from_wrench(folder.path, "test").classes for folder in folders}
    return {folder.name: keywords_of(rules, folder, own) for folder, own in classes.items()}


def _run(plan: Plan, store: Store, jobs: int, output: Path, progress: Progress) -> tuple[int, int]:
    from unruly_lab.bench.data_statistics import read_facts, write_facts
    from unruly_lab.bench.runner import Loader, run_plan

    facts = {one.name: one for one in read_facts(output / "datasets.json")}
    facts |= {folder.name: folder.facts() for folder in plan.folders}
    write_facts(output / "datasets.json", tuple(facts.values()))
    loader = Loader({folder.name: folder for folder in plan.folders}, plan.keywords)
    tally = run_plan(plan, store, loader, jobs, progress)
    return tally.made, len(tally.failures)


def _results(store: Store, output: Path) -> Results:
    from unruly_lab.bench.data_statistics import read_facts
    from unruly_lab.bench.page import Results

    return Results(store.outcomes(), store.failures(), read_facts(output / "datasets.json"))


def _show(screen: Screen, results: Results, output: Path, made: int, failed: int) -> None:
    from unruly_lab.bench.page import OPENING, write_pictures, write_results

    files = write_results(results, output)
    files += write_pictures(results.outcomes, results.facts, output / "pictures")
    screen.answer(
        {
            "runs": len(results.outcomes),
            "made": made,
            "failed": failed,
            "files": [str(path) for path in files],
        }
    )
    if opening := results.sections().get(OPENING):
        screen.say(opening)
    for error in dict.fromkeys(failure.error for failure in results.failures):
        screen.remark(f"failed: {error}")
    screen.remark(
        f"{plural(made, 'run')} made, {failed:,} of them failed; {len(results.outcomes):,} in "
        f"{output / 'runs.jsonl'}; tables in {output / 'README.md'}"
    )

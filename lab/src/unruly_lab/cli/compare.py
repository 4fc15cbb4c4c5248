"""`unruly compare`: several systems on one project, side by side."""

from __future__ import annotations

from pathlib import Path

import click

from unruly.cli.options import check_output, encoder_option, json_option, quiet_option
from unruly.cli.screen import Screen

NOBODY_RAN = 1


@click.command()
@click.argument("project", type=click.Path(path_type=Path))
@click.option(
    "--methods",
    help="Comma-separated names, or all. Default: majority-vote, dawid-skene, snorkel, bert-mlp, "
    "mean-teacher, paper, default. Others: weighted-vote, one-coin, matrix-completion, denoiser, "
    "snorkel-package, westclass, westclass-published, implyloss, neuralqpp, ulmfit, "
    "bert-mlp-denoised, ulmfit-denoised, bert-mlp-gold, paper-voters, rule-only, neural-only, neural-self, rule-neural.",
)
@encoder_option
@click.option(
    "--seeds",
    type=click.IntRange(1, 50),
    default=2,
    show_default=True,
    help="How many times each method is fitted.",
)
@click.option("--chart", type=click.Path(path_type=Path), help="A picture to write: .png or .svg.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="A file for the results: .json, .md or .csv.",
)
@json_option
@quiet_option
def command(
    project: Path,
    methods: str | None,
    encoder: tuple[str, ...],
    seeds: int,
    chart: Path | None,
    output: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run several methods on a project, and compare them.

    All learn from the same votes and features. With gold labels in the test file (without one, in the
    training file): accuracy and F1, with 95 % intervals. Without: how likely each finds votes that were
    hidden from it, how many answers stay the same from fit to fit, and who agrees with whom. Gold
    labels are for scoring only; clean labels of the project are learnt from, and the last column says
    so. bert-mlp-gold alone learns from the training file's gold labels. A method that cannot run is
    shown with its reason, and the others go on.

    \b
    Example:
      unruly compare spam --chart spam.png
      unruly compare spam --methods majority-vote,implyloss,default --seeds 5 -o spam.json
    """
    from unruly.cli.options import open_project
    from unruly.cli.screen import table_of
    from unruly_lab.compare import chart as comparison_chart
    from unruly_lab.compare import table as comparison_table
    from unruly_lab.compare.comparison import chosen, compare
    from unruly_lab.compare.task import task_of

    screen = Screen(quiet, as_json)
    entries = chosen(methods)
    opened = open_project(project, encoder)
    if output is not None:
        check_output(output, comparison_table.ENDINGS, opened.inputs())
    if chart is not None:
        check_output(chart, comparison_chart.ENDINGS, opened.inputs())
    progress = screen.progress()
    task = task_of(opened, progress)
    found = compare(task, entries, seeds=seeds, first_seed=opened.seed, progress=progress)
    screen.answer(found.to_plain())
    for header, rows in comparison_table.tables(found):
        screen.table(table_of(header, rows))
    for line in comparison_table.sentences(found):
        screen.say(line)
    if output is not None:
        comparison_table.write_comparison(found, output)
        screen.remark(f"{output} is written")
    if not found.ran:
        raise click.exceptions.Exit(NOBODY_RAN)
    if chart is not None:
        comparison_chart.draw_comparison(found, chart)
        screen.remark(f"{chart} is drawn")

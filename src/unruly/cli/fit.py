"""`unruly fit`: from a project to a saved model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unruly.cli.options import (
    bad_row_option,
    check_engine,
    check_output,
    check_typed,
    encoder_option,
    engine_options,
    json_option,
    output_option,
    quiet_option,
    setting_options,
    typed_settings,
)
from unruly.cli.screen import Screen
from unruly.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unruly.project.project import Project


@click.command()
@click.argument("project", type=click.Path(path_type=Path))
@output_option("The model file to write.")
@encoder_option
@click.option(
    "--prior",
    help='The class shares, if you know them: "0.9,0.1", "spam is about 1 in 8", uniform, or votes.',
)
@click.option("--method", type=click.Choice(["default", "paper"]), help="How to learn.")
@click.option("--seed", type=click.IntRange(0), help="All randomness comes from it.  [default: 0]")
@click.option(
    "--score/--no-score", default=True, help="Score against gold labels where there are any."
)
@click.option(
    "--no-excerpts",
    is_flag=True,
    help="Keep no beginnings of training texts in the model: explanations show no nearest documents.",
)
@click.option(
    "--sample",
    type=click.IntRange(0),
    default=200_000,
    show_default=True,
    help="Learn from at most so many documents, drawn at random, and from all that people labelled; 0: from all.",
)
@engine_options
@bad_row_option
@setting_options
@json_option
@quiet_option
@click.pass_context
def command(
    context: click.Context,
    project: Path,
    output: Path,
    encoder: tuple[str, ...],
    prior: str | None,
    method: str | None,
    seed: int | None,
    score: bool,
    no_excerpts: bool,
    sample: int,
    engine: str,
    address: str | None,
    workers: int | None,
    on_bad_row: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn a classifier from a project's rules and texts, and save it.

    No gold label is used in training, except those of labels.csv (or the file under `labels` in [data]),
    which `unruly label` writes, and those of the validation file when --method paper has --selection gold
    or --calibrate; the ledger that is printed, and kept in the model, lists them. Gold labels of the test file score the result; without a
    test file those of the training file do, which is optimistic. Options below override [encoder] and
    [train] of the project; those of another method than the one used are refused.

    With --engine ray the sample is drawn, matched and encoded by many workers, on one machine or a cluster; it is learnt from
    here, and nothing is scored.

    \b
    Example:
      unruly fit spam -o spam.unruly
      unruly fit spam -o spam.unruly --prior "spam is about 1 in 8"
      unruly fit spam -o spam.unruly --encoder lsa --method paper --hidden 64
    """
    from unruly.cli.documents import function_files, open_project

    screen = Screen(quiet, as_json)
    check_output(output)
    check_engine(engine, address, workers)
    opened = open_project(project, encoder, on_bad_row)
    opened = _with_options(opened, method, seed, typed_settings(context))
    if prior is not None:
        if opened.method == "paper":
            raise InputError("--prior is not used by --method paper: leave one of them out")
        opened = replace(opened, prior=prior)
    if engine == "ray":
        from unruly.distributed.learn import fit
        from unruly.distributed.run import Placement

        room = Path(f"{output.absolute()}.unfinished")
        placement = Placement(address, workers)
        model = fit(opened, room, sample=sample, placement=placement, progress=screen.progress())
        model.save(output)
        screen.answer({**model.summary_.to_plain(), "output": str(output)})
        screen.say(str(model.summary_))
        return
    fitted = opened.fit(screen.progress(), score=score, excerpts=not no_excerpts, sample=sample)
    fitted.model.save(output)
    screen.answer({**fitted.to_plain(), "output": str(output)})
    screen.say(str(fitted))
    for line in fitted.remarks():
        screen.remark(line)
    code = "".join(f" --functions {file}" for file in function_files(opened))
    screen.remark(f'{output} is ready, try: unruly explain {output}{code} "a text of yours"')


def _with_options(
    project: Project, method: str | None, seed: int | None, typed: Mapping[str, Any]
) -> Project:
    """The project with the method, the seed and the settings that were typed."""
    if method is not None and method != project.method:
        project = replace(project, method=method, settings=None)
    check_typed(typed, project.method)
    assert project.settings is not None
    if typed:
        project = replace(project, settings=replace(project.settings, **typed))
    return project if seed is None else replace(project, seed=seed)

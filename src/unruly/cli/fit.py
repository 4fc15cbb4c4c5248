"""`unruly fit`: from a project to a saved model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from unruly.cli.encoder_option import encoder_option, with_encoder
from unruly.cli.outputs import check_output
from unruly.cli.screen import Screen, json_option, quiet_option
from unruly.cli.setting_options import setting_options, typed_settings
from unruly.errors import InputError


@click.command()
@click.argument("project", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="The model file to write.",
)
@encoder_option
@click.option("--prior", help="The share of each class: uniform, votes, or numbers as in 0.9,0.1.")
@click.option(
    "--score/--no-score", default=True, help="Score against gold labels where there are any."
)
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
    score: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn a classifier from a project's rules and texts, and save it.

    No gold label is used in training. Labels of the file under `clean` in [data] are the exception,
    and those of the validation file when --selection gold or --calibrate asks for them; the ledger
    that is printed, and kept in the model, says so. Gold labels of the test file score the result;
    without a test file those of the training file do, which flatters. Options below override
    [encoder] and [train] of the project.

    \b
    Example:
      unruly fit spam -o spam.unruly
      unruly fit spam -o spam.unruly --encoder lsa --method paper --hidden 64
    """
    from unruly.cli.fitting import fit_project
    from unruly.project.project import Project

    screen = Screen(quiet, as_json)
    check_output(output)
    opened = Project.read(project)
    opened = replace(opened, settings=replace(opened.settings, **typed_settings(context)))
    opened = with_encoder(opened, encoder)
    if prior is not None:
        opened = replace(opened, prior=_prior(prior))
    fitted = fit_project(opened, screen.progress(), score=score)
    fitted.model.save(output)
    screen.answer({**fitted.to_plain(), "output": str(output)})
    screen.say(str(fitted))
    screen.remark(f'{output} is ready, try: unruly explain {output} "a text of yours"')


def _prior(typed: str) -> str | tuple[float, ...]:
    if not typed[:1].isdigit() and typed[:1] not in ".-":
        return typed
    try:
        return tuple(float(part) for part in typed.replace(",", " ").split())
    except ValueError:
        raise InputError(
            f"--prior {typed}: expected uniform, votes, or numbers as in 0.9,0.1"
        ) from None

"""`unruly diff`: what changed between two projects or two models."""

from __future__ import annotations

from pathlib import Path

import click

from unruly.cli.options import SPLITS, functions_option, json_option, quiet_option
from unruly.cli.screen import Screen
from unruly.errors import InputError


@click.command()
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="With two models: a file or project, to count the labels that differ.",
)
@click.option("--split", type=click.Choice(SPLITS), default="train", help="Which file to look at.")
@functions_option
@json_option
@quiet_option
def command(
    old: Path,
    new: Path,
    data: Path | None,
    split: str,
    functions: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Show what changed between two projects or two models.

    Of two projects (two states of the rules): the sources that were added, removed or edited, and how
    their votes differ on the documents of NEW. Of two models also reliabilities, settings and gold
    labels used, and with --data the labels that differ.

    \b
    Example:
      unruly diff spam-monday spam
      unruly diff old.unruly new.unruly --data test.csv
    """
    from unruly.cli.documents import load_model, named, open_project
    from unruly.model.storage import is_model
    from unruly.project.difference import compare_models, compare_projects

    screen = Screen(quiet, as_json)
    if is_model(old) != is_model(new):
        raise InputError(f"{old} and {new}: compare two models, or two projects")
    if is_model(old):
        models = [load_model(path, functions, data) for path in (old, new)]
        corpus = None
        if data is not None:
            corpus = named(data, split).read(models[1].class_names, split)
        difference = compare_models(models[0], models[1], corpus)
    else:
        difference = compare_projects(
            open_project(old), open_project(new), split, screen.progress()
        )
    screen.answer(difference.to_plain())
    screen.say(str(difference))

"""`unruly export`: a model as a folder for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from unruly.cli.options import functions_option, json_option, quiet_option
from unruly.cli.screen import Screen


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="The folder to make."
)
@click.option(
    "--card", is_flag=True, help="A model card as well: README.md, as Hugging Face shows."
)
@click.option("--onnx/--no-onnx", default=True, help="Write model.onnx, compared with the model.")
@functions_option
@json_option
@quiet_option
def command(
    model: Path,
    output: Path,
    card: bool,
    onnx: bool,
    functions: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Write a model as a folder for other programs.

    The folder holds the model, model.onnx (features and votes to probabilities, compared with the model on documents
    that it keeps), config.json, and a Dockerfile that installs from wheels beside it, without a network. Nothing is
    sent anywhere.

    \b
    Example:
      unruly export spam.unruly -o spam-model --card
      docker build -t spam spam-model
    """
    from unruly.export.folder import export

    screen = Screen(quiet, as_json)
    done = export(model, output, card=card, onnx=onnx, functions=functions)
    screen.answer(
        {
            "output": str(done.folder),
            "files": list(done.files),
            "compared": done.checked,
            "largest_difference": done.difference,
        }
    )
    screen.remark(f"{done.folder}: {', '.join(done.files)}")
    if done.checked is not None:
        screen.remark(
            f"model.onnx: on {done.checked:,} documents its probabilities differ by at most {done.difference:.1e}"
        )

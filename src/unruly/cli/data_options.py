"""The options that name columns and files of the data, the same on every command that reads a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., object])
SPLITS = ("train", "valid", "test")


def text_options(command: Command) -> Command:
    """`--text` and `--id`."""
    text = click.option("--text", help="The column with the texts, where that is not obvious.")
    ids = click.option("--id", "id_", help="The column with the ids.")
    return text(ids(command))


def label_option(command: Command) -> Command:
    """`--label`, where gold labels are used."""
    return click.option(
        "--label", help="The column with the gold labels; label or gold where there is one."
    )(command)


def split_option(command: Command) -> Command:
    """`--split`, where the data may be a project."""
    return click.option(
        "--split", type=click.Choice(SPLITS), default="test", help="Of a project: which file."
    )(command)

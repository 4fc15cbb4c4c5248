"""`--encoder`, the same on every command that reads a project's texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from unruly.project.project import Project

Command = TypeVar("Command", bound=Callable[..., object])


def encoder_option(command: Command) -> Command:
    """The option itself; it may be given several times."""
    return click.option(
        "--encoder",
        multiple=True,
        help="What reads the texts: auto, lsa, minilm, a folder or a hub name. Several may be given.",
    )(command)


def with_encoder(project: Project, typed: tuple[str, ...]) -> Project:
    """The project with the encoders that were typed; with its own where none was."""
    return replace(project, encoder=typed) if typed else project

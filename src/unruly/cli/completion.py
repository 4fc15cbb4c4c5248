"""`unruly completion`: tab completion for the user's shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the tab completion script of your shell.

    Have it read at every start of the shell: add the line below to ~/.bashrc (or ~/.zshrc with
    zsh); for fish, write the script to ~/.config/fish/completions/unruly.fish.

    \b
    Example:
      eval "$(unruly completion bash)"
    """
    from unruly.cli.main import cli

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "unruly", "_UNRULY_COMPLETE").source())

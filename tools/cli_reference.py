"""Prints docs/cli.md: the manual of the command line as Markdown, made from what `--help` prints."""

from __future__ import annotations

import click

from unruly.cli.main import ALONE, COMMANDS, cli

WIDTH = 100


def reference() -> str:
    """The page: `python tools/cli_reference.py > docs/cli.md` writes it anew."""
    root = click.Context(
        cli,
        info_name="unruly",
        obj=ALONE,
        max_content_width=WIDTH,
        terminal_width=WIDTH,
        help_option_names=["-h", "--help"],
    )
    parts = [
        "# The command line",
        "Made from `--help` itself, and tested against it.",
        _block(root, cli),
    ]
    for name in COMMANDS:
        command = cli.get_command(root, name)
        assert command is not None
        parts += _pages(command, name, root)
    return "\n\n".join(parts) + "\n"


def _pages(command: click.Command, name: str, above: click.Context) -> list[str]:
    """The command, and the commands below it."""
    here = click.Context(
        command, parent=above, info_name=name, max_content_width=WIDTH, terminal_width=WIDTH
    )
    parts = [f"## {here.command_path}", _block(here, command)]
    if isinstance(command, click.Group):
        for inner in command.list_commands(here):
            below = command.get_command(here, inner)
            assert below is not None
            parts += _pages(below, inner, here)
    return parts


def _block(context: click.Context, command: click.Command) -> str:
    return "```text\n" + command.get_help(context).rstrip() + "\n```"


if __name__ == "__main__":
    print(reference(), end="")

"""The options of `unruly fit`, made from the fields of `Settings`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from unruly.settings import Option, Settings

Command = TypeVar("Command", bound=Callable[..., object])
TYPED = "unruly.settings"  # where a command's context keeps them


def setting_options(command: Command) -> Command:
    """One option for each setting: `--learning-rate` for `learning_rate`."""
    for option in reversed(Settings.options()):
        command = _decorated(command, option)
    return command


def typed_settings(context: click.Context) -> dict[str, Any]:
    """The settings that were typed, by name; those that were not keep the project's value."""
    return dict(context.meta.get(TYPED, {}))


def _keep(context: click.Context, parameter: click.Parameter, value: object) -> None:
    if value is not None:
        context.meta.setdefault(TYPED, {})[parameter.name] = value


def _decorated(command: Command, option: Option) -> Command:
    flag, kind = option.flag, _kind(option)
    if option.range is None:
        flag += f"/--no-{flag.removeprefix('--')}"
    help = option.help[:1].upper() + option.help[1:] + "."
    if option.range is not None and option.default is not None:
        help += f"  [default: {option.default}]"
    return click.option(
        flag,
        option.name,
        type=kind,
        default=None,
        expose_value=False,
        callback=_keep,
        help=help,
    )(command)


def _kind(option: Option) -> Any:
    if option.range is None:
        return bool
    if option.range.choices:
        return click.Choice(option.range.choices)
    return int if option.range.whole else float

"""`unruly cache`: how much is kept from run to run, and emptying it."""

from __future__ import annotations

from typing import Protocol

import click

from unruly.cli.options import json_option, quiet_option
from unruly.cli.screen import Screen
from unruly.files import cache_folder


class Kept(Protocol):
    """Something on disk that may be emptied."""

    def size(self) -> int:
        """How many bytes it takes."""

    def clear(self) -> int:
        """Delete everything."""


@click.group(name="cache", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Show or empty the cache of votes and features.

    It makes second runs fast and may be emptied at any time. It lives in the folder $UNRULY_CACHE,
    else in the user's cache folder, and does not grow beyond a limit.

    \b
    Example:
      unruly cache info
      unruly cache clear
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@command.command()
@json_option
@quiet_option
def info(as_json: bool, quiet: bool) -> None:
    """Show where the cache is and how large.

    \b
    Example:
      unruly cache info
    """
    screen = Screen(quiet, as_json)
    sizes = {name: cache.size() for name, cache in _caches().items()}
    screen.answer({"folder": str(cache_folder()), "bytes": sizes})
    screen.say(f"{cache_folder()}")
    for name, size in sizes.items():
        screen.say(f"{name:10}{readable(size):>10}")


@command.command()
@json_option
@quiet_option
def clear(as_json: bool, quiet: bool) -> None:
    """Delete everything in the cache.

    \b
    Example:
      unruly cache clear
    """
    screen = Screen(quiet, as_json)
    freed = 0
    for cache in _caches().values():
        freed += cache.size()
        cache.clear()
    screen.answer({"folder": str(cache_folder()), "freed": freed})
    screen.remark(f"{cache_folder()}: {readable(freed)} freed")


def _caches() -> dict[str, Kept]:
    from unruly.features.cache import Cache as Features
    from unruly.rules.cache import Cache as Votes

    return {"votes": Votes.default(), "features": Features()}


def readable(size: int) -> str:
    """A number of bytes as people say it.

    >>> readable(0), readable(1536), readable(3_000_000_000)
    ('0 B', '1.5 KB', '2.8 GB')
    """
    amount, unit = float(size), "B"
    for larger in ("KB", "MB", "GB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"

"""`unruly`: finds the command, runs it, and turns every error into one line and an exit code; `unruly cache` and `completion`."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, TextIO

import click

from unruly import __version__
from unruly.cli.options import json_option, quiet_option
from unruly.cli.screen import Screen
from unruly.errors import BadRowError, InputError, UnrulyError, UnrulyWarning, first_line, harmless
from unruly.files import CacheFiles, cache_folder, os_reason
from unruly.wording import did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@dataclass(frozen=True)
class Entry:
    """A command: the function of its name in `unruly.cli.<home>`, imported only when it runs: help must be instant."""

    home: str
    about: str  # its first sentence


COMMANDS = {
    "new": Entry("rules", "Make a project: for your own file of texts, or a starter to try."),
    "check": Entry("rules", "Validate a project, run its rules' own examples, show its sources."),
    "vote": Entry("rules", "Apply the rules to the texts and write the vote matrix."),
    "label": Entry(
        "label",
        "Label a few documents of a project by hand, drawn so that estimates hold for all documents.",
    ),
    "fit": Entry("fit", "Learn a classifier from a project's rules and texts, and save it."),
    "predict": Entry("predict", "Label every text of a file."),
    "encode": Entry(
        "predict", "Write the features (embeddings) that a model computes for each text of a file."
    ),
    "evaluate": Entry("fit", "Score a model against gold labels."),
    "explain": Entry("inspect", "Show why a text gets its label."),
    "show": Entry("inspect", "Show the documents behind any figure of a project."),
    "suggest": Entry("suggest", "Suggest new rules, and say what is wrong with the old ones."),
    "diff": Entry("inspect", "Show what changed between two projects or two models."),
    "worth": Entry("fit", "Estimate how many hand labels a project's rules are worth."),
    "serve": Entry("serve", "Serve a model over HTTP."),
    "studio": Entry(
        "serve", "Write rules and watch them work, browse, label and train on one local page."
    ),
    "export": Entry("serve", "Write a model as a folder for other programs."),
    "report": Entry("inspect", "Write everything about a model into one HTML page."),
    "cache": Entry("main", "Show or empty the cache of votes and features."),
    "completion": Entry("main", "Print the tab completion script of your shell."),
}

# Commands of other distributions, which register them as entry points, and where to get them.
GROUP = "unruly.commands"
ALONE = "alone"  # the context's object where other packages are not to be listed
ELSEWHERE = {"compare": "unruly-lab", "bench": "unruly-lab"}

BAD_ROW = "--on-bad-row"

OK, BAD_INPUT, BUG, INTERRUPTED = 0, UnrulyError.exit_code, 70, 130


class Lazy(click.Group):
    """Knows its commands by name; imports one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *installed()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            home = importlib.import_module(f"unruly.cli.{COMMANDS[cmd_name].home}")
            command = getattr(home, cmd_name)
        elif cmd_name in (found := installed()):
            command = found[cmd_name].load()
        else:
            return None
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; of a row that cannot be read, say how to do without it, where the command can."""
        try:
            return super().invoke(ctx)
        except BadRowError as error:
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            if command is None or not any(BAD_ROW in known.opts for known in command.params):
                raise
            remedy = f"(or leave such rows out: {BAD_ROW} skip)"
            raise InputError(f"{error.message} {remedy}", where=error.where) from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-"):
            _check_known(args[0], ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.about) for name, entry in COMMANDS.items()])
        if ctx.obj != ALONE and (more := installed()):
            with formatter.section("Commands of other packages"):
                formatter.write_dl(
                    [
                        (name, f"From {one.dist.name}." if one.dist else "")
                        for name, one in more.items()
                    ]
                )


def installed() -> dict[str, EntryPoint]:
    """Commands that other distributions register, by name."""
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _check_known(name: str, ctx: click.Context) -> None:
    if name in COMMANDS or name in installed():
        return
    if name in ELSEWHERE:
        package = ELSEWHERE[name]
        raise click.UsageError(
            f"unruly {name} comes with {package}, which is not installed: pip install {package}, or in a checkout "
            "of unruly: pip install ./lab",
            ctx,
        )
    hint = did_you_mean(name, [*COMMANDS, *ELSEWHERE], "there are")
    raise click.UsageError(f"there is no command {name!r}: {hint}", ctx)


@click.group(
    cls=Lazy,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 all well, 1 examples or checks failed, 2 bad input, 70 a bug in unruly, "
    "130 interrupted.",
)
@click.version_option(__version__, prog_name="unruly")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def cli(ctx: click.Context, debug: bool) -> None:
    """Text classifiers learnt from rules that disagree.

    \b
    Example:
      unruly new spam
      unruly check spam
      unruly fit spam -o spam.unruly
      unruly explain spam.unruly "check out my channel"
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the tab completion script of your shell.

    Have it read at every start of the shell: add the line below to ~/.bashrc (or ~/.zshrc with
    zsh); for fish, write the script to ~/.config/fish/completions/unruly.fish.

    \b
    Example:
      eval "$(unruly completion bash)"
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "unruly", "_UNRULY_COMPLETE").source())


@click.group(name="cache", invoke_without_command=True)
@click.pass_context
def cache(context: click.Context) -> None:
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


@cache.command()
@json_option
@quiet_option
def info(as_json: bool, quiet: bool) -> None:
    """Show where the cache is and how large.

    \b
    Example:
      unruly cache info
    """
    screen = Screen(quiet, as_json)
    votes, features = _caches()
    sizes = {"votes": votes.size(), "features": features.size()}
    screen.answer({"folder": str(cache_folder()), "bytes": sizes})
    screen.say(f"{cache_folder()}")
    for name, size in sizes.items():
        screen.say(f"{name:10}{readable(size):>10}")


@cache.command()
@json_option
@quiet_option
def clear(as_json: bool, quiet: bool) -> None:
    """Delete everything in the cache.

    \b
    Example:
      unruly cache clear
    """
    screen = Screen(quiet, as_json)
    freed = sum(cache.clear() for cache in _caches())
    screen.answer({"folder": str(cache_folder()), "freed": freed})
    screen.remark(f"{cache_folder()}: {readable(freed)} freed")


def _caches() -> tuple[CacheFiles, CacheFiles]:
    from unruly.features.cache import FeatureCache
    from unruly.rules.matching import VoteCache

    return VoteCache.default().files, FeatureCache().files


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


def main(args: Sequence[str] | None = None) -> NoReturn:
    """The entry point of the command `unruly`."""
    given = list(sys.argv[1:] if args is None else args)
    gc.set_threshold(10_000)  # imports make 100,000 objects and no garbage to look for
    _mend_streams()
    signal.signal(signal.SIGTERM, _terminated)
    code = run(given)
    if code == INTERRUPTED:
        # A library that was interrupted while importing makes Python end by the signal, whatever the
        # exit code; all that had to be cleaned up has been.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    gc.freeze()  # or Python looks through all modules for garbage on its way out: an eighth of a second
    sys.exit(code)


def _mend_streams() -> None:
    """A screen that cannot show a sign, or is not there, is no reason to fail; nor is an input that is closed: it is empty."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(errors="replace")
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def run(args: Sequence[str]) -> int:
    """Run one command line; gives its exit code, having printed at most one line of error."""
    debug = "--debug" in args[:1]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what libraries say to each other
            warnings.filterwarnings("always", category=UnrulyWarning)
            warnings.showwarning = _Warnings()
            return _invoke(args)
    except (KeyboardInterrupt, click.Abort):
        after = "\n" if sys.stderr.isatty() else ""  # the terminal shows ^C
        return _fail("interrupted: nothing half-written is left", INTERRUPTED, prefix=after)
    except BrokenPipeError:  # the reader of a pipe has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except click.ClickException as error:
        return _fail(_usage(error), BAD_INPUT)
    except UnrulyError as error:
        if debug:
            _show_traceback()
        return _fail(str(error), error.exit_code)
    except OSError as error:
        if debug:
            _show_traceback()
        where = "" if error.filename is None else f"{error.filename}: "
        return _fail(f"{where}{os_reason(error)}", BAD_INPUT)
    except BaseException as error:
        if isinstance(error, SystemExit | GeneratorExit):
            raise
        if type(error).__name__ == "PanicException":  # polars', which is no Exception
            return _fail(f"polars cannot work with this data: {first_line(error)}", BAD_INPUT)
        if isinstance(error, MemoryError):
            return _fail(
                f"not enough memory: {str(error) or 'give it more, or less data'}", BAD_INPUT
            )
        if _interrupted(error):
            return _fail("interrupted: nothing half-written is left", INTERRUPTED, prefix="")
        if debug:
            _show_traceback()
        return _fail(
            f"unexpected {type(error).__name__}: {error}. This is a bug in unruly, please report it; "
            "`unruly --debug ...` shows the traceback",
            BUG,
        )


def _invoke(args: Sequence[str]) -> int:
    """Run without click's own handling of errors, which is not ours."""
    if "_UNRULY_COMPLETE" in os.environ:
        cli.main(prog_name="unruly")  # the shell asks for completions; does not return
    try:
        with cli.make_context("unruly", list(args)) as context:
            cli.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as left:
        return left.exit_code
    return OK


def _interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error: libraries may wrap it in one of their own."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


class _Warnings:
    """Shows a warning as one line, too, once for each command, and none when it is to be quiet."""

    def __init__(self) -> None:
        self._shown: set[str] = set()

    def __call__(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        text = harmless("warning: " + " ".join(str(message).splitlines()))
        context = click.get_current_context(silent=True)  # a server's threads have none
        if text in self._shown or (context is not None and context.params.get("quiet")):
            return
        self._shown.add(text)
        click.echo(text, err=True)


def _usage(error: click.ClickException) -> str:
    ctx = getattr(error, "ctx", None)
    where = f" (see {ctx.command_path} --help)" if ctx is not None else ""
    return error.format_message().rstrip(".") + where


def _fail(message: str, code: int, prefix: str = "error: ") -> int:
    line = harmless(prefix + " ".join(message.splitlines()))
    coloured = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    click.echo(click.style(line, fg="red") if coloured else line, err=True)
    return code


def _show_traceback() -> None:
    click.echo(harmless(traceback.format_exc()), err=True)


def _terminated(number: int, frame: FrameType | None) -> NoReturn:
    """Killed politely: leave through the clean-up, so that nothing half-written stays."""
    raise SystemExit(128 + number)

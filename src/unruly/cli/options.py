"""Options that several commands share, and the checks of what they name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from unruly.errors import InputError
from unruly.files import check_no_device

Command = TypeVar("Command", bound=Callable[..., object])
SPLITS = ("train", "valid", "test")
TABLES = (".parquet", ".csv", ".tsv", ".jsonl")
BAD_ROWS = ("error", "skip", "keep")


def quiet_option(command: Command) -> Command:
    """`--quiet`, the same on every command."""
    return click.option(
        "-q", "--quiet", is_flag=True, help="Print results and errors only: no bar, no remarks."
    )(command)


def json_option(command: Command) -> Command:
    """`--json`, the same on every command that has it."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")(
        command
    )


def functions_option(command: Command) -> Command:
    """`--functions`, the same on every command that reads a model."""
    return click.option(
        "--functions",
        type=click.Path(path_type=Path),
        multiple=True,
        help="A Python file with the model's rule functions: models carry no code.",
    )(command)


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


def bad_row_option(command: Command) -> Command:
    """`--on-bad-row`, where data is read, and `--skip-bad`, which is short for one of its values."""
    short = click.option(
        "--skip-bad",
        is_flag=True,
        expose_value=False,
        callback=_skip_bad,
        is_eager=True,
        help="Short for --on-bad-row skip; of a folder, files that cannot be read are left out and named.",
    )
    return click.option(
        "--on-bad-row",
        type=click.Choice(BAD_ROWS),
        default="keep",
        show_default=True,
        callback=_on_bad_row,
        help="Rows that cannot be used: keep rows without a text and stop at malformed ones, skip both, or "
        "stop at either (error).",
    )(short(command))


_SKIP_BAD = "unruly.skip_bad"  # where a command's context keeps the flag


def _skip_bad(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    context.meta[_SKIP_BAD] = value


def _on_bad_row(context: click.Context, parameter: click.Parameter, value: str) -> str:
    return "skip" if context.meta.get(_SKIP_BAD) else value


def engine_options(command: Command) -> Command:
    """`--engine`, `--address` and `--workers`, where the work can be spread over machines."""
    engine = click.option(
        "--engine",
        type=click.Choice(["local", "ray"]),
        default="local",
        show_default=True,
        help="ray: many workers, Parquet in, and a folder of Parquet files out.",
    )
    address = click.option(
        "--address",
        help="With --engine ray: the cluster (auto: the one of this machine); a local one if left out.",
    )
    workers = click.option(
        "--workers",
        type=click.IntRange(1),
        help="With --engine ray: how many.  [default: one for each processor of the cluster]",
    )
    return engine(address(workers(command)))


def check_engine(engine: str, address: str | None, workers: int | None) -> None:
    """Refuse options of a cluster where there is none.

    >>> check_engine("local", "auto", None)
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: --address and --workers are options of --engine ray: add it, or leave them out
    """
    if engine != "ray" and (address is not None or workers is not None):
        raise InputError(
            "--address and --workers are options of --engine ray: add it, or leave them out"
        )


def encoder_option(command: Command) -> Command:
    """`--encoder`; it may be given several times."""
    return click.option(
        "--encoder",
        multiple=True,
        help="What reads the texts: auto, lsa, minilm, a folder or a hub name. Several may be given.",
    )(command)


def output_option(help: str, required: bool = True) -> Callable[[Command], Command]:
    """`-o`, `--output`."""
    return click.option(
        "-o", "--output", type=click.Path(path_type=Path), required=required, help=help
    )


def check_output(path: Path, endings: Sequence[str] = ()) -> None:
    """Refuse, before any work, an output that cannot be written: ending, folder, permission.

    >>> check_output(Path("votes.xlsx"), TABLES)
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: votes.xlsx: cannot write '.xlsx' files: use .parquet, .csv, .tsv or .jsonl
    """
    if endings and path.suffix.lower() not in endings:
        known = " or ".join([", ".join(endings[:-1]), endings[-1]])
        what = f"{path.suffix!r} files" if path.suffix else "a file without an ending"
        raise InputError(f"{path}: cannot write {what}: use {known}")
    if path.is_dir():
        raise InputError(f"{path}: cannot write there: it is a folder, name a file")
    check_no_device(path)
    if not path.parent.is_dir():
        raise InputError(f"{path}: cannot write there: the folder {path.parent} does not exist")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise InputError(f"{path}: cannot write there: the folder {path.parent} is read-only")


def setting_options(command: Command) -> Command:
    """One option for each setting of each method: `--learning-rate` for `learning_rate`."""
    from unruly.model.methods import SETTINGS
    from unruly.options import Option

    owners: dict[str, list[str]] = {}
    options: dict[str, Option] = {}
    for method, kind in SETTINGS.items():
        for option in kind.options():
            owners.setdefault(option.name, []).append(method)
            options.setdefault(option.name, option)
    for name in reversed(options):
        only = owners[name][0] if len(owners[name]) == 1 else None
        command = _decorated(command, options[name], only)
    return command


_TYPED = "unruly.settings"  # where a command's context keeps them


def typed_settings(context: click.Context) -> Mapping[str, Any]:
    """The settings that were typed, by name."""
    return dict(context.meta.get(_TYPED, {}))


def check_typed(typed: Mapping[str, Any], method: str) -> None:
    """Refuse an option that the chosen method does not use.

    >>> check_typed({"epochs": 5}, "default")
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: --epochs is an option of --method paper: add it, or leave --epochs out
    """
    from unruly.model.methods import options_of_others

    others = options_of_others(method)
    for name in typed:
        if name in others:
            flag = "--" + name.replace("_", "-")
            raise InputError(
                f"{flag} is an option of --method {others[name]}: add it, or leave {flag} out"
            )


def _keep(context: click.Context, parameter: click.Parameter, value: object) -> None:
    if value is not None:
        context.meta.setdefault(_TYPED, {})[parameter.name] = value


def _decorated(command: Command, option: Any, method: str | None) -> Command:
    flag, kind = option.flag, _kind(option)
    if option.range is None:
        flag += f"/--no-{flag.removeprefix('--')}"
    help = option.help[:1].upper() + option.help[1:] + "."
    if method == "paper":
        help = f"--method paper: {option.help}."
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


def _kind(option: Any) -> Any:
    if option.range is None:
        return bool
    if option.range.choices:
        return click.Choice(option.range.choices)
    return int if option.range.whole else float

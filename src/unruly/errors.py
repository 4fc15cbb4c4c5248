"""Every error that a user can cause: where it happened, what was found, and what to do, in one line.

`need` is the one guard for optional libraries: it imports them late, and names the extra when they are missing. Errors of
other libraries are turned into ours by `panics_of` and `polars_errors`.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import ModuleType
from typing import Self

# Libraries with telemetry, and the environment variable that turns it off.
_TELEMETRY_OFF = {
    "onnxruntime": ("ORT_DISABLE_TELEMETRY", "1"),
    "ray": ("RAY_USAGE_STATS_ENABLED", "0"),
}

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    r"""The text without signs that a terminal obeys: escapes, and those that turn the direction of writing.

    A carriage return before a line feed is part of a line break.

    >>> print(harmless("\x1b[2Jgone, \u202etxet\r\nand\ron"))
    \u001b[2Jgone, \u202etxet
    and\u000don
    """
    breaks = text.replace("\r\n", "\n")
    return _CONTROLS.sub(lambda found: f"\\u{ord(found.group()):04x}", breaks)


@dataclass(frozen=True)
class Where:
    """Where an error is, as far as known: a file and its line, a row, a rule.

    >>> print(Where(file="comments.csv", line=7))
    comments.csv, line 7
    >>> print(Where(file="unruly.toml", line=12, source="links", rule=2, id=7))
    unruly.toml:12: source 'links', rule 2, row id 7
    """

    file: str | None = None  # or the name of what was read, such as "frame"
    line: int | None = None  # of that file, from 1
    row: int | None = None  # of the documents, from 0
    rule: int | None = None  # of its source, from 1
    source: str | None = None
    column: str | None = None
    id: str | int | None = None  # of the document
    keys: tuple[str | int, ...] | None = None  # that lead there in a project file, for programs

    def __str__(self) -> str:
        place = [] if self.file is None else [self.file]
        if self.line is not None:
            if self.file is not None and self.file.endswith(".toml"):
                place = [f"{self.file}:{self.line}"]  # as editors and compilers write it
            else:
                place.append(f"line {self.line}")
        rule = [] if self.source is None else [f"source {self.source!r}"]
        if self.rule is not None:
            rule.append(f"rule {self.rule}")
        document = [] if self.row is None else [f"row {self.row}"]
        if self.id is not None:
            document.append(f"row id {self.id!r}")
        if self.column is not None:
            document.append(f"column {self.column!r}")
        groups = (place, [*rule, *document]) if rule else ([*place, *document],)
        return ": ".join(", ".join(group) for group in groups if group)

    def within(self, outer: Where) -> Where:
        """The same place, with what only `outer` knows filled in.

        >>> print(Where(source="links").within(Where(file="unruly.toml", line=3)))
        unruly.toml:3: source 'links'
        """
        gaps = [f.name for f in fields(self) if getattr(self, f.name) is None]
        return replace(self, **{name: getattr(outer, name) for name in gaps})


class UnrulyError(Exception):
    """The one base of all errors that unruly raises on purpose.

    `message` says what was found and the remedy; `where` is the place, for programs to read. The
    text of the error is both, in one line and harmless to a terminal: either may quote a file from somebody else.

    >>> str(UnrulyError("the text is missing", where=Where(file="comments.csv", line=7)))
    'comments.csv, line 7: the text is missing'
    >>> str(UnrulyError("there is no column 'a\\nb'"))
    "there is no column 'a b'"
    """

    exit_code = 2

    def __init__(self, message: str = "", *, where: Where | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where

    def __str__(self) -> str:
        place = "" if self.where is None else str(self.where)
        text = f"{place}: {self.message}" if place else self.message
        return harmless(" ".join(text.splitlines()))

    def located(self, where: Where) -> Self:
        """The same error, with gaps in its place filled from `where`."""
        error = copy(self)
        error.where = (self.where or Where()).within(where)
        return error


class InputError(UnrulyError, ValueError):
    """A data file or a value given by the user cannot be used."""


class BadRowError(InputError):
    """A row of a data file cannot be read. The others can, without it: `on_bad_row="skip"`."""


class ProjectError(UnrulyError):
    """A project file (`unruly.toml`) is wrong."""


class RuleError(UnrulyError):
    """A rule is wrong, or failed on a document."""


class PatternSizeError(RuleError):
    """A pattern is too large to be compiled."""


class ExampleError(UnrulyError):
    """A rule contradicts its own examples."""

    exit_code = 1


class SettingsError(UnrulyError, ValueError):
    """A setting is unknown or out of range; `option` is its name, if it is a single one."""

    def __init__(
        self, message: str = "", *, where: Where | None = None, option: str | None = None
    ) -> None:
        super().__init__(message, where=where)
        self.option = option


class ModelFileError(UnrulyError):
    """A saved model is damaged, truncated, or of a newer format."""


class MissingExtraError(UnrulyError, ImportError):
    """An optional library is needed and not installed."""


class UnrulyWarning(UserWarning):
    """Something that a user should know, and that stops nothing."""


def warn(message: str, category: type[UnrulyWarning] = UnrulyWarning) -> None:
    """A warning at the line that led here from outside of this package: the user's own, however deep we are."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("unruly."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def not_fitted(message: str) -> Exception:
    """scikit-learn's own error for a model that is used before `fit`, to be raised.

    >>> not_fitted("call fit(votes) first")
    NotFittedError('call fit(votes) first')
    """
    from sklearn.exceptions import NotFittedError

    error: Exception = NotFittedError(message)
    return error


def first_line(error: BaseException) -> str:
    """The first line of what an exception says, cut where it is long; its type where it says nothing.

    >>> first_line(ValueError("no such column\\nin the table")), first_line(ValueError())
    ('no such column', 'ValueError')
    """
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def need(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional library with its telemetry off, or say which extra installs it.

    >>> need("json", extra="none", purpose="this example").__name__
    'json'
    >>> need("no_such_library", extra="spacy", purpose="entity rules")
    Traceback (most recent call last):
    ...
    unruly.errors.MissingExtraError: entity rules need the library no_such_library, which is not installed: pip install 'unruly[spacy]'
    """
    top = module.partition(".")[0]
    if top in _TELEMETRY_OFF:
        name, value = _TELEMETRY_OFF[top]
        os.environ[name] = value
    missing = MissingExtraError(
        f"{purpose} need the library {top}, which is not installed: pip install 'unruly[{extra}]'"
    )
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] != top:
            raise  # the library is there; something that it needs is not
        raise missing from None
    spec = getattr(found, "__spec__", None)
    if spec is not None and spec.origin is None:
        raise missing  # a folder of that name, which Python takes for a package
    return found


@contextmanager
def panics_of(library: str, where: str) -> Iterator[None]:
    """Turn a panic of a library written in Rust, which is no `Exception`, into one `InputError`."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise InputError(
            f"{where}: {library} cannot work with this ({first_line(error)})"
        ) from None


@contextmanager
def polars_errors(path: str | Path, kind: str) -> Iterator[None]:
    """Turn whatever polars raises over a damaged file, Rust panics included, into an `InputError`.

    >>> import polars as pl
    >>> with polars_errors("x.parquet", "Parquet"):
    ...     raise pl.exceptions.ComputeError("out of specification")
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: x.parquet: cannot be read as Parquet (out of specification): is it whole, and is its ending right?
    """
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise InputError(
            f"cannot be read as {kind} ({first_line(error)}): is it whole, and is its ending right?",
            where=Where(str(path)),
        ) from None

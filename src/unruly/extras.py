"""The one guard for optional libraries: import them late, and name the extra when they are missing."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from unruly.errors import InputError, MissingExtraError

# Libraries that report their use to their makers when they are imported, and the setting that forbids it.
_TELEMETRY_OFF = {
    "onnxruntime": ("ORT_DISABLE_TELEMETRY", "1"),
    "ray": ("RAY_USAGE_STATS_ENABLED", "0"),
}


def need(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional library with its telemetry off, or say which extra brings it.

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
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] != top:
            raise  # the library is there; something that it needs is not
        raise MissingExtraError(
            f"{purpose} need the library {top}, which is not installed: pip install 'unruly[{extra}]'"
        ) from None


@contextmanager
def panics_of(library: str, where: str) -> Iterator[None]:
    """Turn a panic of a library written in Rust, which is no `Exception`, into one `InputError`."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        first = next(iter(str(error).splitlines()), "")[:200]
        raise InputError(f"{where}: {library} cannot work with this ({first})") from None

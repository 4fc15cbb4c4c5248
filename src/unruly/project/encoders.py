"""`[encoder]`: misspelt names and options are refused with their line, before any work is done."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from unruly.errors import ProjectError, SettingsError, UnrulyError
from unruly.project.project import EncoderSpec
from unruly.project.table import Table

PLAIN_NAMES = ("auto", "lsa", "minilm")  # nothing to check, so nothing heavy to import


def check_encoder(document: Table, spec: EncoderSpec, folder: Path) -> None:
    """Hold the project's choice against what the encoders know.

    What only this machine lacks (a library, a network, a file) is no mistake in the project file: it
    is said when features are wanted.
    """
    items = spec if isinstance(spec, tuple) else (spec,)
    for i, item in enumerate(items):
        steps: tuple[str | int, ...] = ("encoder", i) if isinstance(spec, tuple) else ("encoder",)
        if item not in PLAIN_NAMES:
            _check_one(document, item, steps, folder)


def _check_one(
    document: Table, item: str | Mapping[str, object], steps: tuple[str | int, ...], folder: Path
) -> None:
    from unruly.features.spec import encoder_from

    try:
        encoder_from(item, folder)
    except SettingsError as error:
        options = item if isinstance(item, Mapping) and "name" in item else {}
        words = re.findall(r"\w+", str(error))
        option = next((key for key in options if key != "name" and key in words), None)
        place = steps if option is None else (*steps, option)
        raise ProjectError(f"{document.at(*place)}: {error}") from None
    except UnrulyError:
        return

"""What is typed as a source: read like a part of the project file, and held to what a browser may ask for.

Paths must stay in the project's folder, models as well. Python runs only from files that the saved project names,
and types that a classifier's file may hold are trusted only where the saved project trusts them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from unruly.errors import RuleError
from unruly.project.file import rule_space
from unruly.project.toml_table import Table
from unruly.rules.classifier import Classifier
from unruly.rules.describe import descriptions_of
from unruly.rules.entity import MODEL, Entity
from unruly.rules.function import Function
from unruly.rules.plain import source_from_plain
from unruly.rules.source import Source
from unruly.studio.state import State

FILE_KEYS = ("keywords_file", "file")  # whose values are paths
MODELS = ("classifier", "entity")  # whose `model` may be a path


def parse_source(text: str, state: State) -> Source:
    """The one source that a piece of TOML describes."""
    table = Table.parse(text, "rule")
    table.only(("source",))
    tables = table.tables("source")
    if len(tables) != 1:
        raise table.error("write one [[source]] with its rules" if not tables else "one at a time")
    one = tables[0]
    _check(one.values, state)
    found = (descriptions_of(source) for source in state.project.sources.sources)
    return source_from_plain(
        one.values,
        state.classes,
        state.folder,
        lambda path: one.where(*path),
        state.once("space", lambda: rule_space(state.project)),
        next((known for known in found if known is not None), None),
    )


def _check(values: Mapping[str, Any], state: State) -> None:
    saved = [rule.when for source in state.project.sources.with_disabled for rule in source.rules]
    files = {when.file for when in saved if isinstance(when, Function)}
    models = {MODEL} | {when.model for when in saved if isinstance(when, Classifier | Entity)}
    trusted = {one for when in saved if isinstance(when, Classifier) for one in when.trusted}
    for kind, key, value in _pairs(values):
        if key in FILE_KEYS and kind != "function" and isinstance(value, str):
            _inside(value, state.folder)
        elif kind == "function" and key == "file" and value not in files:
            raise RuleError(
                f"the project file does not name {value!r}: Python is run only from files "
                "that it names; add the source there in an editor"
            )
        elif kind in MODELS and key == "model" and isinstance(value, str) and value not in models:
            _inside(value, state.folder)
            if value and not (state.folder / value).exists():
                raise RuleError(f"there is no model {value!r} in the project's folder")
        elif kind == "classifier" and key == "trusted" and not set(map(str, value)) <= trusted:
            raise RuleError(
                "types that a model file may hold are trusted in an editor, not in the browser"
            )


def _pairs(value: object, kind: str = "", key: str = "") -> Iterator[tuple[str, str, Any]]:
    """Every key with the kind of rule that it stands in, and its value."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _pairs(inner, key or kind, str(name))
        return
    yield kind, key, value
    for inner in value if isinstance(value, list) else ():
        if isinstance(inner, Mapping | list):
            yield from _pairs(inner, "", "")


def _inside(value: str, folder: Path) -> None:
    root = folder.resolve()
    if not (root / value).resolve().is_relative_to(root):
        raise RuleError(f"{value!r} is outside the project's folder: copy the file into it")

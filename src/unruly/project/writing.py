"""A `Project` to `unruly.toml`, written the way a person would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import AoT, Item, Table

from unruly.files import written_whole
from unruly.project.data import DataFiles, data_keys
from unruly.project.project import FILE_NAME, Project
from unruly.rules.plain import source_to_plain
from unruly.settings import Settings

LONG = 80  # columns: longer lists get one line for each item


def write_project(project: Project, path: Path) -> Path:
    """Write the file; gives its path."""
    target = path if path.suffix == ".toml" else path / FILE_NAME
    with written_whole(target) as part:
        part.write_text(to_toml(project), encoding="utf-8")
    return target


def to_toml(project: Project) -> str:
    """The text of the project file: only what differs from the defaults."""
    document = tomlkit.document()
    if project.encoder != "auto" and not isinstance(project.encoder, Mapping):
        document.add("encoder", _item(project.encoder))  # bare keys stand before all tables
    document.add("task", _task(project))
    if project.data != DataFiles():
        document.add("data", _table(_given(project.data)))
    document.add("source", _sources(project))
    if isinstance(project.encoder, Mapping):
        document.add("encoder", _table(project.encoder))
    if changed := _changed(project.settings):
        document.add("train", _table(changed))
    return tomlkit.dumps(document)


def _task(project: Project) -> Table:
    values: dict[str, Any] = {"classes": project.classes}
    if project.prior is not None:
        values["prior"] = project.prior
    return _table(values)


def _given(data: DataFiles) -> dict[str, str]:
    values = {key: getattr(data, key) for key in data_keys()}
    return {key: value for key, value in values.items() if value is not None}


def _changed(settings: Settings) -> dict[str, Any]:
    plain, usual = settings.to_plain(), Settings().to_plain()
    return {key: value for key, value in plain.items() if value != usual.get(key)}


def _sources(project: Project) -> AoT:
    blocks = tomlkit.aot()
    for source in project.sources.sources:
        plain = dict(source_to_plain(source))
        rules = plain.pop("rule")
        block = _table(plain)
        written = tomlkit.aot()
        assert isinstance(rules, Sequence)
        for rule in rules:
            assert isinstance(rule, Mapping)
            written.append(_table(rule))
        block.add("rule", written)
        blocks.append(block)
    return blocks


def _table(values: Mapping[str, Any]) -> Table:
    table = tomlkit.table()
    for key, value in values.items():
        table.add(key, _item(value))
    return table


def _item(value: object) -> Item:
    """A value on the right of an equals sign: tables in braces, patterns in single quotes."""
    if isinstance(value, Mapping):
        braces = tomlkit.inline_table()
        for key, inner in value.items():
            braces.append(key, _item(inner))
        return braces
    if isinstance(value, list | tuple):
        items = [_item(inner) for inner in value]
        brackets = tomlkit.array()
        brackets.extend(items)
        plain = not any(isinstance(inner, Mapping | list | tuple) for inner in value)
        return brackets.multiline(plain and sum(len(item.as_string()) + 2 for item in items) > LONG)
    if isinstance(value, str):
        literal = "\\" in value and "'" not in value and value.isprintable()
        return tomlkit.string(value, literal=literal)
    return tomlkit.item(value)

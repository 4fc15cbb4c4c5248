"""`unruly.toml` to a `Project`; whatever is wrong is refused with its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unruly.errors import ProjectError, SettingsError
from unruly.project.data import DataFiles, data_keys
from unruly.project.encoders import check_encoder
from unruly.project.project import (
    FILE_NAME,
    EncoderSpec,
    Prior,
    Project,
    check_classes,
    check_prior,
)
from unruly.project.table import Table, found_as
from unruly.rules.place import Where
from unruly.rules.plain import source_from_plain
from unruly.rules.source import Source
from unruly.rules.sources import Sources
from unruly.settings import Settings

SECTIONS = ("task", "data", "source", "encoder", "train")


def read_project(path: Path) -> Project:
    """The project in a folder, or in the TOML file itself."""
    file = project_file(path)
    document = Table.read(file)
    document.only(SECTIONS)
    classes = _classes(document)
    return Project(
        sources=_sources(document, classes, file.parent),
        data=_data(document.table("data")),
        prior=_prior(document.table("task"), classes),
        encoder=_encoder(document, file.parent),
        settings=_settings(document.table("train")),
        folder=file.parent,
        file=file,
    )


def project_file(path: Path) -> Path:
    """The TOML file of a project that is named by its folder or by the file itself."""
    file = path / FILE_NAME if path.is_dir() else path
    if file.is_file():
        return file
    if path.is_dir():
        raise ProjectError(
            f"{path}: no {FILE_NAME} in this folder: `unruly new NAME` makes a project"
        )
    raise ProjectError(f"{path}: there is no such project: `unruly new {path}` makes one")


@contextmanager
def _blamed(table: Table, *steps: str | int) -> Iterator[None]:
    """Put the line in front of an error that does not know it."""
    try:
        yield
    except ProjectError as error:
        raise table.error(str(error), *steps) from None


def _classes(document: Table) -> tuple[str, ...]:
    if "task" not in document.values:
        raise document.error('no [task]: begin with [task] and classes = ["ham", "spam"]')
    task = document.table("task")
    task.only(("classes", "prior"))
    classes = task.texts("classes")
    with _blamed(task, "classes"):
        check_classes(classes)
    return classes


def _prior(task: Table, classes: tuple[str, ...]) -> Prior:
    found = task.values.get("prior")
    prior: Prior
    if found is None or isinstance(found, str):
        prior = found
    elif isinstance(found, list):
        prior = tuple(_share(task, i, item) for i, item in enumerate(found))
    else:
        raise task.error(
            f"prior: expected 'uniform', 'votes' or a list of numbers, found {found_as(found)}",
            "prior",
        )
    with _blamed(task, "prior"):
        check_prior(prior, classes)
    return prior


def _share(task: Table, i: int, item: object) -> float:
    if isinstance(item, bool) or not isinstance(item, int | float):
        raise task.error(f"prior: expected a number, found {found_as(item)}", "prior", i)
    return float(item)


def _data(table: Table) -> DataFiles:
    table.only(data_keys())
    return DataFiles(**{key: table.text(key) for key in table.values})


def _settings(table: Table) -> Settings:
    options = {option.name: option for option in Settings.options()}
    table.only(options)
    for key in table.values:
        try:
            Settings.from_plain({key: table.values[key]}, table.at(key))
        except SettingsError as error:
            if f": {key} = " in str(error):  # else it is two settings that do not go together
                raise
    return Settings.from_plain(table.values, table.at())


def _sources(document: Table, classes: tuple[str, ...], folder: Path) -> Sources:
    tables = document.tables("source")
    if not tables:
        raise document.error(
            "no sources: add at least one [[source]] with a name and a rule", "source"
        )
    read: dict[str, Source] = {}
    for table in tables:
        source = source_from_plain(table.values, classes, folder, _where(table))
        if source.name in read:
            first = tables[list(read).index(source.name)].at("name")
            raise table.error(
                f"two sources are named {source.name!r} (the first at {first}): give each its own name",
                "name",
            )
        read[source.name] = source
    return Sources(classes, tuple(read.values()))


def _where(table: Table) -> Where:
    return lambda path: table.at(*path)


def _encoder(document: Table, folder: Path) -> EncoderSpec:
    """A name, a table with a name and options, or a list of these."""
    spec = _encoder_spec(document)
    check_encoder(document, spec, folder)
    return spec


def _encoder_spec(document: Table) -> EncoderSpec:
    found = document.values.get("encoder", "auto")
    if isinstance(found, list):
        if not found:
            raise document.error("encoder: the list is empty: name one, or leave it out", "encoder")
        return tuple(_one_encoder(document, item, "encoder", i) for i, item in enumerate(found))
    return _one_encoder(document, found, "encoder")


def _one_encoder(document: Table, found: object, *steps: str | int) -> str | Mapping[str, Any]:
    if isinstance(found, str) and found:
        return found
    if isinstance(found, dict):
        return found
    raise document.error(
        f'encoder: expected a name, as in encoder = "minilm", a table, or a list of these, '
        f"found {found_as(found)}",
        *steps,
    )

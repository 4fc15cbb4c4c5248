"""`unruly.toml` to a `Project` and back; whatever is wrong is refused with its line.

It is written the way a person would: only what differs from the defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from unruly.errors import ProjectError, SettingsError, UnrulyError, Where
from unruly.files import written_whole
from unruly.prior import StatedBalance, parse_prior
from unruly.project import FILE_NAME
from unruly.project.project import (
    DataFiles,
    EncoderSpec,
    Prior,
    Project,
    check_classes,
    data_keys,
)
from unruly.project.toml import Table, found_as, toml_pairs
from unruly.rules.condition import Space
from unruly.rules.regular_expressions import Allowance
from unruly.rules.similar import (
    DESCRIBE,
    described_source,
    description_to_plain,
    descriptions_of,
)
from unruly.rules.source import Source, source_from_plain, source_to_plain
from unruly.rules.sources import Sources
from unruly.settings import SETTINGS, options_of_others
from unruly.wording import did_you_mean, near_file

SECTIONS = ("task", "data", "source", "encoder", "train")


def read_project(
    path: Path, *, may_be_empty: bool = False, encoder: EncoderSpec | None = None
) -> Project:
    """The project in a folder, or in the TOML file itself; one without a source only where it may be.

    An `encoder` counts in place of the file's, in rules that compare texts, too.
    """
    file = project_file(path)
    return _project(Table.read(file), file, may_be_empty, encoder)


def parse_project(text: str, file: Path, *, may_be_empty: bool = False) -> Project:
    """The project that a text means, as if it were read from the file: a preview of an edit."""
    return _project(Table.parse(text, str(file)), file, may_be_empty)


def _project(
    document: Table, file: Path, may_be_empty: bool, typed: EncoderSpec | None = None
) -> Project:
    document.only(SECTIONS)
    classes = _classes(document)
    data, encoder = _data(document.table("data")), _encoder(document, file.parent)
    encoder = encoder if typed is None else typed
    return Project(
        sources=_sources(
            document, classes, file.parent, _space(encoder, data, file, classes), may_be_empty
        ),
        data=data,
        prior=_prior(document.table("task"), classes),
        encoder=encoder,
        **_training(document.table("train")),
        folder=file.parent,
        file=file,
    )


def project_file(path: Path) -> Path:
    """The TOML file of a project that is named by its folder or by the file itself."""
    file = path / FILE_NAME if path.is_dir() else path
    if file.is_file():
        return file
    if path.is_dir():
        if file.exists() or path.name == FILE_NAME:
            raise ProjectError(
                f"{FILE_NAME} is not a file, but a folder, a pipe or a device",
                where=Where(str(path)),
            )
        raise ProjectError(
            f"no {FILE_NAME} in this folder: `unruly new NAME` makes a project",
            where=Where(str(path)),
        )
    raise ProjectError(
        f"there is no such project: {near_file(path) or f'`unruly new {path}` makes one'}",
        where=Where(str(path)),
    )


def _classes(document: Table) -> tuple[str, ...]:
    if "task" not in document.values:
        raise document.error('no [task]: begin with [task] and classes = ["ham", "spam"]')
    task = document.table("task")
    task.only(("classes", "prior", "describe"))
    classes = task.texts("classes")
    try:
        check_classes(classes)
    except ProjectError as error:
        raise error.located(task.where("classes")) from None
    return classes


def _prior(task: Table, classes: tuple[str, ...]) -> Prior:
    found: Any = task.values.get("prior")
    try:
        parse_prior(found, classes)
    except SettingsError as error:
        raise task.error(error.message, "prior") from None
    return tuple(found) if isinstance(found, list) else found


def _data(table: Table) -> DataFiles:
    table.only(data_keys())
    return DataFiles(**{key: table.text(key) for key in table.values})


def _training(table: Table) -> dict[str, Any]:
    """`[train]`: the method, the seed, and the method's own options; those of others are refused."""
    method = table.text("method") or "default"
    if method not in SETTINGS:
        hint = did_you_mean(method, SETTINGS, "must be one of")
        raise SettingsError(f"method = {method!r}: {hint}", where=table.where("method"))
    seed = table.values.get("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise SettingsError(
            f"seed = {seed!r}: must be a whole number, 0 or more", where=table.where("seed")
        )
    own = {k: v for k, v in table.values.items() if k not in ("method", "seed")}
    others = options_of_others(method)
    for key in own:  # one by one, so that the error has its line
        try:
            SETTINGS[method].from_plain({key: own[key]}, elsewhere=others)
        except SettingsError as error:
            if error.option is not None:  # else it is two settings that do not go together
                raise SettingsError(error.message, where=table.where(key), option=key) from None
    try:
        settings = SETTINGS[method].from_plain(own)
    except SettingsError as error:
        raise SettingsError(error.message, where=table.where()) from None
    return {"method": method, "seed": seed, "settings": settings}


def rule_space(project: Project) -> Space | None:
    """The encoder of a project as a rule sees it that is not in its file yet."""
    file = project.file or project.folder / FILE_NAME
    return _space(project.encoder, project.data, file, project.classes)


def _space(
    encoder: EncoderSpec, data: DataFiles, file: Path, classes: tuple[str, ...]
) -> Space | None:
    """The encoder as rules see it; nothing is opened before a rule asks."""
    from unruly.features.encoder import TextSpace

    folder = file.parent
    # Bad rows are reported where the documents themselves are read.
    kind = replace(data, on_bad_row="skip")
    return TextSpace(encoder, lambda: kind.read("train", folder, classes), folder, kept=True)


def _descriptions(task: Table, classes: tuple[str, ...]) -> dict[str, str]:
    """`[task.describe]`: what each class means, in the order of the classes; all of them or none.

    A list of texts is a description of as many lines.
    """
    table = task.table("describe")
    table.only(classes)
    found = {
        name: "\n".join(table.texts(name) or ())
        if isinstance(table.values[name], list)
        else table.text(name) or ""
        for name in classes
        if name in table.values
    }
    missing = [name for name in classes if not found.get(name, "").strip()]
    if found and missing:
        raise table.error(f"{missing[0]!r} has no description: describe every class")
    return found


def _sources(
    document: Table,
    classes: tuple[str, ...],
    folder: Path,
    space: Space | None,
    may_be_empty: bool,
) -> Sources:
    tables = document.tables("source")
    task = document.table("task")
    descriptions = _descriptions(task, classes)
    if not tables and not descriptions and not may_be_empty:
        raise document.error(
            "no sources: add at least one [[source]] with a name and a rule, or describe the classes in "
            "[task.describe]",
            "source",
        )
    read: dict[str, Source] = {}
    allowance = Allowance()
    for table in tables:
        place = partial(_where, table)
        source = source_from_plain(
            table.values, classes, folder, place, space, descriptions, allowance
        )
        if source.name in read:
            first = tables[list(read).index(source.name)].where("name")
            raise table.error(
                f"two sources are named {source.name!r} (the first at {first}): give each its own name",
                "name",
            )
        read[source.name] = source
    if descriptions:
        if DESCRIBE in read:
            odd = tables[list(read).index(DESCRIBE)]
            raise odd.error(f"{DESCRIBE!r} is the source of [task.describe]: rename this", "name")
        read[DESCRIBE] = described_source(descriptions, space)
    if not may_be_empty and not any(source.enabled for source in read.values()):
        raise document.error("all sources are disabled: enable at least one", "source")
    return Sources(classes, tuple(read.values()))


def _where(table: Table, path: tuple[str | int, ...]) -> Where:
    return table.where(*path)


PLAIN_NAMES = ("auto", "lsa", "minilm")  # nothing to check, so nothing heavy to import


def _encoder(document: Table, folder: Path) -> EncoderSpec:
    """A name, a table with a name and options, or a list of these, held against what the encoders know.

    What only this machine lacks (a library, a network, a file) is no mistake in the project file: it is
    reported when features are needed.
    """
    found: Any = document.values.get("encoder", "auto")
    several = isinstance(found, list)
    if several and not found:
        raise document.error("encoder: the list is empty: name one, or leave it out", "encoder")
    for i, item in enumerate(found if several else [found]):
        place: tuple[str | int, ...] = ("encoder", i) if several else ("encoder",)
        if not isinstance(item, dict) and not (isinstance(item, str) and item):
            raise document.error(
                'encoder: expected a name, as in encoder = "minilm", a table, or a list of these, '
                f"found {found_as(item)}",
                *place,
            )
        if item not in PLAIN_NAMES:
            from unruly.features.registry import encoder_from

            try:
                encoder_from(item, folder)
            except SettingsError as error:
                option = () if error.option is None else (error.option,)
                raise document.error(error.message, *place, *option) from None
            except UnrulyError:
                continue
    return tuple(found) if several else found


def write_project(project: Project, path: Path) -> Path:
    """Write the file; gives its path."""
    target = path if path.suffix == ".toml" else path / FILE_NAME
    with written_whole(target) as part:
        part.write_text(to_toml(project), encoding="utf-8")
    return target


def to_toml(project: Project) -> str:
    """The text of the project file: only what differs from the defaults."""
    task: dict[str, Any] = {"classes": project.classes}
    if (stated := project.prior) is not None:
        task["prior"] = stated.to_plain() if isinstance(stated, StatedBalance) else stated
    parts, encoder = [f"[task]\n{toml_pairs(task)}"], project.encoder
    for source in project.sources.sources:
        if (descriptions := descriptions_of(source)) is not None:
            plain = {name: description_to_plain(about) for name, about in descriptions.items()}
            parts.append(f"[task.describe]\n{toml_pairs(plain)}")
    if encoder != "auto" and not isinstance(encoder, Mapping):
        parts.insert(0, toml_pairs({"encoder": encoder}))  # bare keys come before all tables
    if project.data != DataFiles():
        parts.append(f"[data]\n{toml_pairs(_given(project.data))}")
    for source in project.sources.with_disabled:
        if descriptions_of(source) is None:  # else it is in [task.describe]
            parts.append(source_block(source_to_plain(source), "\n"))
    if isinstance(encoder, Mapping):
        parts.append(f"[encoder]\n{toml_pairs(encoder)}")
    if changed := _changed(project):
        parts.append(f"[train]\n{toml_pairs(changed)}")
    return "\n".join(parts)


def source_block(source: Mapping[str, Any], gap: str = "") -> str:
    """A source as it stands in the file; `gap` is between its rules."""
    head = {key: value for key, value in source.items() if key != "rule"}
    rules = [f"[[source.rule]]\n{toml_pairs(rule)}" for rule in source.get("rule", ())]
    return gap.join([f"[[source]]\n{toml_pairs(head)}", *rules])


def _given(data: DataFiles) -> dict[str, str]:
    values = {key: getattr(data, key) for key in data_keys()}
    return {key: value for key, value in values.items() if value is not None}


def _changed(project: Project) -> dict[str, Any]:
    assert project.settings is not None
    plain = {"method": project.method, "seed": project.seed, **project.settings.to_plain()}
    usual = {"method": "default", "seed": 0, **type(project.settings)().to_plain()}
    return {key: value for key, value in plain.items() if value != usual.get(key)}

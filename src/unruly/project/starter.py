"""New projects: the starter folder of `unruly new`, and a project made from a file of texts alone."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import polars as pl

from unruly.errors import InputError, UnrulyError
from unruly.files import written_whole
from unruly.project.file import read_project
from unruly.project.project import FILE_NAME, DataFiles, Project
from unruly.rules.sources import Sources
from unruly.texts.columns import Layout, find_layout
from unruly.texts.table import open_table

STARTER_FILES = ("unruly.toml", "comments.csv", "README.md")


def make_starter(folder: str | Path) -> Path:
    """Write the starter project into a new folder; an existing one is never touched.

    >>> import tempfile
    >>> made = make_starter(Path(tempfile.mkdtemp()) / "spam")
    >>> sorted(path.name for path in made.iterdir())
    ['README.md', 'comments.csv', 'unruly.toml']
    >>> make_starter(made)
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: ...spam exists already: choose another name
    """
    target = Path(folder)
    if target.exists() or target.is_symlink():
        raise InputError(f"{target} exists already: choose another name")
    with written_whole(target) as part:
        part.mkdir()
        for name in STARTER_FILES:
            text = (
                files("unruly.project").joinpath("starter_files", name).read_text(encoding="utf-8")
            )
            if name == "README.md":
                text = text.replace("{name}", target.name)
            (part / name).write_text(text, encoding="utf-8")
    return target


SHOWN = 5  # rows
MOST_VALUES = 50  # of a column that may hold labels


@dataclass(frozen=True)
class Column:
    """A column of the file."""

    name: str
    values: tuple[str, ...]  # of the first rows
    kinds: tuple[str, ...]  # all values, where they are few: the classes of a column of labels


@dataclass(frozen=True)
class DataLook:
    """What a file of texts looks like."""

    path: Path
    rows: int
    columns: tuple[Column, ...]
    text: str | None  # the column of texts, where it is obvious


def look_at(path: Path) -> DataLook:
    """Read a file once: its columns, its first rows, and which column holds the texts."""
    table = open_table(path)
    try:
        text = find_layout(table.schema, name=table.name).text
    except UnrulyError:
        text = None
    layout = Layout(text or next(iter(table.schema)))
    rows = next(iter(table.batches(layout, 20_000)), None)
    frame = pl.DataFrame(schema=table.schema) if rows is None else rows.frame
    return DataLook(path, table.rows, tuple(_column(frame[name]) for name in table.schema), text)


def _column(series: pl.Series) -> Column:
    texts = series.cast(pl.String, strict=False)
    distinct = texts.drop_nulls().unique(maintain_order=True)
    few = 1 < len(distinct) <= min(MOST_VALUES, max(2, len(texts) // 4))
    return Column(
        series.name,
        tuple(value or "" for value in texts.head(SHOWN)),
        tuple(sorted(distinct)) if few else (),
    )


def project_of(path: Path) -> Path | None:
    """The project beside a file of texts that trains on it, where there is one."""
    file = path.parent / FILE_NAME
    if not file.is_file():
        return None
    project = read_project(file, may_be_empty=True)
    named = project.data.train
    return file if named and (path.parent / named).resolve() == path.resolve() else None


def begin_project(
    path: Path,
    classes: tuple[str, ...],
    *,
    text: str,
    id: str | None = None,
    label: str | None = None,
) -> Path:
    """Write the project file: beside the texts or, where one is, in a folder called like them.

    >>> import tempfile
    >>> data = Path(tempfile.mkdtemp()) / "reviews.csv"
    >>> _ = data.write_text("review\\ngood\\nbad\\n")
    >>> begin_project(data, ("good", "bad"), text="review").name
    'unruly.toml'
    """
    folder, train = path.parent, path.name
    if (folder / FILE_NAME).exists():
        folder, train = folder / path.name.split(".")[0], f"../{path.name}"
        if (folder / FILE_NAME).exists():
            raise InputError(f"{folder / FILE_NAME} exists already: open that project")
        folder.mkdir(exist_ok=True)
    files = DataFiles(train=train, text=text, id=id, label=label)
    project = Project(Sources(tuple(c.strip() for c in classes if c.strip()), ()), files)
    files.read("train", folder, project.classes)  # the columns are what they were said to be
    return project.write(folder)

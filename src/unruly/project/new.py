"""New projects: the starter folder, or one for a file of texts that somebody has.

A project for a file begins with its classes and one source for each, which looks for the class's name: rules to
replace, not to keep. Which column holds the texts is guessed where it is not named.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import polars as pl
import tomlkit

from unruly.errors import InputError, UnrulyError, Where
from unruly.files import check_utf8, folder_written_whole
from unruly.project import FILE_NAME
from unruly.project.file import read_project, to_toml
from unruly.project.project import DataFiles, Project
from unruly.rules.keywords import Keywords
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.texts.columns import Layout, find_layout
from unruly.texts.corpus import Corpus
from unruly.texts.table import open_table
from unruly.wording import listed

STARTER_FILES = ("unruly.toml", "comments.csv", "README.md")
SHOWN = 5  # rows
MOST_CLASSES = 40  # values of a column that may hold classes
LEAST_EACH = 20  # rows for each of them, on average, where there are more than a few
FEW_VALUES = 5  # numbers or texts that may be classes however few rows there are


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
    check_utf8(Path(target.name))  # README.md begins with it
    with folder_written_whole(target) as part:
        for name in STARTER_FILES:
            text = (
                files("unruly.project").joinpath("starter_files", name).read_text(encoding="utf-8")
            )
            if name == "README.md":
                text = text.replace("{name}", target.name)
            (part / name).write_text(text, encoding="utf-8")
    return target


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
    text: str | None  # the column of texts: by its name, else by the length of its texts
    id: str | None  # the column of ids: called like one, and no value twice


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
    if not frame.height:
        raise InputError("there are no rows: expected one document a row", where=Where(str(path)))
    text = text or _longest(frame)
    return DataLook(
        path,
        table.rows or 0,
        tuple(_column(frame[name], classes=name != text) for name in table.schema),
        text,
        next((name for name in frame.columns if name != text and _may_be_id(frame[name])), None),
    )


def _longest(frame: pl.DataFrame) -> str | None:
    """The column with the longest texts, which are most likely those to classify."""
    lengths = frame.select(pl.col(pl.String).str.len_chars().mean())
    known = [
        (length, name)
        for name, length in zip(lengths.columns, lengths.row(0), strict=True)
        if length
    ]
    return max(known)[1] if known else None


def _may_be_id(series: pl.Series) -> bool:
    """Whether a column has the name of ids, and no missing or repeated value in the first rows."""
    called = re.search(r"(?:^|[^a-zA-Z])(?:id|uuid|guid|key)$|[a-z]I[dD]$", series.name, re.I)
    return bool(called) and not series.null_count() and series.n_unique() == len(series)


def _column(series: pl.Series, classes: bool) -> Column:
    """`classes`: whether its values may be classes; figures and names of people rarely are."""
    texts = series.cast(pl.String, strict=False)
    distinct = texts.drop_nulls().unique(maintain_order=True)
    few = 1 < len(distinct) <= min(FEW_VALUES, max(2, len(texts) // 4))
    several = len(distinct) <= min(MOST_CLASSES, len(texts) // LEAST_EACH)
    fit = few or (len(distinct) > 1 and several and not series.dtype.is_numeric())
    return Column(
        series.name,
        tuple(value or "" for value in texts.head(SHOWN)),
        tuple(sorted(distinct)) if classes and fit else (),
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
    data = DataFiles(train=train, text=text, id=id, label=label)
    project = Project(Sources(tuple(c.strip() for c in classes if c.strip()), ()), data)
    data.read("train", folder, project.classes)  # refused where a column is not there
    return project.write(folder)


_HEADER = """\
# A project of unruly: what the classes are, where the texts are, and the rules that guess.
# Each class begins with one source that looks for its name: put in the words that tell the class, and add sources.
# Rules may be wrong and may disagree. After each change, run `unruly check` on this folder.

"""


def new_project(
    folder: Path,
    path: Path,
    classes: Sequence[str] = (),
    *,
    text: str | None = None,
    label: str | None = None,
) -> Project:
    """Write a new folder with a project for a file of texts, which stays where it is.

    Without `classes`, they are the values of the column `label`, whose labels are for scoring only.

    >>> import tempfile
    >>> data = Path(tempfile.mkdtemp()) / "reviews.csv"
    >>> _ = data.write_text("review\\ngood\\nbad\\n")
    >>> project = new_project(data.parent / "mine", data, ("good", "bad"))
    >>> project.data.train, project.data.text, project.sources.names
    ('../reviews.csv', 'review', ('good_words', 'bad_words'))
    """
    if folder.exists() or folder.is_symlink():
        raise InputError(f"{folder} exists already: choose another name")
    look = look_at(path)
    column = text or look.text
    named = tuple(name.strip() for name in classes if name.strip())
    if not named and label is None:
        raise InputError(_which_classes(look))
    # Refused where a column is not there, or a label is none of the classes.
    read = Corpus.read(path, text=column, id=look.id, label=label, classes=named or None)
    named = named or read.classes or ()
    there = Path(os.path.relpath(path, folder)).as_posix()
    data = DataFiles(train=there, text=column, id=look.id, label=label)
    project = Project(Sources(named, tuple(map(_by_name, named))), data)
    prior = tomlkit.item(f"{named[0]} is about 1 in 3").as_string()
    hint = (
        f"# prior = {prior}   # how common the classes are, if you know: the line that helps most"
    )
    task, rest = to_toml(project).split("\n\n", 1)
    with folder_written_whole(folder) as part:
        (part / FILE_NAME).write_text(f"{_HEADER}{task}\n{hint}\n\n{rest}", encoding="utf-8")
    return read_project(folder)


def _by_name(label: str) -> Source:
    """A source that votes for a class where a text has its name; each part of "Food/Drink" or "Room & Bath" is one.

    >>> _by_name("Room & technical_fault").rules[0].when.words
    ('Room', 'technical fault')
    """
    parts = [re.sub(r"[\W_]+", " ", part).strip() for part in re.split(r"[^\w\s.'-]", label)]
    words = list(dict.fromkeys(filter(None, parts))) or [label]
    return Source(f"{label}_words", [Rule(label, Keywords(words))])


def _which_classes(look: DataLook) -> str:
    """What to do where nobody has named the classes."""
    found = [f"{c.name} ({listed(c.kinds, 4)})" for c in look.columns if c.kinds]
    labels = (
        f"; or, if it has true labels, their column by --label: {listed(found)}" if found else ""
    )
    return f"{look.path}: the classes are not known: name them by --classes a,b,c{labels}"

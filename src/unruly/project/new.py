"""New projects: the starter folder, or one for a file of texts that somebody has.

A project for a file begins with its classes and one source for each, which looks for the class's name: rules to
replace, not to keep. Which column holds the texts is guessed where it is not named.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import polars as pl

from unruly.errors import InputError, UnrulyError, Where
from unruly.files import check_utf8, folder_written_whole
from unruly.project import FILE_NAME
from unruly.project.file import read_project, to_toml
from unruly.project.project import DataFiles, Project
from unruly.project.toml import toml_value
from unruly.rules.keywords import Keywords
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.texts.columns import ID_NAME, Layout, find_layout
from unruly.texts.corpus import Corpus
from unruly.texts.table import open_table
from unruly.texts.wrench import is_wrench
from unruly.wording import listed

STARTER_FILES = ("unruly.toml", "comments.csv", "README.md")
SHOWN = 5  # rows
MOST_CLASSES = 40  # values of a column that may hold classes
LEAST_EACH = 20  # rows for each of them, on average, where there are more than a few
FEW_VALUES = 5  # numbers or texts that may be classes however few rows there are
LONGEST_ID = 64  # characters
_WORDS = (
    r"\p{L}\p{L}|\p{So}"  # letters beside each other, or an emoji: a text, and no number or date
)
_PHONE = re.compile("phone|fax|mobil|tele?[^a-z]", re.I)  # numbers that are not of the document
_CODE = r"^[\w.:/#-]*[0-9][\w.:/#-]*$"
_DATE = r"^[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]|^[0-9]{1,2}:[0-9]{2}"


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
    text: str  # the column of texts: by its name, else by the length of its texts
    id: str | None  # the column of ids: called like one, and no value twice
    code: str | None = None  # where there is none: another column that may hold ids, by its values


def look_at(path: Path, text: str | None = None) -> DataLook:
    """Read a file once: its columns, its first rows, and which column holds the texts, where nobody names it."""
    table = open_table(path)
    obvious = text
    if text is None:
        with suppress(UnrulyError):
            obvious = find_layout(table.schema, name=table.name).text
    layout = Layout(obvious or next(iter(table.schema)))
    rows = next(iter(table.batches(layout, 20_000)), None)
    frame = pl.DataFrame(schema=table.schema) if rows is None else rows.frame
    if not frame.height:
        raise InputError("there are no rows: expected one document a row", where=Where(str(path)))
    strings = [name for name, kind in table.schema.items() if kind == pl.String]
    if text is None and (obvious not in strings or not _has_words(frame[obvious])):
        obvious = _longest(frame.select(strings))  # a name may promise more than there is
    if obvious is None:
        raise InputError(
            f"no column holds text (columns are {listed(table.schema)}): add the column of the texts to be classified",
            where=Where(str(path)),
        )
    others = [frame[name] for name in frame.columns if name != obvious]
    id = next((one.name for one in others if _called_id(one.name) and _identifies(one)), None)
    code = next((one.name for one in others if _may_be_code(one)), None)
    return DataLook(
        path,
        table.rows or 0,
        tuple(_column(frame[name], classes=name != obvious) for name in table.schema),
        obvious,
        id,
        code if id is None else None,
    )


def _longest(frame: pl.DataFrame) -> str | None:
    """The column with the longest texts, which are most likely those to classify; dates and ids are none."""
    words = [one for one in frame if not _called_id(one.name) and _has_words(one)]
    known = [(series.str.len_chars().mean(), series.name) for series in words]
    return max(known)[1] if known else None


def _has_words(series: pl.Series) -> bool:
    return bool(series.str.contains(_WORDS).any())


def _called_id(name: str) -> bool:
    return bool(ID_NAME.search(name.strip())) and not _PHONE.search(name)


def _identifies(series: pl.Series) -> bool:
    """Whether the values are whole numbers or short strings, and none is missing or there twice."""
    if series.null_count() or series.n_unique() < len(series):
        return False
    if series.dtype == pl.String:
        return bool(series.str.len_chars().max() <= LONGEST_ID)  # type: ignore[operator]
    return series.dtype.is_integer()


def _may_be_code(series: pl.Series) -> bool:
    """Whether the values could be ids, whatever the column is called: numbers, or codes with figures that are no dates."""
    if len(series) < LEAST_EACH or _PHONE.search(series.name) or not _identifies(series):
        return False
    if series.dtype != pl.String:
        return True
    return bool(series.str.contains(_CODE).all()) and not series.str.contains(_DATE).any()


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

    Without `classes`, they are the values of the column `label`, whose labels are for scoring only. A folder in WRENCH's
    layout knows its classes, texts and true labels; of its votes nothing is used.

    >>> import tempfile
    >>> data = Path(tempfile.mkdtemp()) / "reviews.csv"
    >>> _ = data.write_text("review\\ngood\\nbad\\n")
    >>> project = new_project(data.parent / "mine", data, ("good", "bad"))
    >>> project.data.train, project.data.text, project.sources.names
    ('../reviews.csv', 'review', ('good_words', 'bad_words'))
    """
    if folder.exists() or folder.is_symlink():
        raise InputError(f"{folder} exists already: choose another name")
    named = tuple(name.strip() for name in classes if name.strip())
    there = Path(os.path.relpath(path, folder)).as_posix()
    if is_wrench(path):
        if text or label:
            raise InputError(
                f"{path}: a WRENCH folder names its own columns: leave out --text and --label"
            )
        data, named, code = _wrench_files(path, there), _wrench_classes(path, named), None
    else:
        data, named, code = _file(path, there, named, text, label)
    project = Project(Sources(named, tuple(map(_by_name, named))), data)
    prior = toml_value(f"{named[0]} is about 1 in 3")
    hint = (
        f"# prior = {prior}   # how common the classes are, if you know: the line that helps most"
    )
    task, rest = to_toml(project).split("\n\n", 1)
    rest = _with_id_explained(rest, data.text, data.id, code)
    with folder_written_whole(folder) as part:
        (part / FILE_NAME).write_text(f"{_HEADER}{task}\n{hint}\n\n{rest}", encoding="utf-8")
    return read_project(folder)


def _file(
    path: Path, there: str, named: tuple[str, ...], text: str | None, label: str | None
) -> tuple[DataFiles, tuple[str, ...], str | None]:
    """What [data] says of a file, the classes, and another column that may hold ids."""
    look = look_at(path, text)
    if not named and label is None:
        raise InputError(_which_classes(look))
    # Refused where a column is not there, or a label is none of the classes.
    read = Corpus.read(path, text=look.text, label=label, classes=named or None)
    id, code = (one if one and _identifies_all(read, one) else None for one in (look.id, look.code))
    data = DataFiles(train=there, text=look.text, id=id, label=label)
    return data, named or read.classes or (), code


def _wrench_files(path: Path, there: str) -> DataFiles:
    """The splits of a WRENCH folder, which knows its texts and true labels."""
    valid, test = (there if (path / f"{one}.json").is_file() else None for one in ("valid", "test"))
    return DataFiles(train=there, valid=valid, test=test)


def _wrench_classes(path: Path, named: tuple[str, ...]) -> tuple[str, ...]:
    """The classes of the folder, in the order in which they were named."""
    known = Corpus.from_wrench(path).classes or ()
    if named and sorted(named) != sorted(known):
        raise InputError(f"{path}: its classes are {listed(known)}: leave out --classes")
    return named or known


def _identifies_all(read: Corpus, column: str) -> bool:
    """Whether what holds for the first rows holds for all; the column may also be that of the labels."""
    return column in read.columns.columns and _identifies(read.columns[column])


def _with_id_explained(toml: str, text: str | None, id: str | None, code: str | None) -> str:
    """The lines of [data] with a word on the id; a column that may be one is offered."""
    if id is not None:
        line = f"id = {toml_value(id)}\n"
        why = "no value stands there twice: labels and predictions are kept by it"
        return toml.replace(f"\n{line}", f"\n{line.rstrip()}   # {why}\n", 1)
    if code is not None and text is not None:
        line = f"text = {toml_value(text)}\n"
        offer = f"# id = {toml_value(code)}   # no value stands there twice: if it names the document, take it"
        return toml.replace(f"\n{line}", f"\n{line}{offer}\n", 1)
    return toml


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

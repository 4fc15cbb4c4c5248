"""Documents named on the command line: a file, a project, or a WRENCH folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import polars as pl

from unruly.errors import InputError, ProjectError, UnrulyError
from unruly.model.storage import is_model
from unruly.project.project import FILE_NAME, DataFiles, Project
from unruly.rules.function import Function
from unruly.texts.corpus import Corpus
from unruly.texts.table import open_table
from unruly.texts.wrench import is_wrench

if TYPE_CHECKING:
    from unruly.model.weak_classifier import WeakClassifier

LABEL_NAMES = ("label", "gold", "target", "class")


@dataclass(frozen=True)
class Named:
    """A file and its columns."""

    path: Path
    text: str | None
    id: str | None
    label: str | None
    on_bad_row: str | None = None

    def read(self, classes: Sequence[str], split: str = "test") -> Corpus:
        """All documents; of a WRENCH folder, one split."""
        files = DataFiles(text=self.text, id=self.id, label=self.label, on_bad_row=self.on_bad_row)
        files = replace(files, **{split: str(self.path)})
        return files.read(split, Path(), tuple(classes))

    @contextmanager
    def as_file(self, classes: Sequence[str], split: str = "test") -> Iterator[Named]:
        """The same as one file that can be read in batches: a WRENCH folder or `-` is written to one."""
        if str(self.path) == "-":
            data = sys.stdin.buffer.read()
            with TemporaryDirectory() as folder:
                path = Path(folder) / f"stdin{ending_of(data)}"
                path.write_bytes(data)
                try:
                    yield replace(self, path=path)
                except UnrulyError as error:
                    if error.where is None or error.where.file != str(path):
                        raise
                    there = replace(error.where, file="standard input")
                    raise type(error)(error.message, where=there) from None
            return
        if not is_wrench(self.path):
            yield self
            return
        corpus = self.read(classes, split)
        own = {name: corpus.columns[name] for name in corpus.columns.columns}
        frame = pl.DataFrame({**own, "id": corpus.ids, "text": corpus.texts})
        with TemporaryDirectory() as folder:
            path = Path(folder) / f"{split}.parquet"
            frame.select("id", "text", pl.exclude("id", "text")).write_parquet(path)
            yield Named(path, "text", "id", None)


def ending_of(data: bytes) -> str:
    r"""The format of what comes by standard input, as a file's ending: CSV unless it looks otherwise.

    >>> ending_of(b'{"text": "call me"}'), ending_of(b"PAR1..."), ending_of(b"text\ncall me\n")
    ('.jsonl', '.parquet', '.csv')
    """
    if data.startswith(b"PAR1"):
        return ".parquet"
    return {b"{": ".jsonl", b"[": ".json"}.get(data.lstrip()[:1], ".csv")


def is_project(path: Path) -> bool:
    """Whether a project is named: its folder, or its TOML file."""
    return path.suffix == ".toml" or (path / FILE_NAME).is_file()


def open_project(
    path: Path, encoder: tuple[str, ...] = (), on_bad_row: str | None = None
) -> Project:
    """The project at a path, with the options that were typed; a data file or a model is no project."""
    if is_model(path):
        raise InputError(f"{path}: this is a model, and a project is needed: name its folder")
    if path.is_file() and path.suffix != ".toml":
        raise InputError(
            f"{path}: this is a data file, and a project is needed: `unruly new NAME` makes one, where "
            f'train = "{path.name}" under [data] names the file'
        )
    project = Project.read(path)
    if encoder:
        project = replace(project, encoder=encoder)
    if on_bad_row is not None and on_bad_row != "keep":
        project = replace(project, data=replace(project.data, on_bad_row=on_bad_row))
    return project


def load_model(
    path: Path, functions: Sequence[Path] = (), data: Path | None = None
) -> WeakClassifier:
    """A saved model. Where DATA is a project, its own files of rule functions need not be named."""
    from unruly.model.weak_classifier import load

    if data is not None and not is_model(path) and is_model(data):
        raise InputError(f"{path} is not a model, but {data} is: swap them, MODEL comes first")
    if not functions and data is not None and is_project(data):
        functions = function_files(Project.read(data))
    return load(path, tuple(functions) or None)


def function_files(project: Project) -> tuple[Path, ...]:
    """The Python files that the rules of a project name."""
    found: dict[Path, None] = {}
    waiting: list[object] = [rule.when for s in project.sources.sources for rule in s.rules]
    while waiting:
        condition = waiting.pop()
        if isinstance(condition, Function) and condition.file:
            found[project.folder / condition.file] = None
        waiting += [*getattr(condition, "conditions", ()), getattr(condition, "condition", None)]
        waiting = [one for one in waiting if one is not None]
    return tuple(found)


def named(
    path: Path,
    split: str,
    *,
    text: str | None = None,
    id: str | None = None,
    label: str | None = None,
    on_bad_row: str | None = None,
) -> Named:
    """What DATA means: a project gives its own file and columns, which options override."""
    if is_project(path):
        project = Project.read(path)
        data = project.data
        if split == "test" and data.test is None and data.train is not None:
            raise ProjectError(
                f'the project names no test file: add test = "..." under [data] in unruly.toml, or name '
                f"a file in place of the project, such as {project.folder / data.train}"
            )
        file = data.path(split, project.folder)
        return Named(file, text or data.text, id or data.id, label or data.label, on_bad_row)
    return Named(path, text, id, label, on_bad_row)


def with_gold(documents: Named) -> Named:
    """The same with the label column found, where its name is the usual one."""
    if documents.label is not None or is_wrench(documents.path):
        return documents
    columns = list(open_table(documents.path).schema)
    found = next((name for name in LABEL_NAMES if name in columns), None)
    return replace(documents, label=found)


def must_have_gold(documents: Named) -> Named:
    """The same, or a line that says how to name the label column."""
    found = with_gold(documents)
    if found.label is None and not is_wrench(found.path):
        columns = ", ".join(open_table(found.path).schema)
        raise InputError(
            f"{found.path}: no column is called {', '.join(LABEL_NAMES[:-1])} or {LABEL_NAMES[-1]}: "
            f"name the one with the gold labels by --label (there are {columns})"
        )
    return found


def one_document(
    path: Path,
    id: str,
    classes: Sequence[str],
    *,
    text: str | None = None,
    id_column: str | None = None,
) -> Corpus:
    """A corpus of one: the document with this id (row numbers, where the data has no ids)."""
    split = "test"
    if is_project(path):
        split = "test" if Project.read(path).data.test is not None else "train"
    found = named(path, split, text=text, id=id_column)
    columns = list(open_table(found.path).schema) if not is_wrench(found.path) else []
    if found.id is None and "id" in columns:
        found = replace(found, id="id")
    corpus = replace(found, label=None).read(classes, split)
    rows = [row for row, own in enumerate(corpus.ids.to_list()) if str(own) == id]
    if not rows:
        first = ", ".join(str(own) for own in corpus.ids.head(3).to_list())
        what = "ids are row numbers" if found.id is None else f"ids are in column {found.id!r}"
        remedy = "" if id_column else ": name another column of ids by --id-column"
        raise InputError(
            f"{found.path}: no document has the id {id!r} ({what}, the first are {first}){remedy}"
        )
    return corpus.take(rows)

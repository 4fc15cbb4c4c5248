"""Documents named on the command line: a file, a project, or a WRENCH folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from unruly.errors import InputError
from unruly.project.data import DataFiles
from unruly.project.project import FILE_NAME, Project
from unruly.texts.corpus import Corpus
from unruly.texts.table import open_table
from unruly.texts.wrench import is_wrench

LABEL_NAMES = ("label", "gold", "target", "class")


@dataclass(frozen=True)
class Named:
    """A file and its columns."""

    path: Path
    text: str | None
    id: str | None
    label: str | None

    def read(self, classes: Sequence[str], split: str = "test") -> Corpus:
        """All documents; of a WRENCH folder, one split."""
        files = DataFiles(text=self.text, id=self.id, label=self.label)
        files = replace(files, **{split: str(self.path)})
        return files.read(split, Path(), tuple(classes))

    @contextmanager
    def as_file(self, classes: Sequence[str], split: str = "test") -> Iterator[Named]:
        """The same as one file that can be read in batches: a WRENCH folder is written to one."""
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


def named(
    path: Path,
    split: str,
    *,
    text: str | None = None,
    id: str | None = None,
    label: str | None = None,
) -> Named:
    """What DATA means: a project gives its own file and columns, which options override."""
    if path.suffix == ".toml" or (path / FILE_NAME).is_file():
        project = Project.read(path)
        data = project.data
        file = data.path(split, project.folder)
        return Named(file, text or data.text, id or data.id, label or data.label)
    return Named(path, text, id, label)


def with_gold(documents: Named) -> Named:
    """The same with the label column found, where its name is the usual one."""
    if documents.label is not None or is_wrench(documents.path):
        return documents
    columns = list(open_table(documents.path).schema)
    found = next((name for name in LABEL_NAMES if name in columns), None)
    return Named(documents.path, documents.text, documents.id, found)


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


def one_document(path: Path, id: str, classes: Sequence[str]) -> Corpus:
    """A corpus of one: the document with this id (row numbers, where the data has no ids)."""
    split = "test"
    if path.suffix == ".toml" or (path / FILE_NAME).is_file():
        split = "test" if Project.read(path).data.test is not None else "train"
    found = named(path, split)
    columns = list(open_table(found.path).schema) if not is_wrench(found.path) else []
    if found.id is None and "id" in columns:
        found = replace(found, id="id")
    corpus = replace(found, label=None).read(classes, split)
    rows = [row for row, own in enumerate(corpus.ids.to_list()) if str(own) == id]
    if not rows:
        first = ", ".join(str(own) for own in corpus.ids.head(3).to_list())
        raise InputError(f"{found.path}: no document has the id {id!r} (the first are {first})")
    return corpus.take(rows)

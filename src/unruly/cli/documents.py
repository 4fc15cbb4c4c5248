"""Documents named on the command line: a file, a project, or a WRENCH folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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
        files = DataFiles(**{split: self.path.name}, text=self.text, id=self.id, label=self.label)
        return files.read(split, self.path.parent, tuple(classes))


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
    columns = open_table(documents.path).schema
    found = next((name for name in LABEL_NAMES if name in columns), None)
    return Named(documents.path, documents.text, documents.id, found)

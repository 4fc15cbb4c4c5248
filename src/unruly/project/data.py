"""`[data]`: the files of a project, and which of their columns hold what."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import cast

import numpy as np

from unruly.errors import InputError, ProjectError, Where
from unruly.texts.corpus import UNKNOWN, Corpus
from unruly.texts.stream import CorpusStream
from unruly.texts.table import OnBadRow, check_on_bad_row
from unruly.texts.wrench import is_wrench
from unruly.wording import did_you_mean

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class DataFiles:
    """Paths relative to the project's folder, and column names; what is not there is None.

    A folder in WRENCH's layout may stand for a file: each split is read from it.
    """

    train: str | None = None
    valid: str | None = None
    test: str | None = None
    labels: str | None = None  # people's labels of training documents; None: labels.csv, if there
    text: str | None = None  # column names from here on
    id: str | None = None
    label: str | None = None
    on_bad_row: str | None = None  # error, skip or keep (the default): see `Corpus.read`

    def path(self, split: str, folder: Path) -> Path:
        """The file of one split."""
        if split not in SPLITS:
            hint = did_you_mean(split, SPLITS, "splits are")
            raise InputError(f"there is no split {split!r}: {hint}")
        name: str | None = getattr(self, split)
        if name is None:
            raise ProjectError(
                f'the project names no {split} file: add {split} = "..." under [data] in unruly.toml'
            )
        return folder / name

    def read(self, split: str, folder: Path, classes: tuple[str, ...]) -> Corpus:
        """One split, whole."""
        path = self.path(split, folder)
        if is_wrench(path):
            return _same_classes(Corpus.from_wrench(path, split), classes)
        return self._open(path, classes).read()

    def scan(self, split: str, folder: Path, classes: tuple[str, ...]) -> CorpusStream:
        """One split as a stream of batches, for files larger than memory."""
        path = self.path(split, folder)
        if is_wrench(path):
            raise InputError(
                "a WRENCH folder cannot be read in batches: read it whole", where=Where(str(path))
            )
        return self._open(path, classes)

    def _open(self, path: Path, classes: tuple[str, ...]) -> CorpusStream:
        """A file whose label column may be missing: training texts are often unlabelled."""
        return CorpusStream.open(
            path,
            text=self.text,
            id=self.id,
            label=self.label,
            classes=classes,
            on_bad_row=self._on_bad_row(),
            label_may_be_missing=True,
        )

    def _on_bad_row(self) -> OnBadRow:
        given = self.on_bad_row or "keep"
        check_on_bad_row(given)
        return cast(OnBadRow, given)


def data_keys() -> tuple[str, ...]:
    """What may stand in `[data]`."""
    return tuple(field.name for field in fields(DataFiles))


def _same_classes(corpus: Corpus, classes: tuple[str, ...]) -> Corpus:
    """Gold numbers of a WRENCH folder as this project numbers its classes."""
    if corpus.classes is None or corpus.gold is None or corpus.classes == classes:
        return corpus
    unknown = set(corpus.classes) - set(classes)
    if unknown:
        raise InputError(
            f"the label {min(unknown)!r} is not a class: classes are {', '.join(classes)}",
            where=Where(corpus.name),
        )
    numbers = np.array([classes.index(name) for name in corpus.classes] + [UNKNOWN], dtype=np.int16)
    return replace(corpus, gold=numbers[corpus.gold], classes=classes)

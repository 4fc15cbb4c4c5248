"""A project: classes, files, rules, and how to train, as one object that is also a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.errors import ProjectError
from unruly.plural import plural
from unruly.project.data import DataFiles
from unruly.rules.sources import Sources
from unruly.settings import Settings
from unruly.texts.corpus import Corpus
from unruly.texts.stream import CorpusStream
from unruly.votes.votes import MOST_CLASSES

FILE_NAME = "unruly.toml"
PRIORS = ("uniform", "votes")

Prior = str | tuple[float, ...] | None
EncoderSpec = str | Mapping[str, Any] | tuple[str | Mapping[str, Any], ...]


@dataclass(frozen=True)
class Project:
    """What `unruly.toml` says. Build it in Python, or read it from a folder.

    >>> from unruly.rules.keywords import Keywords
    >>> from unruly.rules.rule import Rule
    >>> from unruly.rules.source import Source
    >>> subscribe = Source("subscribe", [Rule("spam", Keywords(["subscribe"]))])
    >>> project = Project(Sources(["ham", "spam"], [subscribe]), DataFiles(train="comments.csv"))
    >>> import tempfile
    >>> Project.read(project.write(tempfile.mkdtemp())) == project
    True
    """

    sources: Sources
    data: DataFiles = field(default_factory=DataFiles)
    prior: Prior = None  # None: the recipe chooses
    encoder: EncoderSpec = "auto"
    settings: Settings = field(default_factory=Settings)
    folder: Path = field(default=Path(), compare=False)  # where the files are looked for
    file: Path | None = field(default=None, compare=False)  # what it was read from

    def __post_init__(self) -> None:
        check_classes(self.classes)
        for name in ("prior", "encoder"):  # lists to tuples: a project can be compared
            value = getattr(self, name)
            if isinstance(value, list):
                object.__setattr__(self, name, tuple(value))
        check_prior(self.prior, self.classes)

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes; everywhere else they are numbers in this order."""
        return tuple(self.sources.classes)

    @classmethod
    def read(cls, path: str | Path) -> Project:
        """A project from its folder, or from the path of its `unruly.toml`."""
        from unruly.project.reading import read_project

        return read_project(Path(path))

    def write(self, path: str | Path) -> Path:
        """Write `unruly.toml` into a folder (or to a path that ends in .toml), whole or not at all.

        File names are written as they are: relative ones are looked for beside the file.
        """
        from unruly.project.writing import write_project

        return write_project(self, Path(path))

    def corpus(self, split: str = "train") -> Corpus:
        """The texts of one split: train, valid or test."""
        return self.data.read(split, self.folder, self.classes)

    def scan(self, split: str = "train") -> CorpusStream:
        """The same, batch by batch, for files larger than memory."""
        return self.data.scan(split, self.folder, self.classes)

    def clean_labels(self, corpus: Corpus) -> NDArray[np.int16]:
        """(n,): true labels of some training documents, from the file of clean labels; else -1."""
        return self.data.clean_labels(corpus, self.folder, self.classes)


def check_classes(classes: tuple[str, ...]) -> None:
    """Two or more classes, each with its own name.

    >>> check_classes(("spam",))
    Traceback (most recent call last):
    ...
    unruly.errors.ProjectError: one class only ('spam'): a classifier needs at least two to choose from
    """
    if not classes:
        raise ProjectError('no classes: name at least two, as in classes = ["ham", "spam"]')
    if len(classes) == 1:
        raise ProjectError(
            f"one class only ({classes[0]!r}): a classifier needs at least two to choose from"
        )
    if len(classes) > MOST_CLASSES:
        raise ProjectError(f"{len(classes)} classes: at most {MOST_CLASSES} can be told apart")
    for name in classes:
        if not name.strip():
            raise ProjectError("a class has an empty name: give it one")
        if classes.count(name) > 1:
            raise ProjectError(f"the class {name!r} is named twice: name each class once")


def check_prior(prior: Prior, classes: tuple[str, ...]) -> None:
    """'uniform', 'votes', or one share for each class, together 1.

    >>> check_prior((0.9, 0.2), ("ham", "spam"))
    Traceback (most recent call last):
    ...
    unruly.errors.ProjectError: prior: the shares of the classes add up to 1.1, not to 1
    """
    if prior is None or (isinstance(prior, str) and prior in PRIORS):
        return
    if isinstance(prior, str):
        raise ProjectError(
            f"prior = {prior!r}: expected 'uniform', 'votes', or a share for each class, as in "
            "prior = [0.9, 0.1]"
        )
    if len(prior) != len(classes):
        raise ProjectError(
            f"prior: {plural(len(prior), 'number')} for {len(classes)} classes: give one share for each "
            f"({', '.join(classes)})"
        )
    for share in prior:
        if not 0 < share < 1:  # nan, too
            raise ProjectError(f"prior: every share must lie between 0 and 1, not {share:g}")
    if abs(sum(prior) - 1) > 1e-6:
        raise ProjectError(f"prior: the shares of the classes add up to {sum(prior):g}, not to 1")

"""Labelling the training documents of a project: what to show, what to ask, and what the answers tell."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError, UnrulyError, Where
from unruly.facts import Use
from unruly.labelling.answers import Labelled, labelled
from unruly.labelling.estimates import BalanceEstimate, estimate_balance
from unruly.labelling.label_file import LabelFile
from unruly.labelling.queue import Session, ask, from_votes
from unruly.progress import SILENT, Progress
from unruly.project.project import Project
from unruly.project.showing import ShownDocument
from unruly.project.voting import blamed_on_its_line
from unruly.rules.cache import Cache
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

if TYPE_CHECKING:
    from unruly.model.weak_classifier import WeakClassifier

Proba = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class LabellingTask:
    """The training documents of a project, the votes on them, and what a model says of them."""

    project: Project
    corpus: Corpus
    votes: Votes
    model: WeakClassifier | None
    proba: Proba | None  # (n, m): the model's; None without one
    on_disk: OnDisk

    @classmethod
    def of(
        cls, project: Project, model: WeakClassifier | None = None, progress: Progress = SILENT
    ) -> LabellingTask:
        """Read, vote and predict."""
        on_disk = OnDisk.of(project)
        corpus = project.corpus("train")
        with blamed_on_its_line(project):
            votes = project.sources.vote(corpus, progress, Cache.default())
        if model is not None and model.class_names != project.classes:
            raise InputError(
                f"the model's classes are {', '.join(model.class_names)}, the project's "
                f"{', '.join(project.classes)}: fit the project again, or leave the model out"
            )
        proba = None if model is None else model.predictions(corpus, progress=progress).proba
        return cls(project, corpus, votes, model, proba, on_disk)

    @property
    def numbered(self) -> bool:
        """Whether documents go by their row, having no ids of their own."""
        return self.project.data.id is None

    def labelled(self, file: LabelFile | None = None) -> Labelled:
        """The labels so far."""
        file = self.project.label_file() if file is None else file
        return labelled(file, self.corpus.ids.to_list(), self.project.classes)

    def session(self, n: int = 20, by: str = "balance", whom: str = "") -> Session:
        """Questions about documents that have no answer yet, drawn as `labelling.queue` says."""
        file = self.project.label_file()
        answered = self.labelled(file).answered
        if self.corpus.missing is not None:
            answered = answered | self.corpus.missing  # there is nothing to read
        asked = ask(self.votes, self.proba, n, by, answered=answered, seed=self.project.seed)
        return Session(file, asked, whom)

    def shown(self, row: int) -> ShownDocument:
        """A document and the votes on it; no gold label."""
        return ShownDocument(
            self.corpus.ids[row], self.corpus.texts[row], None, self.votes.matches(row)
        )

    def balance(self, file: LabelFile) -> BalanceEstimate | None:
        """The class shares as the labels tell them.

        A model that has learnt from labels cannot help to tell what they say: then the votes stand for it.
        """
        unseen = self.model is not None and not self.model.ledger_.used_for(Use.TRAINING)
        proba = self.proba if unseen and self.proba is not None else from_votes(self.votes)
        return estimate_balance(self.labelled(file), proba, self.project.classes)

    def changed(self, file: LabelFile, progress: Progress = SILENT) -> int | None:
        """How many of the model's answers a fit with all labels would change; None without a model or a label."""
        labels = self.labelled(file)
        if self.model is None or self.proba is None or not labels.labels:
            return None
        again = self.model.preview_labels(labels, self.corpus, progress=progress)
        return int((again.argmax(axis=1) != self.proba.argmax(axis=1)).sum())


@dataclass(frozen=True)
class OnDisk:
    """The files of a project as they were, to tell when they have changed."""

    project: Path | None
    rules: bytes
    data: Path
    state: tuple[int, int] | None  # of the data: size and time of the last change

    @classmethod
    def of(cls, project: Project) -> OnDisk:
        """As they are now."""
        data = project.data.path("train", project.folder)
        rules = b"" if project.file is None else project.file.read_bytes()
        return cls(project.file, rules, data, _state(data))

    def check(self, classes: tuple[str, ...]) -> bool:
        """Whether all is as it was; refused where answers would mean something else than before."""
        if _state(self.data) != self.state:
            raise InputError(
                "the documents have changed on disk: all answers so far are kept; start again",
                where=Where(str(self.data)),
            )
        if self.project is None or _bytes(self.project) == self.rules:
            return True
        try:
            now = Project.read(self.project).classes
        except UnrulyError as error:
            raise InputError(
                f"the project has changed on disk and cannot be read ({error.message}): all answers so far are "
                "kept; mend it and start again",
                where=error.where,
            ) from None
        if now != classes:
            raise InputError(
                f"the classes have changed on disk, they are now {', '.join(now)}: all answers so far are kept; "
                "start again",
                where=Where(str(self.project)),
            )
        return False


def _state(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None

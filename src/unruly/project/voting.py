"""The votes of one split of a project. Large files are read as a stream, never all in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unruly.progress import SILENT, Progress
from unruly.project.blame import blamed_on_its_line
from unruly.project.project import Project
from unruly.rules.cache import Cache
from unruly.texts.corpus import Corpus
from unruly.texts.wrench import is_wrench
from unruly.votes.votes import Votes

SMALL = 100_000  # documents that are read whole


@dataclass(frozen=True, eq=False)
class Voted:
    """Votes, and the gold labels of the same documents where the file has them."""

    votes: Votes
    gold: NDArray[np.int16] | None  # (n,), -1 where unknown


def vote_split(
    project: Project, split: str = "train", progress: Progress = SILENT, cache: Cache | None = None
) -> Voted:
    """Match all rules against all documents of a split, in the order of the file."""
    with blamed_on_its_line(project):
        return _voted(project, split, progress, cache)


def _voted(project: Project, split: str, progress: Progress, cache: Cache | None) -> Voted:
    if is_wrench(project.data.path(split, project.folder)):
        return _whole(project, project.corpus(split), progress, cache)
    stream = project.scan(split)
    if stream.rows is not None and stream.rows <= SMALL:
        return _whole(project, stream.read(progress), progress, cache)
    noted = _Noted(stream)
    parts = list(project.sources.vote_stream(noted, progress, cache, stream.rows))
    if not parts:
        return _whole(project, stream.read(), progress, cache)
    return Voted(Votes.concat(parts), noted.gold())


def _whole(project: Project, corpus: Corpus, progress: Progress, cache: Cache | None) -> Voted:
    return Voted(project.sources.vote(corpus, progress, cache), corpus.gold)


@dataclass(frozen=True, eq=False)
class _Noted:
    """Passes batches on, and keeps their gold labels."""

    batches: Iterable[Corpus]
    golds: list[NDArray[np.int16]] = field(default_factory=list)

    def __iter__(self) -> Iterator[Corpus]:
        for batch in self.batches:
            if batch.gold is not None:
                self.golds.append(batch.gold)
            yield batch

    def gold(self) -> NDArray[np.int16] | None:
        return np.concatenate(self.golds) if self.golds else None

"""The votes of one split of a project, and asking the language models among its sources.

Large files are read as a stream, never all in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unruly.errors import UnrulyError, Where
from unruly.progress import SILENT, Progress
from unruly.project.project import Project
from unruly.project.toml_table import Table
from unruly.prompts.asking import SPENT, Asked
from unruly.prompts.budget import Plan
from unruly.prompts.requests import FORMS
from unruly.rules.asking import ask, plans
from unruly.rules.cache import Cache
from unruly.rules.describe import descriptions_of
from unruly.rules.prompt import prompt_of
from unruly.texts.corpus import Corpus
from unruly.texts.table import BadRow
from unruly.texts.wrench import is_wrench
from unruly.votes.votes import Votes
from unruly.wording import listed, plural

SMALL = 100_000  # documents that are read whole


@dataclass(frozen=True)
class TextCounts:
    """What is odd about the texts themselves."""

    blank: int = 0  # without a text, or nothing but white space
    duplicates: int = 0  # repeat an earlier text
    skipped: int = 0  # rows of the file that could not be used
    broken: tuple[BadRow, ...] = ()  # files of a folder that could not be read


@dataclass(frozen=True, eq=False)
class Voted:
    """Votes, and the gold labels of the same documents where the file has them."""

    votes: Votes
    gold: NDArray[np.int16] | None  # (n,), -1 where unknown
    texts: TextCounts


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
    return Voted(Votes.concat(parts), noted.gold(), noted.counts())


def _whole(project: Project, corpus: Corpus, progress: Progress, cache: Cache | None) -> Voted:
    noted = _Noted([corpus])
    votes = project.sources.vote(next(iter(noted)), progress, cache)
    return Voted(votes, corpus.gold, noted.counts())


@dataclass(frozen=True, eq=False)
class _Noted:
    """Passes batches on, and keeps their gold labels and what is odd about their texts."""

    batches: Iterable[Corpus]
    golds: list[NDArray[np.int16]] = field(default_factory=list)
    digests: list[NDArray[np.uint64]] = field(default_factory=list)
    odd: list[TextCounts] = field(default_factory=list)

    def __iter__(self) -> Iterator[Corpus]:
        for batch in self.batches:
            if batch.gold is not None:
                self.golds.append(batch.gold)
            blank = batch.texts.str.strip_chars() == ""
            self.digests.append(batch.texts.filter(~blank).hash().to_numpy())
            broken = tuple(bad for bad in batch.skipped if bad.whole_file)
            skipped = len(batch.skipped) - len(broken)
            self.odd.append(TextCounts(int(blank.sum()), skipped=skipped, broken=broken))
            yield batch

    def counts(self) -> TextCounts:
        digests = np.concatenate(self.digests) if self.digests else np.empty(0, np.uint64)
        return TextCounts(
            blank=sum(part.blank for part in self.odd),
            duplicates=len(digests) - len(np.unique(digests)),
            skipped=sum(part.skipped for part in self.odd),
            broken=tuple(bad for part in self.odd for bad in part.broken),
        )

    def gold(self) -> NDArray[np.int16] | None:
        return np.concatenate(self.golds) if self.golds else None


@contextmanager
def blamed_on_its_line(project: Project) -> Iterator[None]:
    """Add file and line to an error that names a rule of the project."""
    try:
        yield
    except UnrulyError as error:
        where = _line_of(project, error.where)
        if where is None:
            raise
        raise error.located(where) from error.__cause__


def _line_of(project: Project, where: Where | None) -> Where | None:
    if project.file is None or where is None or where.rule is None:
        return None
    if where.file is not None or where.source not in project.sources.names:
        return None
    source = project.sources.index(where.source)
    if descriptions_of(project.sources.with_disabled[source]) is not None:
        return Table.read(project.file).where("task", "describe")
    table = Table.read(project.file)
    return table.where("source", source, "rule", where.rule - 1)


def plan_split(
    project: Project, split: str = "train", cache: Cache | None = None
) -> tuple[Plan, ...]:
    """What asking would send and cost; nothing is read where no source is a language model."""
    if not _asks(project):
        return ()
    with blamed_on_its_line(project):
        return plans(project.sources, project.corpus(split), cache)


def ask_split(
    project: Project,
    split: str = "train",
    progress: Progress = SILENT,
    cache: Cache | None = None,
) -> tuple[Asked, ...]:
    """Ask the language models of a project about one split, within their budgets."""
    if not _asks(project):
        return ()
    with blamed_on_its_line(project):
        return ask(project.sources, project.corpus(split), progress, cache)


def asked_line(asked: Asked) -> str:
    """What asking one source came to, in a line."""
    parts = [f"{plural(asked.answered, 'answer')} received", f"{asked.cached:,} known before"]
    if asked.unasked:
        remedy = "raise it" if asked.stopped == SPENT else "run again"
        why = asked.stopped or "some failed"
        parts.append(f"{asked.unasked:,} not asked ({why}); {remedy} to go on")
    if asked.unreadable:
        parts.append(
            f"{plural(len(asked.unreadable), 'answer')} that cannot be read, such as {asked.unreadable[0][:60]!r}"
        )
    if asked.models:
        parts.append(f"answered by {listed(asked.models)}")
    if asked.forms == FORMS[2]:
        parts.append("the server knows no schema, so answers were read as plain text")
    return f"{asked.source}: {', '.join(parts)}"


def _asks(project: Project) -> bool:
    return any(prompt_of(source) is not None for source in project.sources.sources)

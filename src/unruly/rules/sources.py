"""All the sources of a task, ready to vote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unruly.errors import RuleError
from unruly.progress import SILENT, Progress
from unruly.rules.matching import cast_votes, frame_of
from unruly.rules.source import Source
from unruly.texts.corpus import Corpus
from unruly.votes.votes import MOST_CLASSES, Votes


@dataclass(frozen=True)
class Sources:
    """The classes of a task, and the sources that vote for them.

    >>> from unruly.rules.keywords import Keywords
    >>> from unruly.rules.rule import Rule
    >>> sources = Sources(
    ...     ["ham", "spam"], [Source("subscribe", [Rule("spam", Keywords(("subscribe",)))])]
    ... )
    >>> sources.vote(Corpus.from_texts(["Subscribe!", "nice song"])).matrix.tolist()
    [[1], [-1]]
    """

    classes: Sequence[str]
    sources: Sequence[Source]

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", tuple(self.classes))
        object.__setattr__(self, "sources", tuple(self.sources))
        if not 2 <= len(self.classes) <= MOST_CLASSES:
            raise RuleError(
                f"a task needs 2 to {MOST_CLASSES} classes, not {len(self.classes)}: "
                "name the class of the other documents, too"
            )
        if len(set(self.classes)) != len(self.classes):
            twice = next(c for c in self.classes if self.classes.count(c) > 1)
            raise RuleError(f"the class {twice!r} is listed twice")
        if not self.sources:
            raise RuleError("there are no sources: write at least one [[source]] with a rule")
        if len(set(self.names)) != len(self.names):
            twice = next(n for n in self.names if self.names.count(n) > 1)
            raise RuleError(f"two sources are named {twice!r}: give each source its own name")
        for source in self.sources:
            source.rule_votes(tuple(self.classes))

    @property
    def names(self) -> tuple[str, ...]:
        """The sources' names, in the order of the votes' columns."""
        return tuple(source.name for source in self.sources)

    def vote(self, corpus: Corpus, progress: Progress = SILENT) -> Votes:
        """Match every rule against every document."""
        classes = tuple(self.classes)
        cast = cast_votes(self.sources, classes, frame_of(corpus), progress)
        matrix = np.ascontiguousarray(cast.to_numpy().astype(np.int8, copy=False))
        return Votes(
            matrix=matrix.reshape(len(corpus), len(self.sources)),
            sources=self.names,
            classes=classes,
            ids=corpus.ids.alias("id"),
        )

"""All the sources of a task, ready to vote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import RuleError
from unruly.progress import SILENT, Progress, stage
from unruly.rules.cache import Cache
from unruly.rules.evidence import Evidence
from unruly.rules.examples import ExampleFailure, failures
from unruly.rules.matching import SOFT, Ground, Matcher
from unruly.rules.source import Source
from unruly.texts.corpus import Corpus
from unruly.votes.votes import MOST_CLASSES, Votes


@dataclass(frozen=True)
class Sources:
    """The classes of a task, and the sources that vote for them.

    >>> from unruly.rules.keywords import Keywords
    >>> from unruly.rules.rule import Rule
    >>> sources = Sources(
    ...     ["ham", "spam"], [Source("subscribe", [Rule("spam", Keywords(["subscribe"]))])]
    ... )
    >>> votes = sources.vote(Corpus.from_texts(["Subscribe!", "nice song"]))
    >>> votes.matrix.tolist()
    [[1], [-1]]
    >>> votes.matches(0)[0].spans
    ((0, 9),)
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

    def vote(
        self, corpus: Corpus, progress: Progress = SILENT, cache: Cache | None = None
    ) -> Votes:
        """Match every rule against every document.

        With a cache (`Cache.default()` is the command line's), only sources that are new or edited
        are matched; without one, nothing is read or written.
        """
        matcher = self._matcher(cache)
        cast = matcher.run(Ground.of(corpus), progress)
        matrix = np.empty((len(corpus), len(self.sources)), dtype=np.int8)
        for j, name in enumerate(self.names):
            matrix[:, j] = cast[name].to_numpy()
        return Votes(
            matrix=matrix,
            sources=self.names,
            classes=tuple(self.classes),
            ids=corpus.ids.alias("id"),
            soft={
                name: _probabilities(cast[SOFT + name], len(self.classes))
                for name in self.names
                if SOFT + name in cast.columns
            },
            provenance=Evidence(matcher, corpus),
        )

    def vote_stream(
        self,
        batches: Iterable[Corpus],
        progress: Progress = SILENT,
        cache: Cache | None = None,
        rows: int | None = None,
    ) -> Iterator[Votes]:
        """The votes of one batch of documents after the other, as `Corpus.scan` gives them.

        A batch is let go before the next is read: the votes do not remember their documents, so
        `matches` cannot be asked of them.
        """
        with stage(progress, "matching rules", rows, "texts"):
            for batch in batches:
                votes = self.vote(batch, cache=cache)
                yield Votes(votes.matrix, votes.sources, votes.classes, votes.ids, votes.soft)
                progress.advance(len(batch))

    def check_examples(self) -> list[ExampleFailure]:
        """The rules' own examples that do not hold; none when all is well."""
        return [f for source in self.sources for f in failures(source, tuple(self.classes))]

    def _matcher(self, cache: Cache | None) -> Matcher:
        return Matcher(tuple(self.sources), tuple(self.classes), cache)


def _probabilities(lists: pl.Series, classes: int) -> NDArray[np.float32]:
    """(n, m), nan where the source abstains."""
    probabilities = np.full((len(lists), classes), np.nan, dtype=np.float32)
    given = lists.is_not_null().to_numpy()
    if given.any():
        probabilities[given] = lists.drop_nulls().explode().to_numpy().reshape(-1, classes)
    return probabilities

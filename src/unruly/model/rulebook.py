"""The rules that a model carries, and how they vote on new documents."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any as Anything

import numpy as np

from unruly.errors import RuleError
from unruly.model.carried_rules import (
    AbsentFunction,
    FunctionFiles,
    carried_source,
    source_to_carry,
)
from unruly.progress import SILENT, Progress
from unruly.rules.source import Source
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus
from unruly.votes.votes import ABSTAIN, Votes


@dataclass(frozen=True)
class RuleBook:
    """Sources that vote on new documents as they did on the training documents."""

    sources: Sources

    @classmethod
    def behind(cls, votes: object) -> RuleBook | None:
        """The rules behind votes that still know them, else None."""
        matcher = getattr(getattr(votes, "provenance", None), "matcher", None)
        return None if matcher is None else cls(Sources(matcher.classes, matcher.sources))

    def vote(self, corpus: Corpus, progress: Progress = SILENT) -> Votes:
        """What each source says of these documents.

        A source that reads a column which these documents do not have abstains, with a warning:
        votes that a vendor gave on the training documents are not to be had for new ones.
        """
        self._refuse_absent()
        lacking = {
            s.name: column for s in self.sources.sources if (column := _lacks(s, corpus, self))
        }
        if not lacking:
            return self.sources.vote(corpus, progress)
        name, column = next(iter(lacking.items()))
        more = f" (and {len(lacking) - 1} other sources)" if len(lacking) > 1 else ""
        warnings.warn(
            f"the source {name!r}{more} abstains: {corpus.name} has no column {column!r}",
            stacklevel=2,
        )
        return self._vote_without(set(lacking), corpus, progress)

    def _vote_without(self, silent: set[str], corpus: Corpus, progress: Progress) -> Votes:
        names = self.sources.names
        matrix = np.full((len(corpus), len(names)), ABSTAIN, dtype=np.int8)
        speaking = [source for source in self.sources.sources if source.name not in silent]
        if not speaking:
            return Votes(matrix, names, tuple(self.sources.classes), corpus.ids.alias("id"))
        votes = Sources(self.sources.classes, speaking).vote(corpus, progress)
        matrix[:, [names.index(name) for name in votes.sources]] = votes.matrix
        return Votes(matrix, names, votes.classes, votes.ids, votes.soft, votes.provenance)

    def _refuse_absent(self) -> None:
        for source, function in self._absent():
            told = f" of {function.file}" if function.file else ""
            raise RuleError(
                f"source {source.name!r} is the Python function {function.name}{told}, and a model file "
                f"carries no code: name the file, by --functions {function.file or 'rules.py'} or unruly.load(..., functions=...), or give the votes"
            )

    def _absent(self) -> Iterator[tuple[Source, AbsentFunction]]:
        for source in self.sources.sources:
            for rule in source.rules:
                if isinstance(rule.when, AbsentFunction):
                    yield source, rule.when

    def to_plain(self) -> dict[str, Anything]:
        """As JSON has it; what stood in files is copied in."""
        return {
            "classes": list(self.sources.classes),
            "sources": [source_to_carry(source) for source in self.sources.sources],
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Anything], files: FunctionFiles) -> RuleBook:
        """Back from JSON."""
        classes = tuple(plain["classes"])
        return cls(Sources(classes, [carried_source(s, classes, files) for s in plain["sources"]]))


def _lacks(source: Source, corpus: Corpus, book: RuleBook) -> str | None:
    """A column that the source reads and the documents do not have."""
    needs = source.needs(tuple(book.sources.classes))
    wanted = [*needs.columns, *(column for measure in needs.measures for column in measure.reads)]
    there = {*corpus.columns.columns, corpus.texts.name}
    return next((column for column in wanted if column not in there), None)

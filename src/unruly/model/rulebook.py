"""The rules that a model carries: complete in themselves, without the files that they were read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any as Anything

from unruly.progress import SILENT, Progress
from unruly.rules.combine import All, Any, Not
from unruly.rules.condition import Condition
from unruly.rules.keywords import Keywords
from unruly.rules.plain import source_from_plain, source_to_plain
from unruly.rules.source import Source
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes


@dataclass(frozen=True)
class RuleBook:
    """Sources that vote on new documents as they did on the training documents."""

    sources: Sources

    def vote(self, corpus: Corpus, progress: Progress = SILENT) -> Votes:
        """What each source says of these documents."""
        return self.sources.vote(corpus, progress)

    def to_plain(self) -> dict[str, Anything]:
        """As JSON has it; what stood in files is copied in."""
        return {
            "classes": list(self.sources.classes),
            "sources": [source_to_plain(_carried(source)) for source in self.sources.sources],
        }

    @classmethod
    def from_plain(
        cls, plain: Mapping[str, Anything], functions: str | Path | None = None
    ) -> RuleBook:
        """Back from JSON."""
        classes = tuple(plain["classes"])
        sources = [source_from_plain(table, classes) for table in plain["sources"]]
        return cls(Sources(classes, sources))


def _carried(source: Source) -> Source:
    rules = [replace(rule, when=_complete(rule.when)) for rule in source.rules]
    return Source(source.name, rules)


def _complete(condition: Condition) -> Condition:
    """The same condition with nothing left in files."""
    if isinstance(condition, All):
        return All(tuple(_complete(part) for part in condition.conditions))
    if isinstance(condition, Any):
        return Any(tuple(_complete(part) for part in condition.conditions))
    if isinstance(condition, Not):
        return Not(_complete(condition.condition))
    if isinstance(condition, Keywords):
        return replace(condition, file=None)
    return condition

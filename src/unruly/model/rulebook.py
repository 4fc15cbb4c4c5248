"""The rules that a model carries, and how they vote on new documents."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unruly.errors import RuleError, Where
from unruly.features.space import FittedSpace
from unruly.features.stack import Encoding
from unruly.model.carried_rules import Absent, Allowed, Plainly, rule_from_plain, rule_to_plain
from unruly.progress import SILENT, Progress
from unruly.rules.cache import Cache
from unruly.rules.combine import AllOf, AnyOf, Not
from unruly.rules.condition import Condition, Place
from unruly.rules.describe import Described
from unruly.rules.prompt import Prompt
from unruly.rules.similar import Similar
from unruly.rules.source import Source
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus
from unruly.votes.votes import ABSTAIN, Votes


@dataclass(frozen=True)
class RuleBook:
    """Sources that vote on new documents as they did on the training documents.

    Votes that came through a cache leave it here: what was matched for fitting is not matched again.
    """

    sources: Sources
    cache: Cache | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, sources: Sources, keep: bool) -> RuleBook:
        """The sources, their votes kept in the user's cache or not."""
        return cls(sources, Cache.default() if keep else None)

    @classmethod
    def behind(cls, votes: object) -> RuleBook | None:
        """The rules behind votes that still know them, else None."""
        matcher = getattr(getattr(votes, "provenance", None), "matcher", None)
        if matcher is None:
            return None
        return cls(Sources(matcher.classes, matcher.sources), matcher.cache)

    def within(self, encoder: Encoding | None) -> RuleBook:
        """The same rules, whose comparisons of texts go by the model's encoder where it is the same as theirs."""
        if encoder is None:
            return self
        sources = [
            Source(s.name, [replace(r, when=_with_encoder(r.when, encoder)) for r in s.rules])
            for s in self.sources.sources
        ]
        return replace(self, sources=Sources(self.sources.classes, sources))

    def with_key(self, key_env: str | None) -> Sources:
        """The sources, whose prompts find their key in this environment variable; as they are without one."""
        if key_env is None:
            return self.sources
        sources = [
            Source(s.name, [replace(r, when=_with_key(r.when, key_env)) for r in s.rules])
            for s in self.sources.sources
        ]
        return Sources(self.sources.classes, sources)

    def vote(self, corpus: Corpus, progress: Progress = SILENT) -> Votes:
        """Each source's votes on these documents.

        A source that reads a column which these documents do not have abstains, with a warning:
        votes that a vendor gave on the training documents are not to be had for new ones.
        """
        for source in self.sources.sources:
            for absent in _absent(rule.when for rule in source.rules):
                raise RuleError(absent.problem(source.name))
        lacking = {
            s.name: column for s in self.sources.sources if (column := _lacks(s, corpus, self))
        }
        if not lacking:
            return self.sources.vote(corpus, progress, self.cache)
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
        voting = [source for source in self.sources.sources if source.name not in silent]
        if not voting:
            return Votes(matrix, names, tuple(self.sources.classes), corpus.ids.alias("id"))
        votes = Sources(self.sources.classes, voting).vote(corpus, progress, self.cache)
        matrix[:, [names.index(name) for name in votes.sources]] = votes.matrix
        return replace(votes, matrix=matrix, sources=names)

    def to_plain(self) -> Plainly:
        """As JSON has it; what stood in files is copied in."""
        sources = [
            {"name": source.name, "rule": [rule_to_plain(rule) for rule in source.rules]}
            for source in self.sources.sources
        ]
        return {"classes": list(self.sources.classes), "sources": sources}

    @classmethod
    def from_plain(
        cls, plain: Mapping[str, Any], allowed: Allowed, encoder: Encoding | None = None
    ) -> RuleBook:
        """Back from JSON, opening nothing but what is allowed; `encoder` is the model's."""
        space = None if encoder is None else FittedSpace(encoder.first)
        classes = tuple(plain["classes"])
        sources = []
        for source in plain["sources"]:
            place = Place(lambda path: Where(), classes, Path("."), files=False, space=space)
            place = place.named(Where(source=str(source["name"])))
            rules = [rule_from_plain(rule, place, allowed) for rule in source["rule"]]
            sources.append(Source(source["name"], rules))
        return cls(Sources(classes, sources))


def _absent(conditions: Iterator[Condition]) -> Iterator[Absent]:
    """Rules that cannot vote, however deep they stand."""
    for condition in conditions:
        match condition:
            case Absent():
                yield condition
            case AllOf(conditions=parts) | AnyOf(conditions=parts):
                yield from _absent(iter(parts))
            case Not(condition=part):
                yield from _absent(iter((part,)))


def _lacks(source: Source, corpus: Corpus, book: RuleBook) -> str | None:
    """A column that the source reads and the documents do not have."""
    needs = source.needs(tuple(book.sources.classes))
    wanted = [*needs.columns, *(column for measure in needs.measures for column in measure.reads)]
    there = {*corpus.columns.columns, corpus.texts.name}
    return next((column for column in wanted if column not in there), None)


def _with_key(condition: Condition, key_env: str) -> Condition:
    if not isinstance(condition, Prompt):
        return condition
    return replace(condition, endpoint=replace(condition.endpoint, key_env=key_env))


def _with_encoder(condition: Condition, encoder: Encoding) -> Condition:
    """The condition with the model's encoder in place of an equal one, and all that it has learnt written out."""
    match condition:
        case AllOf(conditions=parts):
            return AllOf(tuple(_with_encoder(part, encoder) for part in parts))
        case AnyOf(conditions=parts):
            return AnyOf(tuple(_with_encoder(part, encoder) for part in parts))
        case Not(condition=part):
            return Not(_with_encoder(part, encoder))
        case Similar(space=space) | Described(space=space) if space is not None:
            if space.identity is not None and space.identity == encoder.first().identity:
                return replace(condition.resolved(), space=FittedSpace(encoder.first))
    return condition

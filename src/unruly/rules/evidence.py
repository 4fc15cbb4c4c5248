"""Why each source voted as it did: the rules, held against one document again."""

from __future__ import annotations

from dataclasses import dataclass

from unruly.rules.matching import Ground, Matcher
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Match


@dataclass(frozen=True, eq=False)
class Evidence:
    """The provenance of votes: the documents, and the rules that were matched against them."""

    matcher: Matcher
    corpus: Corpus

    def matches(self, row: int) -> tuple[Match, ...]:
        """What fired on this document, one `Match` for each source that voted."""
        classes = self.matcher.classes
        ground = Ground.of(self.corpus.take([row]))
        frame = self.matcher.with_measures(self.matcher.sources, ground)
        document = frame.row(0, named=True)
        found = []
        for source in self.matcher.sources:
            for number, vote in enumerate(source.rule_votes(classes)):
                decided = frame.select(vote.alias("vote"))["vote"][0]
                if decided is not None:
                    when = source.rules[number].when
                    spans = when.spans(document)
                    found.append(Match(source.name, number, classes[decided], spans, when.reason()))
                    break
        return tuple(found)

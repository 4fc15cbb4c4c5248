"""Rules' own unit tests: every example must match, and no counter-example may."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from unruly.errors import RuleError
from unruly.rules.matching import Ground, Matcher
from unruly.rules.rule import Rule
from unruly.rules.source import Source
from unruly.texts.corpus import Corpus


@dataclass(frozen=True)
class ExampleFailure:
    """One example that does not hold."""

    source: str
    rule: int  # counted from 1
    text: str
    counter: bool  # a counter-example that matched, else an example that did not

    def __str__(self) -> str:
        what = "matches its counter-example" if self.counter else "does not match its example"
        return f"source {self.source!r}, rule {self.rule} {what} {self.text!r}"


def failures(source: Source, classes: tuple[str, ...]) -> Iterator[ExampleFailure]:
    """The examples of one source that do not hold."""
    for number, rule in enumerate(source.rules, start=1):
        texts = [*rule.examples, *rule.counter_examples]
        if not texts:
            continue
        matched = _matched(source, number, rule, texts, classes)
        for i, (text, hit) in enumerate(zip(texts, matched, strict=True)):
            counter = i >= len(rule.examples)
            if hit == counter:
                yield ExampleFailure(source.name, number, text, counter)


def _matched(
    source: Source, number: int, rule: Rule, texts: list[str], classes: tuple[str, ...]
) -> list[bool]:
    """Whether the rule, alone, votes for its label (for any class, if it picks the class itself)."""
    title = source.title(number)
    needs = rule.when.needs(classes)
    columns = [*needs.columns, *(c for m in needs.measures for c in m.reads)]
    if columns:
        raise RuleError(
            f"{title} reads the column {columns[0]!r}, which an example does not have: "
            "drop the examples"
        )
    matcher = Matcher((source,), classes)
    alone = Source(source.name, [rule])
    frame = matcher.with_measures([alone], Ground.of(Corpus.from_texts(texts, name=title)))
    votes = frame.select(rule.vote(classes).alias("vote"))["vote"].to_list()
    if rule.label is None:
        return [vote is not None for vote in votes]
    return [vote == classes.index(rule.label) for vote in votes]

"""A source: a named, ordered set of rules that gives one vote per document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from unruly.errors import RuleError
from unruly.rules.column import Probabilities
from unruly.rules.condition import Needs
from unruly.rules.function import Function, is_rule_function
from unruly.rules.place import Plain
from unruly.rules.rule import Rule
from unruly.votes.votes import ABSTAIN


@dataclass(frozen=True)
class Source:
    """The first of its rules that matches a document decides; where none does, it abstains.

    A function marked with `@unruly.rule`, or a Snorkel `LabelingFunction`, is a rule as it is.

    >>> from unruly.rules.keywords import Keywords
    >>> mood = Source(
    ...     "mood", [Rule("bad", Keywords(("awful",))), Rule("good", Keywords(("lovely",)))]
    ... )
    >>> len(mood.rules)
    2
    """

    name: str
    rules: Sequence[Rule]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise RuleError(f"a source needs a name, not {self.name!r}")
        if isinstance(self.rules, Rule):
            raise RuleError(f"source {self.name!r}: rules must be a list, not one rule")
        object.__setattr__(self, "rules", tuple(_as_rule(rule, self.name) for rule in self.rules))
        if not self.rules:
            raise RuleError(f"source {self.name!r} has no rules: give it one, or drop it")

    def needs(self, classes: tuple[str, ...]) -> Needs:
        """The columns and measures that its rules read."""
        total = Needs()
        for rule in self.rules:
            total = total + rule.when.needs(classes)
        return total

    def rule_votes(self, classes: tuple[str, ...]) -> list[pl.Expr]:
        """Each rule's own vote, null where it abstains."""
        votes = []
        for number, rule in enumerate(self.rules, start=1):
            try:
                votes.append(rule.vote(classes))
            except RuleError as error:
                raise RuleError(f"{self.title(number)}: {error}") from None
        return votes

    def vote(self, classes: tuple[str, ...]) -> pl.Expr:
        """The source's vote: the first rule's that does not abstain, else -1."""
        abstain = pl.lit(ABSTAIN, dtype=pl.Int8)
        return pl.coalesce(*self.rule_votes(classes), abstain).cast(pl.Int8).alias(self.name)

    def soft(self, classes: tuple[str, ...]) -> pl.Expr | None:
        """Probabilities as lists, one number a class, if some rule of the source gives them.

        Where a rule without probabilities decided, its class has them all.
        """
        if not any(isinstance(rule.when, Probabilities) for rule in self.rules):
            return None
        lists = []
        for rule, vote in zip(self.rules, self.rule_votes(classes), strict=True):
            if isinstance(rule.when, Probabilities):
                lists.append(rule.when.soft(classes))
            else:
                sure = pl.concat_list((vote == c).cast(pl.Float32) for c in range(len(classes)))
                lists.append(pl.when(vote.is_not_null()).then(sure))
        return pl.coalesce(*lists)

    def title(self, number: int) -> str:
        """How messages name one of its rules, counted from 1."""
        return f"source {self.name!r}, rule {number}"

    def meaning(self) -> Plain | None:
        """All that decides its votes, its name left out; None when that cannot be known."""
        meanings = [rule.meaning() for rule in self.rules]
        known = [meaning for meaning in meanings if meaning is not None]
        return known if len(known) == len(meanings) else None


def _as_rule(given: object, source: str) -> Rule:
    """A rule, or a function that becomes one without a label of its own."""
    if isinstance(given, Rule):
        return given
    if is_rule_function(given) and callable(given):
        return Rule(None, Function(given))
    raise RuleError(
        f"source {source!r}: {given!r} is no rule: expected Rule(label, condition), or a function "
        "marked with @unruly.rule"
    )

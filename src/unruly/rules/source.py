"""Rules and sources: a rule votes for a class where its condition holds, a source asks its rules in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from unruly.errors import RuleError, Where
from unruly.rules.condition import (
    Condition,
    Needs,
    Partial,
    Plain,
    SoftVoter,
    Voter,
    picks,
    suggestion,
    words_read,
)
from unruly.rules.expressions import words_of
from unruly.rules.function import Function, is_rule_function
from unruly.votes.votes import ABSTAIN, one_of
from unruly.wording import listed, plural


@dataclass(frozen=True)
class Rule:
    """Votes for `label` where `when` holds.

    Several labels, or `not_label`, make a partial vote: one of these classes, or any class but this one.
    `label` is None for conditions that pick the class themselves (a column of votes, a function).
    `examples` are texts that the rule must match, `counter_examples` texts that it must not.

    >>> from unruly.rules.keywords import Keywords
    >>> Rule("spam", Keywords(("subscribe",)), examples=("SUBSCRIBE",)).when.reason()
    'keywords: subscribe'
    """

    label: str | Sequence[str] | None
    when: Condition
    examples: Sequence[str] = ()
    counter_examples: Sequence[str] = ()
    not_label: str | None = None

    def __post_init__(self) -> None:
        for name in ("examples", "counter_examples"):
            texts = getattr(self, name)
            if isinstance(texts, str):
                raise RuleError(f"{name} must be a list, not one text: write [{texts!r}]")
            object.__setattr__(self, name, tuple(texts))
        if self.label is not None and not isinstance(self.label, str):
            several = tuple(self.label)
            object.__setattr__(self, "label", several[0] if len(several) == 1 else several)
        if self.label is not None and self.not_label is not None:
            raise RuleError("a rule has either label or not_label, not both: drop one")
        if self.label is None and self.not_label is None and not picks(self.when):
            raise RuleError(
                f"the rule ({self.when.reason()}) has no label: name the class it votes for"
            )

    def __repr__(self) -> str:
        label = self.label if self.not_label is None else f"not {self.not_label}"
        return f"Rule({label!r}, {self.when!r})"

    def named(self, classes: tuple[str, ...]) -> tuple[int, ...]:
        """The numbers of the classes that it votes for, ascending; none where the condition picks the class.

        >>> from unruly.rules.keywords import Keywords
        >>> Rule(None, Keywords(["refund"]), not_label="praise").named(("praise", "billing", "bug"))
        (1, 2)
        """
        if self.not_label is not None:
            excluded = class_number(self.not_label, classes)
            return tuple(r for r in range(len(classes)) if r != excluded)
        if self.label is None:
            return ()
        labels = (self.label,) if isinstance(self.label, str) else tuple(self.label)
        found = {class_number(label, classes) for label in labels}
        if not labels or len(found) < len(labels) or len(found) == len(classes):
            what = "is empty" if not labels else "names a class twice"
            what = "names every class, which says nothing" if len(found) == len(classes) else what
            raise RuleError(f"label {what}: name some of the classes, each once")
        return tuple(sorted(found))

    def vote(self, classes: tuple[str, ...]) -> pl.Expr:
        """The class number (of a partial vote, the first), or null to abstain."""
        numbers = self.named(classes)
        if isinstance(self.when, Voter) and self.when.picks:
            given = [classes[number] for number in numbers]
            return self.when.vote(one_of(given) if given else None, classes)
        return pl.when(self.when.mask()).then(pl.lit(numbers[0], dtype=pl.Int8))

    def shares(self, classes: tuple[str, ...]) -> pl.Expr | None:
        """The probabilities of its vote as a list, one number a class; None where it names one class."""
        if isinstance(self.when, SoftVoter):
            return self.when.soft(classes)
        numbers = self.named(classes)
        if len(numbers) < 2:
            return None
        shares = [1 / len(numbers) if r in numbers else 0.0 for r in range(len(classes))]
        even = pl.lit(pl.Series([shares], dtype=pl.List(pl.Float32))).first()
        return pl.when(self.when.mask()).then(even)

    def meaning(self) -> Plain | None:
        """All that decides its votes, or None when that cannot be known."""
        meaning = self.when.meaning()
        if meaning is None:
            return None
        if self.not_label is not None:
            return [{"not": self.not_label}, meaning]
        return [self.label or "", meaning]


def class_number(label: str | None, classes: tuple[str, ...]) -> int:
    """The number of a class."""
    if label not in classes:
        raise RuleError(
            f"{label!r} is not a class: the classes are {listed(classes, most=40)}{suggestion(label, classes)}"
        )
    return classes.index(label)


@dataclass(frozen=True)
class Source:
    """The first of its rules that matches a document decides; where none does, it abstains.

    One that is not `enabled` is kept in the project and left out of everything else.

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
    enabled: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise RuleError(f"a source needs a name, not {self.name!r}")
        if isinstance(self.rules, Rule):
            raise RuleError(f"source {self.name!r}: rules must be a list, not one rule")
        object.__setattr__(self, "rules", tuple(_as_rule(rule, self.name) for rule in self.rules))
        if not self.rules:
            raise RuleError(f"source {self.name!r} has no rules: give it one, or drop it")

    def __repr__(self) -> str:
        off = "" if self.enabled else ", disabled"
        return f"Source({self.name!r}, {plural(len(self.rules), 'rule')}{off})"

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
                raise error.located(self.where(number)) from None
        return votes

    def vote(self, classes: tuple[str, ...]) -> pl.Expr:
        """The source's vote: the first rule's that does not abstain, else -1."""
        abstain = pl.lit(ABSTAIN, dtype=pl.Int8)
        return pl.coalesce(*self.rule_votes(classes), abstain).cast(pl.Int8).alias(self.name)

    def soft(self, classes: tuple[str, ...]) -> pl.Expr | None:
        """Probabilities as lists, one number a class, if some rule of the source gives them.

        Where a rule without probabilities decided, its class has them all.
        """
        shares = [rule.shares(classes) for rule in self.rules]
        if not any(share is not None for share in shares):
            return None
        lists = []
        for share, vote in zip(shares, self.rule_votes(classes), strict=True):
            if share is not None:
                lists.append(share)
            else:
                sure = pl.concat_list((vote == c).cast(pl.Float32) for c in range(len(classes)))
                lists.append(pl.when(vote.is_not_null()).then(sure))
        return pl.coalesce(*lists)

    def unasked(self) -> pl.Expr | None:
        """True where its only rule has not been tried; None where all rules are tried everywhere."""
        when = self.rules[0].when
        return when.unasked() if isinstance(when, Partial) and len(self.rules) == 1 else None

    def where(self, number: int) -> Where:
        """How errors name one of its rules, counted from 1."""
        return Where(source=self.name, rule=number)

    def reads(self) -> tuple[str, ...]:
        """The words and phrases that its rules look for in the text, in lower case, each once."""
        return words_of(word for rule in self.rules for word in words_read(rule.when))

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

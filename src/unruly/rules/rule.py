"""One rule: a condition, the class it speaks for, and its own unit tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from unruly.errors import RuleError
from unruly.rules.condition import Condition, Voter, picks
from unruly.rules.place import Plain, suggestion


@dataclass(frozen=True)
class Rule:
    """Votes for `label` where `when` holds.

    `label` is None for conditions that pick the class themselves (a column of votes, a function).
    `examples` are texts that the rule must match, `counter_examples` texts that it must not.

    >>> from unruly.rules.keywords import Keywords
    >>> Rule("spam", Keywords(("subscribe",)), examples=("SUBSCRIBE",)).when.reason()
    'keywords: subscribe'
    """

    label: str | None
    when: Condition
    examples: Sequence[str] = ()
    counter_examples: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("examples", "counter_examples"):
            texts = getattr(self, name)
            if isinstance(texts, str):
                raise RuleError(f"{name} must be a list, not one text: write [{texts!r}]")
            object.__setattr__(self, name, tuple(texts))
        if self.label is None and not picks(self.when):
            raise RuleError(
                f"the rule ({self.when.reason()}) has no label: name the class it votes for"
            )

    def vote(self, classes: tuple[str, ...]) -> pl.Expr:
        """The class number, or null to abstain."""
        if isinstance(self.when, Voter) and self.when.picks:
            return self.when.vote(self.label, classes)
        number = class_number(self.label, classes)
        return pl.when(self.when.mask()).then(pl.lit(number, dtype=pl.Int8))

    def meaning(self) -> Plain | None:
        """All that decides its votes, or None when that cannot be known."""
        meaning = self.when.meaning()
        return None if meaning is None else [self.label or "", meaning]


def class_number(label: str | None, classes: tuple[str, ...]) -> int:
    """The number of a class."""
    if label not in classes:
        raise RuleError(
            f"{label!r} is not a class: the classes are {', '.join(classes)}{suggestion(label, classes)}"
        )
    return classes.index(label)

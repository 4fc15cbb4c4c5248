"""Rules and sources: a rule votes for a class where its condition holds, a source tries its rules in order.

Both are also plain values, as a project file holds them: read with `source_from_plain`, written with `source_to_plain`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

import unruly.rules as rules
from unruly.errors import RuleError, Where
from unruly.rules.condition import (
    NOTHING,
    AllOf,
    AnyOf,
    Condition,
    Lines,
    Needs,
    Not,
    Place,
    Plain,
    Space,
    Table,
    as_tuple,
    is_no_class,
)
from unruly.rules.function import Function, is_rule_function
from unruly.rules.regular_expressions import Allowance, words_of
from unruly.votes.votes import ABSTAIN, one_of
from unruly.wording import plural

# Key of a rule -> the kind of condition in `unruly.rules`, and the keys allowed beside it.
_KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "keywords": ("Keywords", ("match",)),
    "keywords_file": ("Keywords", ("match",)),
    "pattern": ("Pattern", ("ignore_case", "engine", "seconds")),
    "sequence": ("WordSequence", ()),
    "length": ("Length", ()),
    "polarity": ("Sentiment", ()),
    "subjectivity": ("Sentiment", ()),
    "vader": ("Sentiment", ()),
    "entity": ("Entity", ()),
    "field": ("Field", ()),
    "lookup": ("Lookup", ()),
    "column": ("Column", ()),
    "function": ("Function", ()),
    "similar": ("Similar", ()),
    "prompt": ("Prompt", ()),
    "classifier": ("Classifier", ()),
}
# All of these keys: what a table with a condition holds beside its kind.
BESIDE = frozenset(key for _, beside in _KINDS.values() for key in beside)
_COMBINED = ("all", "any", "not")
_RULE_KEYS = ("label", "not_label", "examples", "counter_examples")


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
            object.__setattr__(self, name, as_tuple(name, getattr(self, name)))
        if self.label is not None and not isinstance(self.label, str):
            several = tuple(self.label)
            object.__setattr__(self, "label", several[0] if len(several) == 1 else several)
        if self.label is not None and self.not_label is not None:
            raise RuleError("a rule has either label or not_label, not both: drop one")
        if self.label is None and self.not_label is None and not self.when.picks:
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
        if self.when.picks:
            given = [classes[number] for number in numbers]
            return self.when.vote(one_of(given) if given else None, classes)
        return pl.when(self.when.mask()).then(pl.lit(numbers[0], dtype=pl.Int8))

    def shares(self, classes: tuple[str, ...]) -> pl.Expr | None:
        """The probabilities of its vote as a list, one number a class; None where it names one class."""
        if (soft := self.when.soft(classes)) is not None:
            return soft
        numbers = self.named(classes)
        if len(numbers) < 2:
            return None
        shares = [1 / len(numbers) if r in numbers else 0.0 for r in range(len(classes))]
        even = pl.lit(pl.Series([shares], dtype=pl.List(pl.Float32))).first()
        return pl.when(self.when.mask()).then(even)

    def meaning(self) -> Plain | None:
        """All that its votes depend on; None if that cannot be known."""
        meaning = self.when.meaning()
        if meaning is None:
            return None
        if self.not_label is not None:
            return [{"not": self.not_label}, meaning]
        return [self.label or "", meaning]


def class_number(label: str | None, classes: tuple[str, ...]) -> int:
    """The number of a class."""
    if label not in classes:
        raise RuleError(f"{label!r} {is_no_class(label, classes)}")
    return classes.index(label)


@dataclass(frozen=True)
class Source:
    """The first of its rules that matches a document decides; where none does, it abstains.

    A source that is not `enabled` stays in the project, but does not vote.

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
        return sum((rule.when.needs(classes) for rule in self.rules), start=NOTHING)

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
        return self.first_vote(self.rule_votes(classes))

    def first_vote(self, votes: Sequence[pl.Expr]) -> pl.Expr:
        """The first of its rules' votes that is not an abstention, else -1."""
        abstain = pl.lit(ABSTAIN, dtype=pl.Int8)
        return pl.coalesce(*votes, abstain).cast(pl.Int8).alias(self.name)

    def soft(self, classes: tuple[str, ...]) -> pl.Expr | None:
        """Probabilities as lists, one number a class, if some rule of the source gives them.

        Where a rule without probabilities decided, its class has them all.
        """
        return self.first_shares(self.rule_votes(classes), self.rule_shares(classes), len(classes))

    def rule_shares(self, classes: tuple[str, ...]) -> list[pl.Expr | None]:
        """Each rule's own probabilities; None where it names one class."""
        return [rule.shares(classes) for rule in self.rules]

    def first_shares(
        self, votes: Sequence[pl.Expr], shares: Sequence[pl.Expr | None], classes: int
    ) -> pl.Expr | None:
        """The probabilities of the first of its rules that votes; None where no rule gives any."""
        if not any(share is not None for share in shares):
            return None
        lists = []
        for share, vote in zip(shares, votes, strict=True):
            if share is not None:
                lists.append(share)
            else:
                voted = pl.when(vote != ABSTAIN)  # it may have to abstain for its source
                sure = pl.concat_list(
                    voted.then((vote == c).cast(pl.Float32)).otherwise(
                        pl.lit(float("nan"), pl.Float32)
                    )
                    for c in range(classes)
                )
                lists.append(pl.when(vote.is_not_null()).then(sure))
        return pl.coalesce(*lists)

    def unasked(self) -> pl.Expr | None:
        """True where its only rule has not been tried; None where all rules are tried everywhere."""
        return self.rules[0].when.unasked() if len(self.rules) == 1 else None

    def where(self, number: int) -> Where:
        """How errors name one of its rules, counted from 1."""
        return Where(source=self.name, rule=number)

    def reads(self) -> tuple[str, ...]:
        """The words and phrases that its rules look for in the text, in lower case, each once."""
        return words_of(word for rule in self.rules for word in rule.when.reads())

    def meaning(self) -> Plain | None:
        """All that its votes depend on, its name left out; None if that cannot be known."""
        meanings = [rule.meaning() for rule in self.rules]
        known = [meaning for meaning in meanings if meaning is not None]
        return known if len(known) == len(meanings) else None

    def files_read(self) -> Mapping[str, str] | None:
        """The files that its rules have read at work, with their state then; None if that is not known."""
        found: dict[str, str] = {}
        for rule in self.rules:
            if (read := rule.when.files_read()) is None:
                return None
            found |= read
        return found


def _as_rule(given: object, source: str) -> Rule:
    """A rule, or a function that becomes one without a label of its own."""
    if isinstance(given, Rule):
        return given
    if is_rule_function(given) and callable(given):
        return Rule(None, Function(given))
    raise RuleError(
        f"source {source!r}: {given!r} is not a rule: expected Rule(label, condition), or a function "
        "marked with @unruly.rule"
    )


def source_from_plain(
    table: Mapping[str, object],
    classes: Sequence[str],
    folder: str | Path = ".",
    where: str | Lines = "",
    space: Space | None = None,
    descriptions: Mapping[str, str] | None = None,
    allowance: Allowance | None = None,
) -> Source:
    """A source from the table that a project file holds.

    `where` is for errors: a fixed text, or a function from the keys that lead to the value, such as ("rule", 0,
    "pattern"), to file and line. `space` embeds texts by the project's encoder, `descriptions` are those of the classes,
    `allowance` limits the size of the patterns of all sources together.

    >>> table = {"name": "subscribe", "rule": [{"label": "spam", "keywords": ["subscribe"]}]}
    >>> source_from_plain(table, ["ham", "spam"]).rules[0].when
    Keywords(['subscribe'])
    """
    find: Lines = (lambda path: Where(where or None)) if isinstance(where, str) else where
    place = Place(
        find,
        tuple(classes),
        Path(folder),
        space=space,
        descriptions=descriptions or {},
        allowance=allowance or Allowance(),
    )
    astray = next((key for key in table if key != "prompt" and key in (*_KINDS, *_RULE_KEYS)), None)
    if astray is not None:
        raise place.at(astray).error(
            f"{astray!r} belongs to a rule, not to the source: write rule = [{{ {astray} = ... }}]"
        )
    place.only(table, ("name", "enabled", "rule", "prompt"), "a source")
    if "name" not in table:
        raise place.error('a source has no name: add name = "..."')
    name = place.at("name").text(table["name"])
    place = place.named(Where(source=name))
    if "prompt" in table:
        if "rule" in table:
            raise place.at("rule").error("a source has either a prompt or rules: make two of it")
        prompt = condition_from_plain({"prompt": table["prompt"]}, place)
        return Source(name, [Rule(None, prompt)], _enabled(table, place))
    tables = table.get("rule")
    if isinstance(tables, Mapping) or not isinstance(tables, Sequence) or not tables:
        raise place.error("a source needs rules: write [[source.rule]] below it")
    made = [_rule(rule, i, name, place) for i, rule in enumerate(tables)]
    return Source(name, made, _enabled(table, place))


def _enabled(table: Mapping[str, object], place: Place) -> bool:
    enabled = table.get("enabled", True)
    if not isinstance(enabled, bool):
        raise place.at("enabled").error(f"enabled: expected true or false, found {enabled!r}")
    return enabled


def source_to_plain(source: Source) -> Table:
    """The table that means the same in a project file."""
    head: dict[str, Plain] = {"name": source.name}
    if not source.enabled:
        head["enabled"] = False
    if len(source.rules) == 1 and isinstance(source.rules[0].when, rules.Prompt):
        return {**head, **source.rules[0].when.to_plain()}
    return {**head, "rule": [rule_to_plain(rule) for rule in source.rules]}


def condition_from_plain(table: Mapping[str, object], place: Place) -> Condition:
    """The condition that a table describes by exactly one kind's keys."""
    kinds = [key for key in table if key in _KINDS or key in _COMBINED]
    if len(kinds) != 1:
        known = ", ".join([*_KINDS, *_COMBINED])
        found = (
            f"found {' and '.join(kinds)} together: combine them with all"
            if kinds
            else "found none"
        )
        place.only(table, (*_KINDS, *_COMBINED, *_RULE_KEYS), "a rule")
        raise place.error(f"a rule needs exactly one kind of condition ({known}); {found}")
    kind = kinds[0]
    beside = _KINDS[kind][1] if kind in _KINDS else ()
    place.only(table, (kind, *beside, *_RULE_KEYS), f"a rule with {kind}")
    if kind in _COMBINED:
        return _combined(kind, table[kind], place.at(kind))
    made: Condition = getattr(rules, _KINDS[kind][0]).from_plain(table, place)
    return made


def _rule(value: object, index: int, source: str, place: Place) -> Rule:
    here = place.at("rule", index).named(Where(source=source, rule=index + 1))
    table = here.table(value)
    when = condition_from_plain(table, here)
    label = _labels(table["label"], here.at("label")) if "label" in table else None
    not_label = here.at("not_label").label(table["not_label"]) if "not_label" in table else None
    if label is None and not_label is None and not when.picks:
        raise here.error(f'there is no label: add label = "{here.classes[0]}", or another class')
    examples = here.at("examples").texts(table.get("examples", ()))
    counters = here.at("counter_examples").texts(table.get("counter_examples", ()))
    with here.blamed():
        rule = Rule(label, when, examples, counters, not_label)
        rule.vote(here.classes)
    return rule


def _labels(value: object, place: Place) -> str | tuple[str, ...]:
    """One class, or several for a partial vote."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(place.at(i).label(item) for i, item in enumerate(value))
    return place.label(value)


def _combined(kind: str, value: object, place: Place) -> Condition:
    if kind == "not":
        parts = [_inner(value, place)]
    else:
        if not isinstance(value, Sequence) or isinstance(value, str) or not value:
            raise place.error(f"{kind} needs a list of conditions in braces")
        parts = [_inner(item, place.at(i)) for i, item in enumerate(value)]
    with place.blamed():
        if kind == "not":
            return Not(parts[0])
        return AllOf(tuple(parts)) if kind == "all" else AnyOf(tuple(parts))


def _inner(value: object, place: Place) -> Condition:
    table = place.table(value)
    for key in _RULE_KEYS:
        if key in table:
            raise place.at(key).error(f"{key} belongs to the rule, not to a condition inside it")
    return condition_from_plain(table, place)


def rule_to_plain(rule: Rule) -> Table:
    """The table that means the same in a project file."""
    plain: dict[str, Plain] = {} if rule.label is None else {"label": rule.label}
    plain |= {} if rule.not_label is None else {"not_label": rule.not_label}
    plain |= rule.when.to_plain()
    if rule.examples:
        plain["examples"] = list(rule.examples)
    if rule.counter_examples:
        plain["counter_examples"] = list(rule.counter_examples)
    return plain

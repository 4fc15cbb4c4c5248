"""Sources from the plain values of a project file, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from unruly.errors import RuleError, Where
from unruly.rules.classifier import Classifier
from unruly.rules.column import column_from_plain
from unruly.rules.combine import AllOf, AnyOf, Not
from unruly.rules.condition import Condition, Lines, Place, Plain, Space, Table, picks
from unruly.rules.field import field_from_plain
from unruly.rules.function import Function
from unruly.rules.keywords import Keywords
from unruly.rules.length import Length
from unruly.rules.lookup import Lookup
from unruly.rules.pattern import Pattern
from unruly.rules.prompt import Prompt
from unruly.rules.similar import Similar
from unruly.rules.source import Rule, Source
from unruly.rules.tools import Entity, Sentiment
from unruly.rules.word_sequence import WordSequence

Reader = Callable[[Mapping[str, object], Place], Condition]

# The key that makes a condition of a kind -> who reads it, and the keys that may stand beside it.
_KINDS: dict[str, tuple[Reader, tuple[str, ...]]] = {
    "keywords": (Keywords.from_plain, ("match",)),
    "keywords_file": (Keywords.from_plain, ("match",)),
    "pattern": (Pattern.from_plain, ("ignore_case", "engine", "seconds")),
    "sequence": (WordSequence.from_plain, ()),
    "length": (Length.from_plain, ()),
    "polarity": (Sentiment.from_plain, ()),
    "subjectivity": (Sentiment.from_plain, ()),
    "vader": (Sentiment.from_plain, ()),
    "entity": (Entity.from_plain, ()),
    "field": (field_from_plain, ()),
    "lookup": (Lookup.from_plain, ()),
    "column": (column_from_plain, ()),
    "function": (Function.from_plain, ()),
    "similar": (Similar.from_plain, ()),
    "prompt": (Prompt.from_plain, ()),
    "classifier": (Classifier.from_plain, ()),
}
_COMBINED = ("all", "any", "not")
_RULE_KEYS = ("label", "not_label", "examples", "counter_examples")


def source_from_plain(
    table: Mapping[str, object],
    classes: Sequence[str],
    folder: str | Path = ".",
    where: str | Lines = "",
    space: Space | None = None,
    descriptions: Mapping[str, str] | None = None,
) -> Source:
    """A source from the table that a project file holds.

    `where` begins every complaint: a fixed text, or a function from the keys that lead to the
    trouble, such as ("rule", 0, "pattern"), to the file and the line. `space` is the project's encoder
    as rules see it, `descriptions` what the classes mean.

    >>> table = {"name": "subscribe", "rule": [{"label": "spam", "keywords": ["subscribe"]}]}
    >>> source_from_plain(table, ["ham", "spam"]).rules[0].when
    Keywords(['subscribe'])
    """
    find: Lines = (lambda path: Where(where or None)) if isinstance(where, str) else where
    place = Place(find, tuple(classes), Path(folder), space=space, descriptions=descriptions or {})
    place.only(table, ("name", "enabled", "rule", "prompt"), "a source")
    if "name" not in table:
        raise place.error('a source has no name: add name = "..."')
    name = place.at("name").text(table["name"])
    place = place.named(Where(source=name))
    if "prompt" in table:
        if "rule" in table:
            raise place.at("rule").error("a source has either a prompt or rules: make two of it")
        return Source(name, [Rule(None, Prompt.from_plain(table, place))], _enabled(table, place))
    rules = table.get("rule")
    if isinstance(rules, Mapping) or not isinstance(rules, Sequence) or not rules:
        raise place.error("a source needs rules: write [[source.rule]] below it")
    made = [_rule(rule, i, name, place) for i, rule in enumerate(rules)]
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
    if len(source.rules) == 1 and isinstance(source.rules[0].when, Prompt):
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
    return _KINDS[kind][0](table, place)


def _rule(value: object, index: int, source: str, place: Place) -> Rule:
    here = place.at("rule", index).named(Where(source=source, rule=index + 1))
    table = here.table(value)
    when = condition_from_plain(table, here)
    label = _labels(table["label"], here.at("label")) if "label" in table else None
    not_label = here.at("not_label").label(table["not_label"]) if "not_label" in table else None
    if label is None and not_label is None and not picks(when):
        raise here.error(f'there is no label: add label = "{here.classes[0]}", or another class')
    examples = here.at("examples").texts(table.get("examples", ()))
    counters = here.at("counter_examples").texts(table.get("counter_examples", ()))
    try:
        rule = Rule(label, when, examples, counters, not_label)
        rule.vote(here.classes)
    except RuleError as error:
        raise here.error(error.message) from None
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
    try:
        if kind == "not":
            return Not(parts[0])
        return AllOf(tuple(parts)) if kind == "all" else AnyOf(tuple(parts))
    except RuleError as error:
        raise place.error(error.message) from None


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

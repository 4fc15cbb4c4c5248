"""A source as a form: its rules, each with a class or several and one or more conditions, and how it becomes TOML and back.

Conditions may be combined once, with all or any, and each may be negated; what is nested deeper, and Python functions,
are edited as TOML. A form changes the keys that it shows and leaves the layout and comments of the text alone.

The browser sends every field under a name that says where it belongs: `name`, `r0.votes` (of the first rule),
`r0.c1.kind` (of its second condition), `r0.c1.length:max_words`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from unruly.errors import InputError, ProjectError
from unruly.project.editing import (
    add_rule,
    add_source,
    move_rule,
    remove_rule,
    rename_source,
    replace_rule,
)
from unruly.studio.kinds import KINDS, FormField, Kind, words_in
from unruly.wording import free_name, plural

Item = TypeVar("Item")
VoteForm = Literal["one", "several", "but"]
Joint = Literal["", "all", "any"]
_BESIDE = ("label", "not_label", "examples", "counter_examples")  # keys of a rule, not a condition
DEEPER = "conditions within conditions"


class NoFormError(InputError):
    """A source that a form cannot show."""


@dataclass(frozen=True)
class FormProblem:
    """What is wrong with a form, in its own words."""

    message: str
    field: str  # the name of the field
    missing: bool = False  # nothing was entered yet


@dataclass(frozen=True)
class ConditionForm:
    """One condition. `values` are the fields of all kinds that were filled in, as `kind:key`."""

    kind: str = "keywords"
    values: Mapping[str, str] = field(default_factory=dict)
    negated: bool = False

    @classmethod
    def of_plain(cls, table: Mapping[str, Any]) -> ConditionForm:
        """From the values of the project file; refused where they are more than it can show."""
        if set(table) == {"not"}:
            inner = cls.of_plain(table["not"])
            if inner.negated:
                raise NoFormError(DEEPER)
            return replace(inner, negated=True)
        if {"all", "any", "not"} & set(table):
            raise NoFormError(DEEPER)
        if "function" in table:
            raise NoFormError("Python functions")
        kind = next((kind for key, kind in KINDS.items() if key in table), None)
        if kind is None:
            raise NoFormError(f"rules with {' and '.join(table) or 'no condition'}")
        own = _own(kind, table)
        known = {each.key for each in kind.fields} | set(kind.kept)
        beside = set(table) - ({kind.key} if kind.inner else set(own))
        if set(own) - known or beside:
            raise NoFormError(f"the option {min((set(own) - known) or beside)}")
        if odd := [each.short for each in kind.fields if not each.fits(_at(own, each.key))]:
            raise NoFormError(f"what stands in {odd[0]}")
        shown = {_named(kind, each): each.shown(_at(own, each.key)) for each in kind.fields}
        return cls(kind.key, {name: text for name, text in shown.items() if text})

    def plain(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """As the project file has it; what the form does not show is kept from before."""
        kind = KINDS[self.kind]
        was = before.get("not", {}) if set(before) == {"not"} else before
        old = _own(kind, was) if kind.key in was else {}
        table: dict[str, Any] = {key: old[key] for key in kind.kept if key in old}
        for each in kind.fields:
            _put(table, each.key, each.read(self.text(each)))
        if not kind.inner:
            table.setdefault(kind.key, [] if kind.key == "keywords" else "")
        plain = {kind.key: table} if kind.inner else table
        return {"not": plain} if self.negated else plain

    def text(self, each: FormField) -> str:
        """The text of one of its fields."""
        return self.values.get(f"{self.kind}:{each.key}", "")

    def problem(self, prefix: str) -> FormProblem | None:
        """The first thing that is wrong, or missing."""
        kind = KINDS[self.kind]
        for each in kind.fields:
            name = f"{prefix}{_named(kind, each)}"
            if message := each.problem(self.text(each)):
                return FormProblem(f"{each.short}: {message}", name)
            if each.needed and not self.text(each).strip():
                return FormProblem(f"{each.short}: still empty", name, missing=True)
        for keys in kind.some:
            some = [each for each in kind.fields if each.key in keys]
            if not any(self.text(each).strip() for each in some):
                titles = ", ".join(f"“{each.short}”" for each in some)
                name = f"{prefix}{_named(kind, some[0])}"
                return FormProblem(f"Fill in one of {titles}", name, missing=True)
        return None


@dataclass(frozen=True)
class RuleForm:
    """One rule: what it votes for, where, and its examples."""

    votes: VoteForm = "one"  # for a class, for one of several, or for any class but one
    label: str = ""
    labels: tuple[str, ...] = ()  # the several
    conditions: tuple[ConditionForm, ...] = (ConditionForm(),)
    joint: Joint = ""  # how conditions go together; empty: there is one, on its own
    examples: str = ""
    counter_examples: str = ""

    @property
    def picks(self) -> bool:
        """Whether its condition names the class itself."""
        (first, *more), joint = self.conditions, self.joint
        return not more and not joint and not first.negated and KINDS[first.kind].picks

    @classmethod
    def of_plain(cls, rule: Mapping[str, Any]) -> RuleForm:
        """From the values of the project file."""
        label, but = rule.get("label", ""), rule.get("not_label")
        several = isinstance(label, list)
        joint, tables = _conditions(rule)
        texts = {key: rule.get(key, []) for key in ("examples", "counter_examples")}
        return cls(
            votes="but" if but is not None else "several" if several else "one",
            label=str(but) if but is not None else "" if several else str(label),
            labels=tuple(map(str, label)) if several else (),
            conditions=tuple(map(ConditionForm.of_plain, tables)),
            joint=joint,
            examples="\n".join(texts["examples"]),
            counter_examples="\n".join(texts["counter_examples"]),
        )

    def plain(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """As the project file has it."""
        _, old = _conditions(before)
        conditions = [
            condition.plain(old[i] if i < len(old) else {})
            for i, condition in enumerate(self.conditions)
        ]
        plain: dict[str, Any] = {}
        if not self.picks:
            named = list(self.labels) if self.votes == "several" else self.label
            plain["not_label" if self.votes == "but" else "label"] = named
        plain |= {self.joint: conditions} if self.joint else conditions[0]
        for key, texts in (
            ("examples", self.examples),
            ("counter_examples", self.counter_examples),
        ):
            if lines := [line.strip() for line in texts.splitlines() if line.strip()]:
                plain[key] = lines
        return plain

    def problem(self, prefix: str) -> FormProblem | None:
        """The first thing that is wrong, or missing."""
        if self.votes == "several" and len(self.labels) < 2 and not self.picks:
            return FormProblem("Votes for: tick two classes or more", f"{prefix}votes", True)
        found = (c.problem(f"{prefix}c{j}.") for j, c in enumerate(self.conditions))
        return next((problem for problem in found if problem is not None), None)


@dataclass(frozen=True)
class SourceForm:
    """What the form shows, as texts."""

    name: str = ""
    rules: tuple[RuleForm, ...] = (RuleForm(),)

    @classmethod
    def of_fields(cls, fields: Mapping[str, str]) -> SourceForm:
        """From what the browser sends."""
        rules = tuple(_rule_of(_under(fields, f"r{i}.")) for i in _numbers(fields, "r"))
        return cls(fields.get("name", ""), rules or (RuleForm(),))

    @classmethod
    def of_toml(cls, text: str) -> SourceForm:
        """From a source's TOML; refused where it is more than a form can show.

        >>> form = SourceForm.of_toml(
        ...     '[[source]]\\nname = "a"\\nrule = [{ label = "x", length = { max_words = 3 } }]'
        ... )
        >>> form.rules[0].conditions[0].values
        {'length:max_words': '3'}
        """
        try:
            source = _source(text)
            return cls(str(source["name"]), tuple(map(RuleForm.of_plain, _rules(source))))
        except NoFormError as error:
            raise NoFormError(f"A form cannot show {error.message}: edit it as TOML") from None
        except tomllib.TOMLDecodeError:
            raise NoFormError("This is not valid TOML yet: mend it first") from None
        except (KeyError, ValueError, TypeError, AttributeError):
            raise NoFormError("A form cannot show this source: edit it as TOML") from None

    def to_toml(self, before: str = "") -> str:
        """The source's TOML: the text from before with the fields put in, or a new one."""
        try:
            source = _source(before)
            old = _rules(source)
        except (tomllib.TOMLDecodeError, KeyError, ValueError, TypeError):
            source, old = {}, []
        plain = [rule.plain(old[i] if i < len(old) else {}) for i, rule in enumerate(self.rules)]
        kept = {k: v for k, v in source.items() if k not in ("name", "prompt", "rule")}
        whole = add_source("", {"name": self.name, **kept, "rule": plain}).lstrip("\n")
        if "rule" not in source:
            return whole
        name = source["name"]
        try:
            text = before
            for number in range(len(old), len(plain), -1):
                text = remove_rule(text, name, number)
            for number, rule in enumerate(plain, start=1):
                if number > len(old):
                    text = add_rule(text, name, rule)
                else:
                    text = replace_rule(text, name, number, rule)
            return rename_source(text, name, self.name) if self.name.strip() else text
        except ProjectError:  # written in a way that cannot be edited in place
            return whole

    def named(self, taken: Sequence[str]) -> SourceForm:
        """The form; one whose name was left empty is called after its first words, or after the kind of rule."""
        if self.name.strip():
            return self
        one = self.rules[0].conditions[0]
        words = words_in(one.text(KINDS["keywords"].fields[0])) if one.kind == "keywords" else []
        return replace(self, name=_name_after(words or [one.kind], taken))

    def problem(self) -> FormProblem | None:
        """The first thing that is wrong, or missing."""
        if not self.name.strip():
            return FormProblem("Name of the source: still empty", "name", missing=True)
        for i, rule in enumerate(self.rules):
            if (found := rule.problem(f"r{i}.")) is not None:
                return replace(found, message=self.which(i) + found.message)
        return None

    def which(self, i: int) -> str:
        """How messages name a rule, where there are several."""
        return f"Rule {i + 1}: " if len(self.rules) > 1 else ""

    def problem_at(self, message: str, keys: Sequence[str | int]) -> FormProblem:
        """A complaint about a key of the project file as one about a field of the form."""
        steps = list(keys)
        while steps and not (steps[0] == "rule" and len(steps) > 1):
            steps.pop(0)
        if not steps:
            return FormProblem(message, "name")
        i = int(steps[1])
        rule, rest = self.rules[i], [step for step in steps[2:] if step != "not"]
        prefix, j = f"r{i}.", 0
        if rest and rest[0] in ("label", "not_label"):
            return FormProblem(f"{self.which(i)}Votes for: {message}", f"{prefix}votes")
        if rest and rest[0] in ("examples", "counter_examples"):
            return FormProblem(f"{self.which(i)}{message}", f"{prefix}{rest[0]}")
        if len(rest) > 1 and rest[0] in ("all", "any"):
            j, rest = int(rest[1]), rest[2:]
        kind = KINDS[rule.conditions[j].kind]
        known = [each for each in kind.fields if each.key.partition(".")[0] in rest]
        each = known[-1] if known else kind.fields[0]
        head = f"{each.short}: " if known else ""
        name = f"{prefix}c{j}.{_named(kind, each)}"
        return FormProblem(f"{self.which(i)}{head}{message}", name)


def changed(form: SourceForm, toml: str, act: str, classes: tuple[str, ...]) -> Change:
    """A form, and its TOML, with a rule or a condition added, removed or moved.

    `act` is `add`, `r1.remove`, `r1.up`, `r1.down`, `r1.add` (a condition), or `r1.c0.remove`.
    """
    text = form.to_toml(toml)
    *where, what = act.split(".")
    numbers = [int(step[1:]) for step in where if step[1:].isdecimal()]
    if len(numbers) != len(where) or len(where) > 2:
        raise InputError(f"{act!r} is not an action on a form")
    if not numbers and what == "add":
        return _with_rule(form, text, classes)
    if not numbers or numbers[0] >= len(form.rules):
        raise InputError(f"the form has {plural(len(form.rules), 'rule')}: reload the page")
    i, name = numbers[0], str(_source(text)["name"])
    rules = list(form.rules)
    if len(numbers) == 1 and what in ("up", "down"):
        to = min(max(i + (1 if what == "down" else -1), 0), len(rules) - 1)
        rules.insert(to, rules.pop(i))
        text = move_rule(text, name, i + 1, to + 1)
        return Change(replace(form, rules=tuple(rules)), text, f"r{to}.{what}")
    if len(numbers) == 1 and what == "remove" and len(rules) > 1:
        del rules[i]
        text = remove_rule(text, name, i + 1)
        return Change(replace(form, rules=tuple(rules)), text, f"r{max(i - 1, 0)}.votes")
    conditions = list(rules[i].conditions)
    if len(numbers) == 1 and what == "add":
        conditions.append(ConditionForm())
        focus = f"r{i}.c{len(conditions) - 1}.kind"
    elif len(numbers) == 2 and what == "remove" and numbers[1] < len(conditions) > 1:
        del conditions[numbers[1]]
        focus = f"r{i}.c{max(numbers[1] - 1, 0)}.kind"
    else:
        raise InputError(f"{act!r} is not an action on a form")
    joint: Joint = (rules[i].joint or "all") if len(conditions) > 1 else ""
    rules[i] = replace(rules[i], conditions=tuple(conditions), joint=joint)
    form = replace(form, rules=tuple(rules))
    return Change(form, form.to_toml(text), focus)


@dataclass(frozen=True)
class Change:
    """A changed form, its TOML, and the field to go on with."""

    form: SourceForm
    toml: str
    focus: str


def _with_rule(form: SourceForm, text: str, classes: tuple[str, ...]) -> Change:
    taken = {rule.label for rule in form.rules}
    label = next((name for name in classes if name not in taken), classes[0])
    form = replace(form, rules=(*form.rules, RuleForm(label=label)))
    return Change(form, form.to_toml(text), f"r{len(form.rules) - 1}.votes")


def _source(text: str) -> dict[str, Any]:
    (source,) = tomllib.loads(text)["source"]
    return dict(source)


def _rules(source: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Its rules; that of a prompt stands in the source itself."""
    return [{"prompt": source["prompt"]}] if "prompt" in source else list(source["rule"])


def _conditions(rule: Mapping[str, Any]) -> tuple[Joint, list[Mapping[str, Any]]]:
    """How its conditions go together, and each of them."""
    own = {key: value for key, value in rule.items() if key not in _BESIDE}
    if set(own) == {"all"}:
        return "all", list(own["all"])
    if set(own) == {"any"}:
        return "any", list(own["any"])
    return "", [own]


def _own(kind: Kind, condition: Mapping[str, Any]) -> dict[str, Any]:
    """The table that holds the kind's keys."""
    if not kind.inner:
        return dict(condition)
    table = condition[kind.key]
    return {"name": table} if kind.key == "column" and isinstance(table, str) else dict(table)


def _named(kind: Kind, each: FormField) -> str:
    return f"{kind.key}:{each.key}"


def _at(table: Mapping[str, Any], key: str) -> Any:
    head, _, rest = key.partition(".")
    value = table.get(head)
    return (value or {}).get(rest) if rest else value


def _put(table: dict[str, Any], key: str, value: Any) -> None:
    """Set a value, or drop it where it is empty."""
    head, _, rest = key.partition(".")
    if rest:
        inner = {**table.get(head, {}), rest: value}
        value = {k: v for k, v in inner.items() if v is not None} or None
    table.pop(head, None)
    if value is not None:
        table[head] = value


def _numbers(fields: Mapping[str, str], letter: str) -> list[int]:
    found = {m[1] for name in fields if (m := re.match(rf"{letter}(\d{{1,3}})\.", name))}
    return sorted(map(int, found))


def _under(fields: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {k.removeprefix(prefix): v for k, v in fields.items() if k.startswith(prefix)}


def _rule_of(fields: Mapping[str, str]) -> RuleForm:
    chosen = fields.get("votes", "")
    votes: VoteForm = "several" if chosen == "several" else "but" if chosen == "but" else "one"
    conditions = tuple(_condition_of(_under(fields, f"c{j}.")) for j in _numbers(fields, "c"))
    joint = fields.get("joint", "")
    return RuleForm(
        votes=votes,
        label={"one": chosen.removeprefix("="), "but": fields.get("but", "")}.get(votes, ""),
        labels=tuple(v for k, v in fields.items() if k.startswith("several:"))
        if votes == "several"
        else (),
        conditions=conditions or (ConditionForm(),),
        joint="any" if joint == "any" else "all" if joint == "all" else "",
        examples=fields.get("examples", ""),
        counter_examples=fields.get("counter_examples", ""),
    )


def _condition_of(fields: Mapping[str, str]) -> ConditionForm:
    kind = fields.get("kind", "")
    values = {name: text for name, text in fields.items() if ":" in name and text}
    return ConditionForm(
        kind if kind in KINDS else "keywords", values, negated=bool(fields.get("not"))
    )


def with_words(toml: str, words: Sequence[str]) -> str:
    """A source's TOML with words added to its first list of words.

    >>> text = '[[source]]\\nname = "a"\\nrule = [{ label = "x", keywords = ["b"] }]\\n'
    >>> "keywords = [\\"b\\", \\"c\\"]" in with_words(text, ["c", "b"])
    True
    """
    form, (listed, *_) = SourceForm.of_toml(toml), KINDS["keywords"].fields
    for i, rule in enumerate(form.rules):
        for j, one in enumerate(rule.conditions):
            if one.kind == "keywords" and not one.negated:
                known = words_in(one.text(listed))
                text = listed.shown(list(dict.fromkeys([*known, *words])))
                values = {**one.values, _named(KINDS["keywords"], listed): text}
                conditions = _swapped(rule.conditions, j, replace(one, values=values))
                rules = _swapped(form.rules, i, replace(rule, conditions=conditions))
                return replace(form, rules=rules).to_toml(toml)
    raise InputError(f"{form.name} has no list of words: make a rule of its own")


def _swapped(items: tuple[Item, ...], at: int, item: Item) -> tuple[Item, ...]:
    return (*items[:at], item, *items[at + 1 :])


def new_source(words: Sequence[str], label: str, taken: Sequence[str]) -> str:
    """The TOML of a new source that looks for words, under a name of its own."""
    listed = KINDS["keywords"].fields[0]
    values = {"keywords:keywords": listed.shown(words)}
    rule = RuleForm(label=label, conditions=(ConditionForm(values=values),))
    return SourceForm(_name_after(words, taken), (rule,)).to_toml()


def _name_after(words: Sequence[str], taken: Sequence[str]) -> str:
    """A free name for a source, by the first of its words."""
    base = re.sub(r"\W+", "_", words[0].lower()).strip("_") if words else ""
    return free_name(base or "new", taken)

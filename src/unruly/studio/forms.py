"""A source as it is typed: as a form, as TOML, and parsed within the limits of what a browser may ask for.

A form shows a source with a single rule of a kind that has one; all others are edited as TOML. It changes the keys
that it shows and leaves the layout and comments of the text alone.

Limits: paths stay in the project's folder, models as well. Python runs only from files that the saved project names,
and types that a classifier's file may hold are trusted only where the saved project trusts them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unruly.errors import ProjectError, RuleError
from unruly.project.editing import add_source, rename_source, replace_rule
from unruly.project.file import rule_space
from unruly.project.toml_table import Table
from unruly.rules.classifier import Classifier
from unruly.rules.describe import descriptions_of
from unruly.rules.function import Function
from unruly.rules.plain import source_from_plain
from unruly.rules.source import Source
from unruly.rules.tools import MODEL, Entity
from unruly.studio.form_kinds import KINDS, Kind
from unruly.studio.state import State

_ALWAYS = ("label", "examples", "counter_examples")


@dataclass(frozen=True)
class RuleForm:
    """What the form shows, as texts. `values` are the fields of its kind, by their keys."""

    name: str = ""
    kind: str = "keywords"
    label: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    examples: str = ""
    counter_examples: str = ""

    @classmethod
    def of_fields(cls, fields: Mapping[str, str]) -> RuleForm:
        """From what the browser sends: the fields of a kind are called `kind:key`."""
        kind = KINDS.get(fields.get("kind", ""), KINDS["keywords"])
        values = {each.key: fields.get(f"{kind.key}:{each.key}", "") for each in kind.fields}
        own = {
            key: fields.get(key, "") for key in ("name", "label", "examples", "counter_examples")
        }
        return cls(kind=kind.key, values=values, **own)

    @classmethod
    def of_toml(cls, text: str) -> RuleForm | None:
        """From a source's TOML; None where it is more than a form can show.

        >>> form = RuleForm.of_toml(
        ...     '[[source]]\\nname = "a"\\nrule = [{ label = "x", length = { max_words = 3 } }]'
        ... )
        >>> form.kind, form.values["max_words"], form.values["min_words"]
        ('length', '3', '')
        """
        try:
            source, rule = _single(text)
            kind = next(kind for key, kind in KINDS.items() if key in rule)
            inner = _inner(kind, rule)
            if not _fits(kind, rule, inner):
                return None
            return cls(
                name=str(source["name"]),
                kind=kind.key,
                label=str(rule.get("label", "")),
                values={each.key: each.shown(_at(inner, each.key)) for each in kind.fields},
                examples="\n".join(rule.get("examples", [])),
                counter_examples="\n".join(rule.get("counter_examples", [])),
            )
        except (tomllib.TOMLDecodeError, KeyError, ValueError, TypeError, AttributeError):
            return None
        except StopIteration:
            return None

    def rule(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """The rule as plain values; what the form does not show is kept from before."""
        kind = KINDS[self.kind]
        old = _inner(kind, before) if kind.key in before else {}
        table: dict[str, Any] = {key: old[key] for key in kind.kept if key in old}
        for each in kind.fields:
            _put(table, each.key, each.read(self.values.get(each.key, "")))
        if not kind.inner:
            table.setdefault(kind.key, [] if kind.key == "keywords" else "")
        plain: dict[str, Any] = {} if kind.picks else {"label": self.label}
        plain |= {kind.key: table} if kind.inner else table
        for key, texts in (
            ("examples", self.examples),
            ("counter_examples", self.counter_examples),
        ):
            if lines := [line.strip() for line in texts.splitlines() if line.strip()]:
                plain[key] = lines
        return plain

    def to_toml(self, before: str = "") -> str:
        """The source's TOML: the text from before with the fields put in, or a new one."""
        try:
            source, old = _single(before)
        except (tomllib.TOMLDecodeError, KeyError, ValueError, TypeError):
            source, old = {}, {}
        if "rule" not in source:
            plain = {k: v for k, v in source.items() if k not in ("name", "prompt")}
            return add_source("", {"name": self.name, **plain, "rule": [self.rule(old)]}).lstrip(
                "\n"
            )
        try:
            text = replace_rule(before, source["name"], 1, self.rule(old))
        except ProjectError:  # written in a way that cannot be edited in place
            text = add_source("", {**source, "rule": [self.rule(old)]}).lstrip("\n")
        return rename_source(text, source["name"], self.name) if self.name.strip() else text


def _single(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The source, and its only rule; that of a prompt stands in the source itself."""
    (source,) = tomllib.loads(text)["source"]
    if "prompt" in source:
        return source, {"prompt": source["prompt"]}
    (rule,) = source["rule"]
    return source, rule


def _inner(kind: Kind, rule: Mapping[str, Any]) -> dict[str, Any]:
    """The table that holds the kind's keys."""
    if not kind.inner:
        return {key: value for key, value in rule.items() if key not in _ALWAYS}
    table = rule[kind.key]
    return {"name": table} if kind.key == "column" and isinstance(table, str) else dict(table)


def _fits(kind: Kind, rule: Mapping[str, Any], inner: Mapping[str, Any]) -> bool:
    """Whether the form shows, or keeps, everything that stands there."""
    known = {each.key for each in kind.fields} | set(kind.kept)
    beside = set(rule) - set(_ALWAYS) - ({kind.key} if kind.inner else set(inner))
    shown = all(each.fits(_at(inner, each.key)) for each in kind.fields)
    plain = isinstance(rule.get("label", ""), str) and isinstance(rule.get("examples", []), list)
    return not set(inner) - known and not beside and shown and plain


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


def new_source(words: Sequence[str], label: str, taken: Sequence[str]) -> str:
    """The TOML of a new source that looks for words, under a name of its own."""
    base = re.sub(r"\W+", "_", words[0].lower()).strip("_") if words else "new"
    form = RuleForm(
        name=free_name(base or "new", taken),
        label=label,
        values={"keywords": "\n".join([*words, ""])},
    )
    return form.to_toml()


def free_name(wanted: str, taken: Sequence[str]) -> str:
    """The name, or the first free one with a number.

    >>> free_name("links", ["links", "links 2"])
    'links 3'
    """
    names = (wanted, *(f"{wanted} {i}" for i in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


FILE_KEYS = ("keywords_file", "file")  # whose values are paths
MODELS = ("classifier", "entity")  # whose `model` may be a path


def parse_source(text: str, state: State) -> Source:
    """The one source that a piece of TOML describes."""
    table = Table.parse(text, "rule")
    table.only(("source",))
    tables = table.tables("source")
    if len(tables) != 1:
        raise table.error("write one [[source]] with its rules" if not tables else "one at a time")
    one = tables[0]
    _check(one.values, state)
    found = (descriptions_of(source) for source in state.project.sources.sources)
    return source_from_plain(
        one.values,
        state.classes,
        state.folder,
        lambda path: one.where(*path),
        state.once("space", lambda: rule_space(state.project)),
        next((known for known in found if known is not None), None),
    )


def _check(values: Mapping[str, Any], state: State) -> None:
    saved = [rule.when for source in state.project.sources.with_disabled for rule in source.rules]
    files = {when.file for when in saved if isinstance(when, Function)}
    models = {MODEL} | {when.model for when in saved if isinstance(when, Classifier | Entity)}
    trusted = {one for when in saved if isinstance(when, Classifier) for one in when.trusted}
    for kind, key, value in _pairs(values):
        if key in FILE_KEYS and kind != "function" and isinstance(value, str):
            _inside(value, state.folder)
        elif kind == "function" and key == "file" and value not in files:
            raise RuleError(
                f"the project file does not name {value!r}: Python is run only from files "
                "that it names; add the source there in an editor"
            )
        elif kind in MODELS and key == "model" and isinstance(value, str) and value not in models:
            _inside(value, state.folder)
            if value and not (state.folder / value).exists():
                raise RuleError(f"there is no model {value!r} in the project's folder")
        elif kind == "classifier" and key == "trusted" and not set(map(str, value)) <= trusted:
            raise RuleError(
                "types that a model file may hold are trusted in an editor, not in the browser"
            )


def _pairs(value: object, kind: str = "", key: str = "") -> Iterator[tuple[str, str, Any]]:
    """Every key with the kind of rule that it stands in, and its value."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _pairs(inner, key or kind, str(name))
        return
    yield kind, key, value
    for inner in value if isinstance(value, list) else ():
        if isinstance(inner, Mapping | list):
            yield from _pairs(inner, "", "")


def _inside(value: str, folder: Path) -> None:
    root = folder.resolve()
    if not (root / value).resolve().is_relative_to(root):
        raise RuleError(f"{value!r} is outside the project's folder: copy the file into it")

"""Rules as a model carries them: complete in themselves, without the files that they were read from.

Keyword files and lookup tables are copied in. Of a rule function only the name, its file's name and
that file's SHA-256 are kept, never code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any as Anything

import polars as pl

from unruly.errors import RuleError
from unruly.rules.combine import All, Any, Not
from unruly.rules.condition import NOTHING, Condition, Needs, Row, Span
from unruly.rules.entity import Entity
from unruly.rules.function import Function
from unruly.rules.keywords import Keywords
from unruly.rules.lookup import Lookup
from unruly.rules.place import Place, Plain, Table
from unruly.rules.plain import condition_from_plain
from unruly.rules.rule import Rule
from unruly.rules.source import Source

Plainly = dict[str, Anything]


@dataclass(frozen=True)
class AbsentFunction:
    """The place of a rule function whose file was not given: it knows its name and cannot vote."""

    name: str
    file: str | None
    digest: str | None

    @property
    def picks(self) -> bool:
        return True

    def needs(self, classes: tuple[str, ...]) -> Needs:
        return NOTHING

    def mask(self) -> pl.Expr:
        return pl.lit(False)

    def vote(self, label: str | None, classes: tuple[str, ...]) -> pl.Expr:
        return pl.lit(None, dtype=pl.Int8)

    def spans(self, row: Row) -> tuple[Span, ...]:
        return ()

    def reason(self) -> str:
        return f"function: {self.name}"

    def to_plain(self) -> Table:
        return {"function": {"file": self.file or "", "name": self.name}}

    def meaning(self) -> Plain | None:
        return None


@dataclass(frozen=True)
class FunctionFiles:
    """The Python files that the user names when a model is loaded; only these are ever run."""

    paths: tuple[Path, ...] = ()

    @classmethod
    def of(cls, given: str | Path | Sequence[str | Path] | None) -> FunctionFiles:
        """One path, several, or none."""
        if given is None:
            return cls()
        several = [given] if isinstance(given, str | Path) else list(given)
        return cls(tuple(Path(path) for path in several))

    def find(self, wanted: AbsentFunction, place: Place) -> Condition:
        """The function from the file with the digest that the model remembers, if it was given."""
        for path in self.paths:
            if not path.is_file():
                raise RuleError(f"{path}: there is no such file")
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            if wanted.digest in (None, digest):
                table = {"function": {"file": path.name, "name": wanted.name}}
                return Function.from_plain(table, replace(place, folder=path.parent))
        same = [path for path in self.paths if path.name == Path(wanted.file or "").name]
        if same:
            raise RuleError(
                f"{same[0]}: not the file that the model was fitted with (its SHA-256 began with "
                f"{(wanted.digest or '')[:12]}): give that version, or fit again"
            )
        return wanted


def source_to_carry(source: Source) -> Plainly:
    """A source as JSON holds it, with all that its rules need."""
    return {"name": source.name, "rule": [_rule(rule) for rule in source.rules]}


def carried_source(
    plain: Mapping[str, Anything], classes: tuple[str, ...], files: FunctionFiles
) -> Source:
    """The source again."""
    place = Place(lambda path: "", classes, Path(".")).named(f"source {plain['name']!r}")
    return Source(plain["name"], [_rule_again(rule, place, files) for rule in plain["rule"]])


def _rule(rule: Rule) -> Plainly:
    return {
        "label": rule.label,
        "when": _condition(rule.when),
        "examples": list(rule.examples),
        "counter_examples": list(rule.counter_examples),
    }


def _rule_again(plain: Mapping[str, Anything], place: Place, files: FunctionFiles) -> Rule:
    when = _condition_again(plain["when"], place, files)
    return Rule(plain["label"], when, plain["examples"], plain["counter_examples"])


def _condition(condition: Condition) -> Plainly:
    """Condition to plain values; what stands in files is written out."""
    match condition:
        case All(conditions=parts):
            return {"all": [_condition(part) for part in parts]}
        case Any(conditions=parts):
            return {"any": [_condition(part) for part in parts]}
        case Not(condition=part):
            return {"not": _condition(part)}
        case Keywords():
            return dict(replace(condition, file=None).to_plain())
        case Lookup():
            return {**condition.to_plain(), "known": sorted(condition.known)}
        case Function() | AbsentFunction():
            facts = {"name": condition.name, "file": condition.file, "digest": condition.digest}
            return {"carried_function": facts}
        case Entity():
            path = Path(condition.folder) / condition.model
            model = str(path.resolve()) if path.is_dir() else condition.model
            return dict(replace(condition, model=model).to_plain())
    return dict(condition.to_plain())


def _condition_again(
    plain: Mapping[str, Anything], place: Place, files: FunctionFiles
) -> Condition:
    """Plain values to condition."""
    if "all" in plain:
        return All(tuple(_condition_again(part, place, files) for part in plain["all"]))
    if "any" in plain:
        return Any(tuple(_condition_again(part, place, files) for part in plain["any"]))
    if "not" in plain:
        return Not(_condition_again(plain["not"], place, files))
    if "lookup" in plain:
        return Lookup(**plain["lookup"], known=frozenset(plain["known"]))
    if "carried_function" in plain:
        return files.find(AbsentFunction(**plain["carried_function"]), place)
    return condition_from_plain(plain, place)

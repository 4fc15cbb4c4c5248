"""One rule as a form: keywords, a pattern or a sequence as fields, to TOML and back.

Only sources with a single rule of these kinds have a form; all others are edited as TOML. A form changes the
keys that it knows and leaves the layout and comments of the text alone.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unruly.project.editing import add_source, rename_source, replace_rule

KINDS = ("keywords", "pattern", "sequence")
_FIELDS = {
    "keywords": {"keywords", "match"},
    "pattern": {"pattern", "ignore_case", "engine", "seconds"},
    "sequence": {"sequence"},
}
_ALWAYS = {"label", "examples", "counter_examples"}


@dataclass(frozen=True)
class RuleForm:
    """The fields, as texts; lists have one item a line (or with commas between, for words)."""

    name: str = ""
    kind: str = "keywords"
    label: str = ""
    keywords: str = ""
    inside: bool = False  # words count inside of words, too
    pattern: str = ""
    ignore_case: bool = False
    first: str = ""
    then: str = ""
    within_words: str = ""
    negators: str = ""
    examples: str = ""
    counter_examples: str = ""

    @classmethod
    def of_fields(cls, fields: Mapping[str, str]) -> RuleForm:
        """From what the browser sends."""
        texts = {
            name: fields[name]
            for name, kind in cls.__annotations__.items()
            if kind == "str" and name in fields
        }
        return cls(**texts, inside="inside" in fields, ignore_case="ignore_case" in fields)

    @classmethod
    def of_toml(cls, text: str) -> RuleForm | None:
        """From a source's TOML; None where it is more than a form can show.

        >>> RuleForm.of_toml(
        ...     '[[source]]\\nname = "a"\\nrule = [{ label = "x", keywords = ["b"] }]'
        ... ).keywords
        'b'
        """
        try:
            (source,) = tomllib.loads(text)["source"]
            (rule,) = source["rule"]
            kind = next(kind for kind in KINDS if kind in rule)
            if set(rule) - _ALWAYS - _FIELDS[kind]:
                return None
            fields: dict[str, Any] = {**_common(source, rule), **_own(kind, rule)}
            return cls(**fields)
        except (tomllib.TOMLDecodeError, KeyError, ValueError, TypeError, StopIteration):
            return None

    def rule(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """The rule as plain values; what the form does not show is kept from before."""
        kept = {k: v for k, v in before.items() if k in _FIELDS.get(self.kind, set())}
        plain: dict[str, Any] = {"label": self.label, **kept, **self._condition(kept)}
        for key, texts in (
            ("examples", self.examples),
            ("counter_examples", self.counter_examples),
        ):
            if lines := [line.strip() for line in texts.splitlines() if line.strip()]:
                plain[key] = lines
        return {key: value for key, value in plain.items() if value not in (None, False, "")}

    def _condition(self, kept: Mapping[str, Any]) -> dict[str, Any]:
        if self.kind == "pattern":
            return {"pattern": self.pattern, "ignore_case": self.ignore_case}
        if self.kind == "sequence":
            old = kept.get("sequence", {})
            own: dict[str, Any] = {"first": words_in(self.first), "then": words_in(self.then)}
            if self.within_words.strip().isdecimal():
                own["within_words"] = int(self.within_words)
            if negators := words_in(self.negators):
                own["negators"] = negators
            shown = ("first", "then", "within_words", "negators")
            return {"sequence": {**own, **{k: v for k, v in old.items() if k not in shown}}}
        match = "substring" if self.inside else None
        return {"keywords": words_in(self.keywords), "match": match}

    def to_toml(self, before: str = "") -> str:
        """The source's TOML: the text from before with the fields put in, or a new one."""
        try:
            (source,) = tomllib.loads(before)["source"]
            (old,) = source["rule"]
        except (tomllib.TOMLDecodeError, KeyError, ValueError, TypeError):
            plain = {"name": self.name, "rule": [self.rule({})]}
            return add_source("", plain).lstrip("\n")
        text = replace_rule(before, source["name"], 1, self.rule(old))
        return rename_source(text, source["name"], self.name) if self.name.strip() else text


def _common(source: Mapping[str, Any], rule: Mapping[str, Any]) -> dict[str, str]:
    return {
        "name": str(source["name"]),
        "label": str(rule.get("label", "")),
        "examples": "\n".join(_listed(rule.get("examples", []))),
        "counter_examples": "\n".join(_listed(rule.get("counter_examples", []))),
    }


def _own(kind: str, rule: Mapping[str, Any]) -> dict[str, Any]:
    if kind == "keywords":
        words = _listed(rule["keywords"])
        return {
            "kind": kind,
            "keywords": "\n".join(words)
            if any("," in word for word in words)
            else ", ".join(words),
            "inside": rule.get("match") == "substring",
        }
    if kind == "pattern":
        return {
            "kind": kind,
            "pattern": str(rule["pattern"]),
            "ignore_case": bool(rule.get("ignore_case")),
        }
    inner = rule["sequence"]
    return {
        "kind": kind,
        "first": ", ".join(_listed(inner["first"])),
        "then": ", ".join(_listed(inner["then"])),
        "within_words": str(inner.get("within_words", "")),
        "negators": ", ".join(_listed(inner.get("negators", []))),
    }


def _listed(value: object) -> list[str]:
    return [value] if isinstance(value, str) else [str(item) for item in value]  # type: ignore[attr-defined]


def words_in(text: str) -> list[str]:
    """Words or phrases, one a line; on one line with commas between them; each once.

    >>> words_in("check out, subscribe,"), words_in("well, well\\nfine")
    (['check out', 'subscribe'], ['well, well', 'fine'])
    """
    pieces = text.splitlines() if "\n" in text.strip() else text.split(",")
    return list(dict.fromkeys(piece.strip() for piece in pieces if piece.strip()))


def new_source(words: Sequence[str], label: str, taken: Sequence[str]) -> str:
    """The TOML of a new source that looks for words, under a name of its own."""
    base = re.sub(r"\W+", "_", words[0].lower()).strip("_") if words else "new"
    form = RuleForm(
        name=free_name(base or "new", taken), label=label, keywords="\n".join([*words, ""])
    )
    return form.to_toml()


def free_name(wanted: str, taken: Sequence[str]) -> str:
    """The name, or the first free one with a number.

    >>> free_name("links", ["links", "links 2"])
    'links 3'
    """
    names = (wanted, *(f"{wanted} {i}" for i in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)

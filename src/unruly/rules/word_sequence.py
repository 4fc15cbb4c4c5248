"""`sequence`: one of these words, then one of those not far behind (the paper's PRE…EXP)."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from unruly.errors import RuleError
from unruly.rules.condition import TEXT, Needs, Place, Plain, Row, Span, Table
from unruly.rules.expressions import words_of
from unruly.rules.keywords import word_patterns
from unruly.rules.pattern import LinearPattern, check_linear
from unruly.rules.source import class_number

Negated = Literal["flip", "block"]
_KEYS = (
    "first",
    "then",
    "within_words",
    "within_chars",
    "negators",
    "negators_within",
    "negated",
)


@dataclass(frozen=True)
class WordSequence:
    """One of the words `first`, later one of the words `then`; whole words, whatever the case.

    At most `within_words` words or `within_chars` characters may stand between them; with neither,
    any number. Where a negator stands at most `negators_within` words before it, the match is
    blocked, or the vote flips to the other of two classes. The leftmost match in a text decides.

    >>> rule = WordSequence(["would"], ["again"], within_words=4, negators=["never"])
    >>> texts = ["I would watch it again", "Nobody would. And again", "never would I do it again"]
    >>> pl.DataFrame({TEXT: texts}).select(rule.mask()).to_series().to_list()
    [True, True, False]
    """

    first: Sequence[str]
    then: Sequence[str]
    within_words: int | None = None
    within_chars: int | None = None
    negators: Sequence[str] = ()
    negators_within: int = 3
    negated: Negated = "block"

    def __post_init__(self) -> None:
        for name in ("first", "then", "negators"):
            words = getattr(self, name)
            if isinstance(words, str):
                raise RuleError(f"{name} must be a list, not one text: write [{words!r}]")
            if name != "negators" and not words:
                raise RuleError(f"the list {name} is empty: give at least one word")
            if any(not isinstance(w, str) or not w.strip() for w in words):
                raise RuleError(f"the list {name} has a blank word, or one that is no text")
            object.__setattr__(self, name, tuple(words))
        if self.within_words is not None and self.within_chars is not None:
            raise RuleError("give within_words or within_chars, not both")
        if self.negated not in ("flip", "block"):
            raise RuleError(f'negated must be "flip" or "block", not {self.negated!r}')
        try:
            check_linear(self._with_negator())
        except RuleError as error:
            if "too large" not in str(error):
                raise
            raise RuleError(
                "the sequence is too large: make within_words, within_chars or the lists smaller"
            ) from None

    @classmethod
    def from_plain(cls, table: Mapping[str, object], place: Place) -> WordSequence:
        """From the key `sequence`, a table."""
        here = place.at("sequence")
        inner = here.table(table["sequence"])
        here.only(inner, _KEYS, "sequence")
        for key in ("first", "then"):
            if key not in inner:
                raise here.error(f"a sequence needs the words {key} = [...]")
        limits = {
            key: here.at(key).count(inner[key])
            for key in ("within_words", "within_chars", "negators_within")
            if key in inner
        }
        chosen = here.at("negated").choice(inner.get("negated", "block"), ("flip", "block"))
        try:
            return cls(
                here.at("first").texts(inner["first"]),
                here.at("then").texts(inner["then"]),
                limits.get("within_words"),
                limits.get("within_chars"),
                here.at("negators").texts(inner.get("negators", ())),
                limits.get("negators_within", 3),
                "flip" if chosen == "flip" else "block",
            )
        except RuleError as error:
            raise here.error(error.message) from None

    @property
    def picks(self) -> bool:
        return bool(self.negators) and self.negated == "flip"

    def vote(self, label: str | None, classes: tuple[str, ...]) -> pl.Expr:
        number = class_number(label, classes)
        if len(classes) != 2:
            raise RuleError(
                f'negated = "flip" needs two classes, not {len(classes)}: use "block", '
                "and a rule of its own for the negated words"
            )
        found, turn = self._found().contains(), 1 - 2 * number
        return pl.when(found).then(number + turn * self._negated(found).cast(pl.Int8))

    def needs(self, classes: tuple[str, ...]) -> Needs:
        found, behind, negation = self._found(), self._behind_negator(), self._negation()
        total = Needs(measures=found.measures(), parts=found.size)
        if not self.negators:
            return total
        total += Needs(measures=behind.measures(), parts=behind.size)
        return total + Needs(measures=negation.measures("group"), parts=negation.size)

    def mask(self) -> pl.Expr:
        found = self._found().contains()
        return found & ~self._negated(found) if self.negators else found

    def _negated(self, found: pl.Expr) -> pl.Expr:
        """Whether the leftmost match is behind a negator: groups are slow, so first whether any match is."""
        return self._negation().group(found & self._behind_negator().contains())

    def _found(self) -> LinearPattern:
        return LinearPattern(self._pattern())

    def _negation(self) -> LinearPattern:
        return LinearPattern(self._with_negator())

    def _behind_negator(self) -> LinearPattern:
        return LinearPattern(f"(?i){self._negator()}{self._pattern().removeprefix('(?i)')}")

    def _pattern(self) -> str:
        return f"(?i){_one_of(tuple(self.first))}{self._gap()}{_one_of(tuple(self.then))}"

    def _with_negator(self) -> str:
        """The same with a negator before it, or without: what comes first in the text is found."""
        if not self.negators:
            return self._pattern()
        return f"(?i)(?:{self._negator()})?{self._pattern().removeprefix('(?i)')}"

    def _negator(self) -> str:
        return f"({_one_of(tuple(self.negators))}){_words_between(self.negators_within)}"

    def _gap(self) -> str:
        if self.within_words is not None:
            return _words_between(self.within_words)
        return "(?s:.*?)" if self.within_chars is None else f"(?s:.{{0,{self.within_chars}}}?)"

    def spans(self, row: Row) -> tuple[Span, ...]:
        return self.spans_in([str(row[TEXT])])[0]

    def spans_in(self, texts: Sequence[str]) -> list[tuple[Span, ...]]:
        """The same of several texts."""
        return self._negation().spans_in(texts)

    def reads(self) -> tuple[str, ...]:
        return words_of((*self.first, *self.then))

    def reason(self) -> str:
        return f"sequence: {_few(self.first)} … {_few(self.then)}"

    def to_plain(self) -> Table:
        plain: dict[str, Plain] = {"first": list(self.first), "then": list(self.then)}
        if self.within_words is not None:
            plain["within_words"] = self.within_words
        if self.within_chars is not None:
            plain["within_chars"] = self.within_chars
        if self.negators:
            plain["negators"] = list(self.negators)
            plain["negated"] = self.negated
        if self.negators_within != 3:
            plain["negators_within"] = self.negators_within
        return {"sequence": plain}

    def meaning(self) -> Plain:
        return self.to_plain()


@functools.lru_cache(maxsize=512)
def _one_of(words: tuple[str, ...]) -> str:
    longest_first = sorted({" ".join(w.split()) for w in words}, key=lambda w: (-len(w), w))
    return f"(?:{'|'.join(word_patterns(longest_first))})"


def _words_between(most: int) -> str:
    """At most so many words, and the spaces and marks around them."""
    return rf"\W*?(?:[\w'’-]+\W+){{0,{most}}}?"


def _few(words: Sequence[str]) -> str:
    return "/".join(words[:3]) + ("/…" if len(words) > 3 else "")

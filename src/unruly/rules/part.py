"""`field` with words: keywords or a pattern in another column, or about two entities."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import polars as pl

from unruly.errors import RuleError
from unruly.rules.condition import TEXT, Needs, Row, Span
from unruly.rules.keywords import Keywords
from unruly.rules.pattern import Pattern
from unruly.rules.place import Place, Plain, Table
from unruly.rules.relation_parts import PARTS, RELATION, Part, part_words


@dataclass(frozen=True)
class PartWords:
    """A test of words, held against another column or against a part of relation data.

    Parts are the words `between` the two entities, `before` and `after` the pair, `around` it
    (between, and some on either side), and on the `left` and `right` of entity 1 or 2. `words`
    keeps only so many, those nearest to the entity or the pair.
    """

    test: Keywords | Pattern
    part: Part | None = None
    column: str | None = None
    words: int | None = None

    def __post_init__(self) -> None:
        if (self.part is None) == (self.column is None):
            raise RuleError("give either a part of relation data or a column")
        if self.part is not None and self.part not in PARTS:
            raise RuleError(f"the part must be one of {', '.join(PARTS)}, not {self.part!r}")
        if self.words is not None and (self.part in (None, "between") or self.words < 1):
            raise RuleError("words must be 1 or more, and goes with a part other than between")
        if isinstance(self.test, Pattern) and self.test.engine != "linear":
            raise RuleError("a pattern on a field is run by the linear engine only")

    @classmethod
    def from_plain(cls, inner: Mapping[str, object], here: Place) -> PartWords:
        """From the inside of the key `field`."""
        keywords = "keywords" in inner
        if keywords == ("pattern" in inner):
            raise here.error("a field of words needs either keywords or a pattern")
        beside = ("keywords", "match") if keywords else ("pattern", "ignore_case")
        here.only(inner, ("part", "column", "words", *beside), f"field with {beside[0]}")
        test = (Keywords if keywords else Pattern).from_plain(inner, here)
        part = here.at("part").choice(inner["part"], PARTS) if "part" in inner else None
        column = here.at("column").text(inner["column"]) if "column" in inner else None
        words = here.at("words").count(inner["words"]) if "words" in inner else None
        try:
            return cls(test, cast("Part | None", part), column, words)
        except RuleError as error:
            raise here.error(str(error)) from None

    def _text(self) -> pl.Expr:
        if self.part is not None:
            return part_words(self.part, self.words)
        return pl.col(str(self.column)).cast(pl.String)

    def needs(self, classes: tuple[str, ...]) -> Needs:
        if self.part is not None:
            return Needs(measures=(RELATION,))
        return Needs(columns=(str(self.column),))

    def mask(self) -> pl.Expr:
        return self.test.on(self._text()).fill_null(False)

    def spans(self, row: Row) -> tuple[Span, ...]:
        """Where the part can be found again in the text, the spans within it."""
        if self.part is None:
            return ()
        part = pl.DataFrame([row]).select(self._text().alias("part"))["part"][0]
        place = _find(str(row[TEXT]), part or "")
        if place is None:
            return ()
        inside = self.test.spans({TEXT: str(row[TEXT])[place[0] : place[1]]})
        return tuple((place[0] + start, place[0] + end) for start, end in inside)

    def reason(self) -> str:
        return f"{self.part or self.column}: {self.test.reason()}"

    def to_plain(self) -> Table:
        plain: dict[str, Plain] = {}
        if self.part is not None:
            plain["part"] = self.part
        if self.column is not None:
            plain["column"] = self.column
        if self.words is not None:
            plain["words"] = self.words
        return {"field": {**plain, **self.test.to_plain()}}

    def meaning(self) -> Plain:
        return [self.part or "", self.column or "", self.words or 0, self.test.meaning()]


def _find(text: str, part: str) -> Span | None:
    """Where a part stands in the text, whatever the spaces between its words."""
    if not part.split():
        return None
    found = re.search(r"\s*".join(re.escape(word) for word in part.split()), text)
    return found.span() if found else None

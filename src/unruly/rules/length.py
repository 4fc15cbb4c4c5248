"""`length`: the text has so many words or characters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from unruly.errors import RuleError
from unruly.rules.condition import NOTHING, TEXT, Needs, Place, Plain, Table

_KEYS = ("min_words", "max_words", "min_chars", "max_chars")


@dataclass(frozen=True)
class Length:
    """The number of words (stretches without white space) or characters lies between bounds.

    >>> rule = Length(max_words=2)
    >>> pl.DataFrame({TEXT: ["nice song", "a b c", ""]}).select(rule.mask()).to_series().to_list()
    [True, False, True]
    """

    min_words: int | None = None
    max_words: int | None = None
    min_chars: int | None = None
    max_chars: int | None = None

    def __post_init__(self) -> None:
        if not self._bounds():
            raise RuleError(f"a length needs a bound: one or more of {', '.join(_KEYS)}")
        for unit, low, high in (
            ("words", self.min_words, self.max_words),
            ("chars", self.min_chars, self.max_chars),
        ):
            if low is not None and high is not None and low > high:
                raise RuleError(f"no text has at least {low} and at most {high} {unit}")

    @classmethod
    def from_plain(cls, table: Mapping[str, object], place: Place) -> Length:
        """From the key `length`, a table of bounds."""
        here = place.at("length")
        inner = here.table(table["length"])
        here.only(inner, _KEYS, "length")
        bounds = {key: here.at(key).count(value) for key, value in inner.items()}
        try:
            return cls(*(bounds.get(key) for key in _KEYS))
        except RuleError as error:
            raise here.error(error.message) from None

    def _bounds(self) -> dict[str, int]:
        values = (self.min_words, self.max_words, self.min_chars, self.max_chars)
        return {key: value for key, value in zip(_KEYS, values, strict=True) if value is not None}

    def needs(self, classes: tuple[str, ...]) -> Needs:
        return NOTHING

    def mask(self) -> pl.Expr:
        words = pl.col(TEXT).str.count_matches(r"\S+")
        chars = pl.col(TEXT).str.len_chars()
        tests = []
        for key, bound in self._bounds().items():
            size = words if key.endswith("words") else chars
            tests.append(size >= bound if key.startswith("min") else size <= bound)
        return pl.all_horizontal(tests)

    def reason(self) -> str:
        return "length: " + ", ".join(f"{key} {bound}" for key, bound in self._bounds().items())

    def to_plain(self) -> Table:
        return {"length": dict(self._bounds())}

    def meaning(self) -> Plain:
        return self.to_plain()

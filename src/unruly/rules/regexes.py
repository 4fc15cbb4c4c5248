"""Patterns for Python's engine: look-around and back-references, with a time budget per document."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import polars as pl
import regex

from unruly.errors import RuleError
from unruly.rules.condition import TEXT, RowFailure, Span
from unruly.rules.place import Plain


@dataclass(frozen=True)
class TimedPattern:
    """Whether a pattern occurs, found by backtracking, with a clock running."""

    pattern: str
    ignore_case: bool
    seconds: float

    @property
    def name(self) -> str:
        return f"__regex:{int(self.ignore_case)}:{self.seconds}:{self.pattern}"

    @property
    def reads(self) -> tuple[str, ...]:
        return ()

    def meaning(self) -> Plain:
        return [self.pattern, self.ignore_case]

    def compiled(self) -> regex.Pattern[str]:
        return _compiled(self.pattern, self.ignore_case)

    def compute(self, frame: pl.DataFrame) -> pl.Series:
        compiled = self.compiled()
        found = []
        for row, text in enumerate(frame[TEXT]):
            try:
                found.append(compiled.search(text, timeout=self.seconds) is not None)
            except TimeoutError:
                raise RowFailure(
                    row,
                    f"the pattern {self.pattern!r} ran for more than {self.seconds:g} s: "
                    "write it without nested repetition",
                ) from None
        return pl.Series(self.name, found, dtype=pl.Boolean)

    def spans(self, text: str) -> tuple[Span, ...]:
        return tuple(m.span() for m in self.compiled().finditer(text, timeout=self.seconds))


@functools.lru_cache(maxsize=512)
def _compiled(pattern: str, ignore_case: bool) -> regex.Pattern[str]:
    try:
        return regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
    except regex.error as error:
        at = "" if error.pos is None else f", at character {error.pos + 1}"
        raise RuleError(
            f"the pattern {pattern!r} is not a regular expression: {error.msg}{at}"
        ) from None

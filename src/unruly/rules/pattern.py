"""`pattern`: a regular expression occurs in the text (the paper's MATCH)."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from unruly.errors import RuleError
from unruly.rules.condition import NOTHING, TEXT, Measure, Needs, Row, Span
from unruly.rules.place import Place, Plain, Table
from unruly.rules.regexes import TimedPattern
from unruly.rules.spans import find_spans

Engine = Literal["linear", "python"]


@dataclass(frozen=True)
class Pattern:
    r"""A regular expression matches somewhere in the text.

    The engine is linear in the length of the text, so no pattern can hang; it knows neither
    look-around nor back-references. `engine="python"` knows both, and gives up on a document that
    takes longer than `seconds`. Case counts unless `ignore_case` is set.

    >>> rule = Pattern(r"check\s+.*out")
    >>> pl.DataFrame({TEXT: ["check it out", "Check out"]}).select(
    ...     rule.mask()
    ... ).to_series().to_list()
    [True, False]
    >>> Pattern("(a")
    Traceback (most recent call last):
    ...
    unruly.errors.RuleError: the pattern '(a' is not a regular expression: unclosed group, at character 1
    """

    pattern: str
    ignore_case: bool = False
    engine: Engine = "linear"
    seconds: float = 1.0  # the time that Python's engine may take for one document

    def __post_init__(self) -> None:
        if self.engine == "linear":
            check_linear(self.pattern)
        elif self.engine == "python":
            self._timed().compiled()
        else:
            raise RuleError(f'engine must be "linear" or "python", not {self.engine!r}')
        if not self.seconds > 0:
            raise RuleError(f"seconds must be above 0, not {self.seconds}")

    @classmethod
    def from_plain(cls, table: Mapping[str, object], place: Place) -> Pattern:
        """From the keys `pattern`, `ignore_case`, `engine` and `seconds`."""
        pattern = place.at("pattern").text(table["pattern"])
        engine: Engine = "linear"
        if "engine" in table:
            chosen = place.at("engine").choice(table["engine"], ("linear", "python"))
            engine = "python" if chosen == "python" else "linear"
        ignore_case = place.at("ignore_case").flag(table.get("ignore_case", False))
        seconds = place.at("seconds").number(table.get("seconds", 1.0))
        try:
            return cls(pattern, ignore_case, engine, seconds)
        except RuleError as error:
            raise place.at("pattern").error(str(error)) from None

    def _timed(self) -> TimedPattern:
        return TimedPattern(self.pattern, self.ignore_case, self.seconds)

    def _linear(self) -> str:
        return f"(?i){self.pattern}" if self.ignore_case else self.pattern

    def needs(self, classes: tuple[str, ...]) -> Needs:
        measures: tuple[Measure, ...] = (self._timed(),) if self.engine == "python" else ()
        return Needs(measures=measures) if measures else NOTHING

    def mask(self) -> pl.Expr:
        if self.engine == "python":
            return pl.col(self._timed().name)
        return self.on(pl.col(TEXT))

    def on(self, text: pl.Expr) -> pl.Expr:
        """The same test on another text, by the linear engine."""
        return text.str.contains(self._linear())

    def spans(self, row: Row) -> tuple[Span, ...]:
        if self.engine == "python":
            return self._timed().spans(str(row[TEXT]))
        return find_spans(str(row[TEXT]), self._linear())

    def reason(self) -> str:
        return f"pattern: {self.pattern}"

    def to_plain(self) -> Table:
        plain: dict[str, Plain] = {"pattern": self.pattern}
        if self.ignore_case:
            plain["ignore_case"] = True
        if self.engine != "linear":
            plain["engine"] = self.engine
        if self.seconds != 1.0:
            plain["seconds"] = self.seconds
        return plain

    def meaning(self) -> Plain:
        return {"pattern": self.pattern, "ignore_case": self.ignore_case, "engine": self.engine}


@functools.lru_cache(maxsize=512)
def check_linear(pattern: str) -> None:
    """Refuse a pattern that the linear engine cannot run, with the reason and the position."""
    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.ComputeError as error:
        raise RuleError(f"the pattern {pattern!r} {_complaint(pattern, str(error))}") from None


def _complaint(pattern: str, message: str) -> str:
    if "size limit" in message:
        return "is too large once its repetitions are written out: make the numbers in {} smaller"
    reason = re.search(r"^error: (.*)$", message, re.MULTILINE)
    caret = re.search(r"^( *)\^+", message, re.MULTILINE)
    at = f", at character {len(caret[1]) - 3}" if caret and "\n" not in pattern else ""
    words = reason[1] if reason else message.splitlines()[0]
    if "look-around" in words or "backreferences" in words:
        return (
            f"uses what the linear engine does not know ({words}{at}): "
            'add engine = "python" to the rule, or write it without'
        )
    return f"is not a regular expression: {words}{at}"

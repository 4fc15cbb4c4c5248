"""`pattern`: a regular expression occurs in the text (the paper's MATCH)."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl
import regex

from unruly.errors import RuleError
from unruly.rules.budget import SECONDS, LinearPattern
from unruly.rules.condition import (
    TEXT,
    Needs,
    Place,
    Plain,
    Row,
    Span,
    Table,
)
from unruly.rules.expressions import Engine, check_size, read_expression, short


@dataclass(frozen=True)
class Pattern:
    r"""A regular expression matches somewhere in the text.

    The engine is linear in the length of the text; it knows neither look-around nor
    back-references. `engine="python"` knows both, and may backtrack. With either, the rule gives
    up on a document that takes longer than `seconds`: it abstains there, and that is
    counted. A pattern that is too large once its repetitions are written out is refused. Case
    counts unless `ignore_case` is set.

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
    seconds: float = SECONDS  # the time that it may take for one document

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise RuleError(f"seconds must be above 0, not {self.seconds}")
        if self.engine == "linear":
            check_linear(self.pattern)
        elif self.engine == "python":
            self._timed().compiled()
        else:
            raise RuleError(f'engine must be "linear" or "python", not {self.engine!r}')

    @classmethod
    def from_plain(cls, table: Mapping[str, object], place: Place) -> Pattern:
        """From the keys `pattern`, `ignore_case`, `engine` and `seconds`."""
        pattern = place.at("pattern").text(table["pattern"])
        engine: Engine = "linear"
        if "engine" in table:
            chosen = place.at("engine").choice(table["engine"], ("linear", "python"))
            engine = "python" if chosen == "python" else "linear"
        ignore_case = place.at("ignore_case").flag(table.get("ignore_case", False))
        seconds = place.at("seconds").number(table.get("seconds", SECONDS))
        try:
            return cls(pattern, ignore_case, engine, seconds)
        except RuleError as error:
            raise place.at("pattern").error(error.message) from None

    def _timed(self) -> TimedPattern:
        return TimedPattern(self.pattern, self.ignore_case, self.seconds)

    def _linear(self) -> LinearPattern:
        pattern = f"(?i){self.pattern}" if self.ignore_case else self.pattern
        return LinearPattern(pattern, self.seconds)

    def needs(self, classes: tuple[str, ...]) -> Needs:
        if self.engine == "python":
            return Needs(measures=(self._timed(),))
        linear = self._linear()
        return Needs(measures=linear.measures(), parts=linear.size)

    def mask(self) -> pl.Expr:
        if self.engine == "python":
            return pl.col(self._timed().name)
        return self._linear().contains()

    def on(self, text: pl.Expr) -> pl.Expr:
        """The same test on another text, by the linear engine, without a budget."""
        return text.str.contains(self._linear().pattern)

    def spans(self, row: Row) -> tuple[Span, ...]:
        return self.spans_in([str(row[TEXT])])[0]

    def spans_in(self, texts: Sequence[str]) -> list[tuple[Span, ...]]:
        """The same of several texts."""
        if self.engine == "python":
            return [self._timed().spans(text) for text in texts]
        return self._linear().spans_in(texts)

    def reads(self) -> tuple[str, ...]:
        return read_expression(self.pattern, self.engine).words

    def reason(self) -> str:
        return f"pattern: {self.pattern}"

    def to_plain(self) -> Table:
        plain: dict[str, Plain] = {"pattern": self.pattern}
        if self.ignore_case:
            plain["ignore_case"] = True
        if self.engine != "linear":
            plain["engine"] = self.engine
        if self.seconds != SECONDS:
            plain["seconds"] = self.seconds
        return plain

    def meaning(self) -> Plain:
        return [self.pattern, self.ignore_case, self.engine, self.seconds]


@functools.lru_cache(maxsize=512)
def check_linear(pattern: str) -> None:
    """Refuse a pattern that the linear engine cannot run, with the reason and the position."""
    check_size(pattern)
    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.ComputeError as error:
        raise RuleError(
            f"the pattern {short(pattern)!r} {_complaint(pattern, str(error))}"
        ) from None


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
        return [self.pattern, self.ignore_case, self.seconds]

    def compiled(self) -> regex.Pattern[str]:
        return _compiled(self.pattern, self.ignore_case)

    def compute(self, frame: pl.DataFrame) -> pl.Series:
        """Null where the time was over."""
        compiled = self.compiled()
        found: list[bool | None] = []
        for text in frame[TEXT]:
            try:
                found.append(compiled.search(text or "", timeout=self.seconds) is not None)
            except TimeoutError:
                found.append(None)
        return pl.Series(self.name, found, dtype=pl.Boolean)

    def spans(self, text: str) -> tuple[Span, ...]:
        """The character ranges of its matches; none when that takes too long."""
        try:
            return tuple(m.span() for m in self.compiled().finditer(text, timeout=self.seconds))
        except TimeoutError:
            return ()


@functools.lru_cache(maxsize=512)
def _compiled(pattern: str, ignore_case: bool) -> regex.Pattern[str]:
    check_size(pattern, "python")
    try:
        return regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
    except RecursionError:
        raise RuleError(
            f"the pattern {short(pattern)!r} has too many groups within each other: write it flatter"
        ) from None
    except regex.error as error:
        at = "" if error.pos is None else f", at character {error.pos + 1}"
        raise RuleError(
            f"the pattern {short(pattern)!r} is not a regular expression: {error.msg}{at}"
        ) from None

"""`pattern`: a regular expression occurs in the text (the paper's MATCH), within a time limit for each document.

No pattern can hang a run, in either engine, and Ctrl-C works at once. The linear engine takes at most size × length steps,
some 20 million a second: short texts are matched all at once, long ones in another process. Python's engine has a timeout of
its own, which it checks too seldom (`a++b` takes half a minute for a million letters), so it matches long texts in another
process as well. Where a source runs out of time or memory on a document, the rule abstains, and the matcher counts the
document.
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import PatternSizeError, RuleError
from unruly.rules.condition import TEXT, Condition, Measure, Needs, Place, Plain, Row, Span, Table
from unruly.rules.regular_expressions import (
    Engine,
    SearchedTexts,
    checked,
    find_all_spans,
    mark_spans,
    read_expression,
    short,
    spans_between,
)
from unruly.rules.timeouts import LONG, MOST_SECONDS, SECONDS, STEPS, Countdown, TimedProcess

if TYPE_CHECKING:
    import regex

_EMPTY = pl.lit("")  # not null: polars also matches the bytes behind a null
# Where Python's engine gives up on a text: `(?R)` needs more memory than it allows itself before its time is over.
_GIVEN_UP = (TimeoutError, MemoryError)


@dataclass(frozen=True)
class Pattern(Condition):
    r"""A regular expression matches somewhere in the text.

    The usual engine is linear in the length of the text; it knows neither look-around nor back-references.
    `engine="python"` knows both, and may backtrack. A pattern that is too large once its repetitions are
    written out is refused. Case counts unless `ignore_case` is set.

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
        if not 0 < self.seconds <= MOST_SECONDS:
            raise RuleError(
                f"seconds must be above 0 and at most {MOST_SECONDS:g}, not {self.seconds}"
            )
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
        with place.at("pattern").blamed():
            made = cls(pattern, ignore_case, engine, seconds)
            place.allowance.spend(checked(pattern, engine))
        return made

    def _timed(self) -> TimedPattern:
        return TimedPattern(self.pattern, self.ignore_case, self.seconds)

    def _linear(self) -> LinearPattern:
        return LinearPattern(f"(?i){self.pattern}" if self.ignore_case else self.pattern)

    def needs(self, classes: tuple[str, ...]) -> Needs:
        if self.engine == "python":
            return Needs(measures=(self._timed().measure(),), seconds=self.seconds, pattern=True)
        return Needs(parts=self._linear().size, seconds=self.seconds, pattern=True)

    def mask(self) -> pl.Expr:
        if self.engine == "python":
            return pl.col(self._timed().name)
        return self._linear().contains()

    def on(self, text: pl.Expr) -> pl.Expr:
        """The same test on another text, by the linear engine."""
        return text.str.contains(self._linear().pattern)

    def spans(self, row: Row, countdown: Countdown) -> tuple[Span, ...]:
        finder = self._timed() if self.engine == "python" else self._linear()
        return finder.spans(str(row[TEXT]), countdown)

    def spans_in(self, texts: SearchedTexts, rows: Sequence[int]) -> list[tuple[Span, ...]] | None:
        """The same of several texts; None where that may take long."""
        if self.engine == "python":
            return None
        return self._linear().spans_in([texts.texts[row] for row in rows])

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
    checked(pattern)
    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.ComputeError as error:
        shown, message = short(pattern), str(error)
        if "size limit" in message:  # polars has no type for it
            raise PatternSizeError(
                f"the pattern {shown!r} is too large once its repetitions are written out: "
                "make the numbers in {} smaller"
            ) from None
        raise RuleError(f"the pattern {shown!r} {_complaint(pattern, message)}") from None


def _complaint(pattern: str, message: str) -> str:
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
    """Whether a pattern occurs, by Python's engine, which backtracks, with a timeout."""

    pattern: str
    ignore_case: bool
    seconds: float

    @property
    def name(self) -> str:
        return f"__regex:{int(self.ignore_case)}:{self.seconds}:{self.pattern}"

    def compiled(self) -> regex.Pattern[str]:
        return _compiled(self.pattern, self.ignore_case)

    def measure(self) -> Measure:
        """Of one pattern alone, or of several that share the seconds of a document."""

        def alone(frame: pl.DataFrame) -> pl.Series:
            return self.within(frame, np.full(frame.height, float(self.seconds)))

        meaning: Plain = [self.pattern, self.ignore_case, self.seconds]
        return Measure(self.name, alone, meaning=lambda: meaning, within=self.within)

    def within(self, frame: pl.DataFrame, left: NDArray[np.float64]) -> pl.Series:
        """Null where the time was over."""
        found: list[bool | None] = []
        with TimedProcess() as process:
            for row, text in enumerate(frame[TEXT]):
                seconds = min(self.seconds, float(left[row]))
                if seconds <= 0 or (len(text or "") > LONG and not process.begin()):
                    found.append(None)
                    continue
                start = time.monotonic()
                found.append(self._occurs(text or "", seconds, process))
                left[row] -= time.monotonic() - start
        return pl.Series(self.name, found, dtype=pl.Boolean)

    def _occurs(self, text: str, seconds: float, process: TimedProcess) -> bool | None:
        """None where the time was over, or the memory."""
        if len(text) > LONG:
            spans = process.find(self.pattern, self.ignore_case, text, seconds, most=1)
            return None if spans is None else bool(spans)
        try:
            return self.compiled().search(text, timeout=seconds) is not None
        except _GIVEN_UP:
            return None

    def spans(self, text: str, countdown: Countdown) -> tuple[Span, ...]:
        """The character ranges of its matches; none when that takes too long."""
        if countdown.over:
            return ()
        if len(text) > LONG:
            return tuple(countdown.find(self.pattern, self.ignore_case, text) or ())
        try:
            with countdown.running():
                found = self.compiled().finditer(text, timeout=countdown.left)
                return tuple(match.span() for match in found)
        except _GIVEN_UP:
            return ()


@functools.lru_cache(maxsize=512)
def _compiled(pattern: str, ignore_case: bool) -> regex.Pattern[str]:
    import regex  # which only patterns of Python's engine need

    checked(pattern, "python")
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


@dataclass(frozen=True)
class LinearPattern:
    """A pattern for the linear engine; the matcher decides which texts are matched in this process."""

    pattern: str

    @property
    def size(self) -> int:
        """Its parts, repetitions written out."""
        return checked(self.pattern).size

    def contains(self, within: pl.Expr | None = None) -> pl.Expr:
        """Whether it occurs in the text; looked for only where `within` is true, elsewhere it does not."""
        return self._text(within).str.contains(self.pattern)

    def group(self, within: pl.Expr) -> pl.Expr:
        """Whether its first match has group 1.

        Groups are slow to find, so only where `within` is true; elsewhere there is none.
        """
        return self._text(within).str.extract(self.pattern, 1).is_not_null()

    @staticmethod
    def _text(within: pl.Expr | None) -> pl.Expr:
        text = pl.col(TEXT)
        return text if within is None else pl.when(within).then(text).otherwise(_EMPTY)

    def spans_in(self, texts: Sequence[str]) -> list[tuple[Span, ...]] | None:
        """The character ranges of its matches in each text; None where that may take long."""
        if self.size * sum(map(len, texts)) * 4 > STEPS:
            return None
        return find_all_spans(texts, self.pattern)

    def spans(self, text: str, countdown: Countdown) -> tuple[Span, ...]:
        """The same of one text; none where that takes too long."""
        if countdown.over:
            return ()
        if self.size * len(text.encode()) <= STEPS:
            with countdown.running():
                return find_all_spans([text], self.pattern)[0]
        left, right, replacement = mark_spans(text)
        marked = pl.col(TEXT).str.replace_all(self.pattern, replacement)
        answer = countdown.ask([marked], pl.DataFrame({TEXT: [text]}))
        return () if answer is None else spans_between(str(answer[TEXT][0]), left, right)

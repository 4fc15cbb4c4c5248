"""`pattern`: a regular expression occurs in the text (the paper's MATCH), within a time limit for each document.

No pattern keeps a run waiting, in either engine, and Ctrl-C works at once. The linear engine takes at most size × length
steps, some 20 million a second: within that it matches all texts at once; a longer text is matched in another process,
which is killed when the rule's seconds are over. Python's engine has a clock of its own. Where the time is over, the rule
abstains, and the matcher counts the document.
"""

from __future__ import annotations

import functools
import json
import os
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

import polars as pl
import regex

from unruly.errors import RuleError
from unruly.rules.condition import TEXT, Measure, Needs, Place, Plain, Row, Span, Table
from unruly.rules.expressions import (
    Engine,
    check_size,
    find_all_spans,
    find_spans,
    mark_spans,
    read_expression,
    short,
    spans_between,
)

SECONDS = 1.0  # for one document, unless the rule says otherwise
SMALL = 100  # parts: such a pattern needs no time limit, however long the text
STEPS = 20_000_000  # parts × bytes that are matched at once, about a second
_START = 60.0  # seconds in which the other process must have begun
_EMPTY = pl.lit("")  # and not null: polars matches what stands behind a null, too
How = Literal["contains", "group", "mark"]


@dataclass(frozen=True)
class Pattern:
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


@dataclass(frozen=True)
class LinearPattern:
    """A pattern for the linear engine, with a time limit where it is large."""

    pattern: str
    seconds: float = SECONDS

    @property
    def size(self) -> int:
        """Its parts where it is large enough to need a time limit, else 0."""
        size = check_size(self.pattern)
        return size if size > SMALL else 0

    def contains(self) -> pl.Expr:
        """Whether it occurs in the text; null where it gave up."""
        return self._short_and_long("contains", pl.col(TEXT))

    def group(self, within: pl.Expr) -> pl.Expr:
        """Whether its first match has group 1; null where it gave up.

        Groups are slow to find: they are looked for where `within` is true, and are not there elsewhere.
        """
        return self._short_and_long("group", pl.when(within).then(pl.col(TEXT)).otherwise(_EMPTY))

    def measures(self, how: How = "contains") -> tuple[Measure, ...]:
        """What `contains` or `group` reads beside the text."""
        return (LongTexts(self.pattern, self.seconds, how),) if self.size else ()

    def spans_in(self, texts: Sequence[str]) -> list[tuple[Span, ...]]:
        """The character ranges of its matches in each text; none where that takes too long."""
        size = self.size
        if not size or max(map(len, texts), default=0) * 4 <= _longest(size):
            return find_all_spans(texts, self.pattern)
        return [self.spans(text) for text in texts]

    def spans(self, text: str) -> tuple[Span, ...]:
        """The same of one text."""
        if not self.size or len(text.encode()) <= _longest(self.size):
            return find_spans(text, self.pattern)
        left, right, replacement = mark_spans(text)
        with TimedProcess(self.seconds) as process:
            marked = process.ask("mark", self.pattern, text, replacement)
        return spans_between(str(marked), left, right) if marked is not None else ()

    def _short_and_long(self, how: How, text: pl.Expr) -> pl.Expr:
        if not self.size:
            return _matched(text, self.pattern, how)
        short = pl.col(TEXT).str.len_bytes() <= _longest(self.size)
        long = pl.col(LongTexts(self.pattern, self.seconds, how).name)
        matched = _matched(pl.when(short).then(text).otherwise(_EMPTY), self.pattern, how)
        return pl.when(short).then(matched).otherwise(long)


@dataclass(frozen=True)
class LongTexts:
    """A large pattern's answers for the texts that are too long to be matched with the others."""

    pattern: str
    seconds: float
    how: How

    @property
    def name(self) -> str:
        return f"__long:{self.how}:{self.seconds}:{self.pattern}"

    @property
    def reads(self) -> tuple[str, ...]:
        return ()

    def meaning(self) -> Plain:
        return [self.pattern, self.seconds, self.how]

    def compute(self, frame: pl.DataFrame) -> pl.Series:
        """False for short texts, which are not looked at; null where the time was over."""
        lengths = frame[TEXT].str.len_bytes().fill_null(0).to_numpy()
        answers: list[bool | None] = [False] * frame.height
        rows = (lengths > _longest(check_size(self.pattern))).nonzero()[0].tolist()
        if rows:
            with TimedProcess(self.seconds) as process:
                for row in rows:
                    answer = process.ask(self.how, self.pattern, frame[TEXT][row])
                    answers[row] = None if answer is None else bool(answer)
        return pl.Series(self.name, answers, dtype=pl.Boolean)


def _longest(size: int) -> int:
    """The longest text, in bytes, on which a pattern of this size stays within the budget."""
    return STEPS // max(size, 1)


def _matched(text: pl.Expr, pattern: str, how: How) -> pl.Expr:
    if how == "group":
        return text.str.extract(pattern, 1).is_not_null()
    return text.str.contains(pattern)


_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.stdin.readline())
import polars as pl
print('ready', flush=True)
for line in sys.stdin:
    how, pattern, text, replacement = json.loads(line)
    texts = pl.Series([text])
    if how == 'contains':
        answer = texts.str.contains(pattern)[0]
    elif how == 'group':
        answer = texts.str.extract(pattern, 1)[0] is not None
    else:
        answer = texts.str.replace_all(pattern, replacement)[0]
    print(json.dumps(answer), flush=True)
"""


class TimedProcess:
    """Another process that matches one text at a time, and is ended when it takes too long."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str] = queue.Queue()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def ask(self, how: How, pattern: str, text: str, replacement: str = "") -> object:
        """The answer, or None when the time is over or no process can be had."""
        try:
            self._send([how, pattern, text, replacement])
            line = self._answers.get(timeout=self._seconds)
        except (queue.Empty, OSError):
            self._end()
            return None
        if not line:  # it ended without an answer
            self._end()
            return None
        return json.loads(line)

    def _send(self, question: object) -> None:
        if self._process is None:
            self._answers = queue.Queue()
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
                env={**os.environ, "POLARS_MAX_THREADS": "1"},
            )
            threading.Thread(
                target=_listen, args=(self._process, self._answers), daemon=True
            ).start()
            self._write(sys.path)
            self._answers.get(timeout=_START)
        self._write(question)

    def _write(self, value: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(value) + "\n")
        self._process.stdin.flush()

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdin is not None:
                with suppress(OSError):  # what was not yet sent has nowhere to go
                    self._process.stdin.close()
            self._process = None


def _listen(process: subprocess.Popen[str], answers: queue.Queue[str]) -> None:
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            answers.put(line)
    answers.put("")

"""A budget for each document: no pattern keeps a run waiting, in either engine, and Ctrl-C works at once.

The linear engine takes at most size × length steps, some 20 million a second. Where that is within the
budget it matches all texts at once. A text that is longer is matched in a process of its own, which is
ended when the rule's seconds are over. The rule has then given up on this document: it
abstains there, and the matcher counts it.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

import polars as pl

from unruly.rules.condition import TEXT, Measure, Plain, Span
from unruly.rules.expressions import (
    check_size,
    find_all_spans,
    find_spans,
    mark_spans,
    spans_between,
)

SECONDS = 1.0
SMALL = 100  # parts: such a pattern needs no watching, however long the text
STEPS = 20_000_000  # parts × bytes that are matched at once
_START = 60.0  # seconds in which the other process must have begun
_EMPTY = pl.lit("")  # and not null: polars matches what stands behind a null, too
How = Literal["contains", "group", "mark"]


@dataclass(frozen=True)
class LinearPattern:
    """A pattern for the linear engine, watched where it is large."""

    pattern: str
    seconds: float = SECONDS

    @property
    def size(self) -> int:
        """Its parts where it is large enough to be watched, else 0."""
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

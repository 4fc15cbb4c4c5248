"""Time limits for patterns, and the process in which long texts are matched.

A pattern may come from a stranger's model, and a text from anywhere, so no pattern may hang a run. Each source has a time
limit for each document, which all its rules share, and there is one more for all sources together. What cannot be stopped
in this process runs in another one, which is killed when the time is over.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import RuleError, Where

if TYPE_CHECKING:
    from unruly.rules.condition import Span

SECONDS = 1.0  # for one source and document, unless a rule says otherwise
MOST_SECONDS = 10.0  # for one document, all sources together; no rule may ask for more
SMALL = 100  # parts: such patterns need no time limit, however long the text
LONG = 10_000  # characters: Python's engine looks at its clock too seldom for a longer text
MOST_SPANS = 10_000  # of one text
STEPS = 20_000_000  # parts × bytes that are matched at once, about a second
_TOGETHER = 1 << 20  # bytes of long texts that the other process is given at once
_PATIENCE = 2.0  # seconds that it may take for them; after that, they are given one by one
_START = 60.0  # seconds in which the other process must start


class Countdown:
    """The seconds left for one document, and a process for what cannot be stopped in this one.

    >>> with Countdown(1.0) as countdown:
    ...     with countdown.running():
    ...         found = "song" in "a lovely song"
    >>> found, 0 < countdown.left <= 1
    (True, True)
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self.left = seconds
        self._process = TimedProcess()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.end()

    @property
    def over(self) -> bool:
        """Whether no time is left."""
        return self.left <= 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """The time within is taken from what is left."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.left -= time.monotonic() - start

    def ask(self, expressions: Sequence[pl.Expr], frame: pl.DataFrame) -> pl.DataFrame | None:
        """The values of the expressions on the frame, from the other process; None when the time is over."""
        if self.over or not self._process.begin():
            return None
        with self.running():
            return self._process.ask(expressions, frame, self.left)

    def find(self, pattern: str, ignore_case: bool, text: str) -> list[Span] | None:
        """Where Python's engine finds the pattern, by the other process; None when the time is over."""
        if self.over or not self._process.begin():
            return None
        with self.running():
            return self._process.find(pattern, ignore_case, text, self.left)


_PROGRAM = """
import json, sys
from io import BytesIO
sys.path[:] = json.loads(sys.stdin.buffer.readline())
import polars as pl
import regex
def read():
    return sys.stdin.buffer.read(int.from_bytes(sys.stdin.buffer.read(8), 'big'))
def write(data):
    sys.stdout.buffer.write(len(data).to_bytes(8, 'big') + data)
    sys.stdout.buffer.flush()
write(b'ready')
def find(pattern, ignore_case, most, text):
    matches = regex.compile(pattern, regex.IGNORECASE if ignore_case else 0).finditer(text)
    return [match.span() for match, _ in zip(matches, range(most))]
while count := sys.stdin.buffer.read(8):
    try:
        if not int.from_bytes(count, 'big'):
            write(b'a' + json.dumps(find(*json.loads(read()))).encode())
            continue
        expressions = [pl.Expr.deserialize(BytesIO(read())) for _ in range(int.from_bytes(count, 'big'))]
        frame = pl.read_ipc(BytesIO(read()))
        answer = BytesIO()
        names = [each.meta.output_name() for each in expressions]
        frame.with_columns(expressions).select(names).write_ipc(answer)
        write(b'a' + answer.getvalue())
    except MemoryError:
        break  # no answer: it is given up
    except BaseException as error:
        write(b'e' + (str(error).splitlines() or [type(error).__name__])[0].encode())
"""


class FailedExpression(Exception):
    """The other process could not evaluate an expression; says why."""


class TimedProcess:
    """Another process that evaluates expressions, and is killed when it takes too long."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.Queue[bytes] = queue.Queue()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def begin(self) -> bool:
        """Start the process if there is none; whether it is there."""
        if self._process is not None:
            return True
        self._answers = queue.Queue()
        try:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-c",
                    _PROGRAM,
                ],  # -I: modules of the current folder are not run
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "POLARS_MAX_THREADS": "1"},
            )
            listener = threading.Thread(
                target=_listen, args=(self._process, self._answers), daemon=True
            )
            listener.start()
            self._write(json.dumps(sys.path).encode() + b"\n")
            ready = bool(self._answers.get(timeout=_START))
        except (queue.Empty, OSError):
            ready = False
        if not ready:
            self.end()
        return ready

    def ask(
        self, expressions: Sequence[pl.Expr], frame: pl.DataFrame, seconds: float
    ) -> pl.DataFrame | None:
        """The values of the expressions; None when the time is over, or the process does not start."""
        if not self.begin():
            return None
        used = {name for each in expressions for name in each.meta.root_names()}
        data = BytesIO()
        frame.select(sorted(used) or frame.columns[:1]).write_ipc(data)
        parts = [*(each.meta.serialize() for each in expressions), data.getvalue()]
        answer = self._answer(len(expressions), parts, seconds)
        return None if answer is None else pl.read_ipc(BytesIO(answer))

    def find(
        self, pattern: str, ignore_case: bool, text: str, seconds: float, most: int = MOST_SPANS
    ) -> list[Span] | None:
        """Where Python's engine finds the pattern, the first `most` times; None when the time is over."""
        if not self.begin():
            return None
        answer = self._answer(0, [json.dumps([pattern, ignore_case, most, text]).encode()], seconds)
        return None if answer is None else [(start, end) for start, end in json.loads(answer)]

    def _answer(self, count: int, parts: Sequence[bytes], seconds: float) -> bytes | None:
        try:
            self._write(count.to_bytes(8, "big"))
            for part in parts:
                self._write(len(part).to_bytes(8, "big") + part)
            answer = self._answers.get(timeout=max(seconds, 0.001))
        except (queue.Empty, OSError):
            answer = b""
        if not answer:  # too late, or it ended without an answer
            self.end()
            return None
        if answer.startswith(b"e"):
            raise FailedExpression(answer[1:].decode())
        return answer[1:]

    def _write(self, data: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def end(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdin is not None:
                with suppress(OSError):  # what was not yet sent has nowhere to go
                    self._process.stdin.close()
            self._process = None


def _listen(process: subprocess.Popen[bytes], answers: queue.Queue[bytes]) -> None:
    assert process.stdout is not None
    with process.stdout as pipe:
        while head := pipe.read(8):
            answers.put(pipe.read(int.from_bytes(head, "big")))
    answers.put(b"")


@dataclass(frozen=True)
class RuleVote:
    """What a rule votes by."""

    source: str
    number: int  # of its source, from 1
    expressions: tuple[pl.Expr, ...]  # its vote, and its probabilities where it has any
    schema: Mapping[str, pl.DataType]  # their names and kinds


class Clocks:
    """The seconds left for each of n documents: for each source, and for all together."""

    def __init__(self, n: int) -> None:
        self._all = np.full(n, MOST_SECONDS)
        self._sources: dict[str, NDArray[np.float64]] = {}
        # source -> row -> the first rule that had no time left
        self.given_up: dict[str, dict[int, int]] = {}
        self._rows: NDArray[np.intp] = np.arange(n)  # as those know them who asked for them

    def of(self, source: str, seconds: float) -> NDArray[np.float64]:
        """(n,): the seconds that a source has left; it begins with `seconds`."""
        own = self._sources.setdefault(source, np.full(len(self._all), float(seconds)))
        return np.asarray(np.minimum(own, self._all))

    def spend(self, source: str, rows: int | slice, seconds: float | NDArray[np.float64]) -> None:
        """So much was taken."""
        self._sources[source][rows] -= seconds
        self._all[rows] -= seconds

    def give_up(self, source: str, row: int, rule: int) -> None:
        """No time was left for a rule."""
        self.given_up.setdefault(source, {}).setdefault(int(self._rows[row]), rule)

    def take(self, rows: NDArray[np.bool_]) -> Clocks:
        """The clocks of some documents; they share what was given up."""
        some = Clocks(int(rows.sum()))
        some._all = self._all[rows]
        some._sources = {name: left[rows] for name, left in self._sources.items()}
        some.given_up, some._rows = self.given_up, self._rows[rows]
        return some


def match_long(
    rules: Sequence[RuleVote],
    frame: pl.DataFrame,
    sizes: NDArray[np.int64],
    clocks: Clocks,
    seconds: Mapping[str, float],
) -> pl.DataFrame:
    """The votes of rules on documents of `sizes` (n,) bytes, from another process; null where one abstains.

    Most texts are harmless, so several are tried together; if that takes long, one by one, within the `seconds` of
    each source.
    """
    found = []
    with TimedProcess() as process:
        for start, stop in _ranges(sizes, _TOGETHER):
            part = frame[start:stop]
            answer = _asked(process, rules, part, _PATIENCE)
            if answer is None:
                rows = [
                    _one_document(rules, part[i], start + i, clocks, seconds, process)
                    for i in range(part.height)
                ]
                answer = pl.concat(rows)
            found.append(answer)
    return pl.concat(found)


def _one_document(
    rules: Sequence[RuleVote],
    document: pl.DataFrame,
    row: int,
    clocks: Clocks,
    seconds: Mapping[str, float],
    process: TimedProcess,
) -> pl.DataFrame:
    """One document, rule by rule; when the time of a source is over, its other rules abstain."""
    columns = []
    for rule in rules:
        left = float(clocks.of(rule.source, seconds[rule.source])[row])
        answer = None
        if left > 0 and process.begin():
            start = time.monotonic()
            answer = _asked(process, [rule], document, left)
            clocks.spend(rule.source, row, time.monotonic() - start)
        if answer is None:
            clocks.give_up(rule.source, row, rule.number)
            answer = document.select(pl.lit(None, k).alias(c) for c, k in rule.schema.items())
        columns.append(answer)
    return pl.concat(columns, how="horizontal")


def _ranges(sizes: NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Start and stop of ranges of rows whose sizes sum to at most `most`, or of a single row."""
    start, total = 0, 0
    for row, size in enumerate(sizes.tolist()):
        if row > start and total + size > most:
            yield start, row
            start, total = row, 0
        total += size
    if start < len(sizes):
        yield start, len(sizes)


def _asked(
    process: TimedProcess,
    rules: Sequence[RuleVote],
    frame: pl.DataFrame,
    seconds: float,
) -> pl.DataFrame | None:
    """The votes from the other process; None if it took too long, or if one of several rules failed."""
    expressions = [made for rule in rules for made in rule.expressions]
    try:
        return process.ask(expressions, frame, seconds)
    except FailedExpression as error:
        if len(rules) > 1:
            return None
        where = Where(source=rules[0].source, rule=rules[0].number)
        raise RuleError(str(error), where=where) from None

"""Results on disk: JSON Lines, one line for each finished run, so that a benchmark can be continued."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unruly.bench.run import Failure, Outcome, Run
from unruly.errors import InputError


@dataclass(frozen=True)
class Store:
    """A file of outcomes. A line is appended whole or not at all.

    Where a run stands twice the later line counts; an outcome counts more than a failure. A last line
    that was torn (the disk was full, the power failed) is passed over, and gone after the next `add`.
    """

    path: Path

    def outcomes(self) -> tuple[Outcome, ...]:
        """All finished runs, in the order in which they were first finished."""
        found: dict[Run, Outcome] = {}
        for number, plain in self._lines():
            if "error" not in plain:
                outcome = self._outcome(number, plain)
                found[outcome.run] = outcome
        return tuple(found.values())

    def failures(self) -> tuple[Failure, ...]:
        """Runs that ended with an error and have no outcome."""
        done = {outcome.run for outcome in self.outcomes()}
        found: dict[Run, Failure] = {}
        for _, plain in self._lines():
            if "error" in plain:
                run = Run.from_plain(plain["run"])
                found[run] = Failure(run, plain["error"])
        return tuple(failure for run, failure in found.items() if run not in done)

    def add(self, result: Outcome | Failure) -> None:
        """Append one line, at once and for good."""
        line = json.dumps(result.to_plain(), ensure_ascii=False, allow_nan=False) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._cut_torn()
        where = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            data = line.encode("utf-8")
            if os.write(where, data) < len(data):
                raise InputError(f"{self.path}: the disk is full: make room and start again")
            os.fsync(where)
        finally:
            os.close(where)

    def _outcome(self, number: int, plain: dict[str, Any]) -> Outcome:
        try:
            return Outcome.from_plain(plain)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{self.path}, line {number}: not the outcome of a run ({error}): delete the line to "
                "run it again"
            ) from None

    def _lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Line numbers from 1, and what the lines hold; a torn last line is left out."""
        if not self.path.is_file():
            return
        lines = self.path.read_text(encoding="utf-8", errors="replace").split("\n")
        for number, line in enumerate(lines[:-1], 1):
            try:
                plain = json.loads(line)
            except ValueError as error:
                raise InputError(
                    f"{self.path}, line {number}: not JSON ({error}): delete the line to run it again"
                ) from None
            if not isinstance(plain, dict) or "run" not in plain:
                raise InputError(f"{self.path}, line {number}: it has no 'run': delete the line")
            yield number, plain

    def _cut_torn(self) -> None:
        """A last line without its end is no line."""
        if not self.path.is_file():
            return
        with self.path.open("r+b") as file:
            content = file.read()
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                file.truncate(whole)

"""A shelf that plays: no run takes any time, and some end badly. Other processes can import it."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

from tests.bench.handmade import outcome

from unruly.bench.datasets import Dataset
from unruly.bench.run import Failure, Outcome, Run
from unruly.bench.shelf import Shelf
from unruly.progress import SILENT, Progress


class Playing(Shelf):
    """Answers without learning; `deadly` runs kill the process, `failing` ones fail."""

    def __init__(self, deadly: str = "", failing: str = "") -> None:
        super().__init__({}, {})
        self.deadly, self.failing = deadly, failing
        self.asked: list[Run] = []

    def emptied(self) -> Shelf:
        return Playing(self.deadly, self.failing)

    def dataset(self, run: Run, progress: Progress = SILENT) -> Dataset:
        raise AssertionError("nothing is loaded in a play")

    def attempt(self, run: Run, progress: Progress = SILENT) -> Outcome | Failure:
        self.asked.append(run)
        if run.method == self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        if run.method == self.failing:
            return Failure(run, "no luck")
        made = outcome(run.dataset, run.method, 0.5, foretold_votes=-0.5)
        return replace(made, run=run)

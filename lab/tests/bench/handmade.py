"""Made-up outcomes, a loader that only plays, and a tiny data set in WRENCH's layout."""

from __future__ import annotations

import math
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from unruly.progress import SILENT, Progress
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes
from unruly_lab.bench.datasets import Dataset
from unruly_lab.bench.runner import Loader
from unruly_lab.bench.runs import Failure, Matched, Noise, Outcome, Run


def outcome(
    dataset: str, method: str, accuracy: float, run: dict[str, Any] | None = None, **changes: Any
) -> Outcome:
    """An outcome of that accuracy; more of its run in `run`, more of itself by name."""
    plain: dict[str, Any] = {
        "run": Run(dataset, method, **(run or {})),
        "accuracy": accuracy,
        "f1": (accuracy, accuracy),
        "macro_f1": accuracy,
        "ece": 0.05,
        "valid_accuracy": math.nan,
        "cpu": 12.0,
        "seconds": 12.5,
        "parameters": 50_000,
        "gold_used": (),
        "documents": (1564, 196, 196),
        "classes": ("ham", "spam"),
        "by_matched": (Matched(0, 20, 10), Matched(1, 40, 30)),
        "noise_before": Noise(0.20, 0.20, 0.30),
        "noise_after": Noise(0.10, 0.10, 0.15),
        "version": "0",
    }
    return Outcome(**{**plain, **changes})


def seeds(dataset: str, method: str, *accuracies: float, **changes: Any) -> list[Outcome]:
    """One outcome for each seed."""
    run = changes.pop("run", {})
    return [
        outcome(dataset, method, accuracy, {**run, "seed": seed}, **changes)
        for seed, accuracy in enumerate(accuracies)
    ]


class Playing(Loader):
    """Answers without learning; `deadly` runs kill the process, `failing` ones fail."""

    def __init__(self, deadly: str = "", failing: str = "") -> None:
        super().__init__({}, {})
        self.deadly, self.failing = deadly, failing
        self.asked: list[Run] = []

    def emptied(self) -> Loader:
        return Playing(self.deadly, self.failing)

    def dataset(self, run: Run, progress: Progress = SILENT) -> Dataset:
        raise AssertionError("nothing is loaded in a play")

    def attempt(self, run: Run, progress: Progress = SILENT) -> Outcome | Failure:
        self.asked.append(run)
        if run.method == self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        if run.method == self.failing:
            return Failure(run, "no luck")
        made = outcome(run.dataset, run.method, 0.5, held_out_votes=-0.5)
        return replace(made, run=run)


WORDS = (("song", "lovely", "tune"), ("subscribe", "channel", "click"))
SIZES = {"train": 60, "valid": 20, "test": 24}


def write_tiny(folder: Path, seed: int = 0) -> Path:
    """Write all three splits; the training file is sorted by class."""
    rng = np.random.default_rng(seed)
    for split, n in SIZES.items():
        gold = np.sort(np.arange(n) % 2).astype(np.int16)
        texts = [
            f"{rng.choice(WORDS[c])} {rng.choice(WORDS[c])} number {i}" for i, c in enumerate(gold)
        ]
        right = rng.random((n, 3)) < 0.75
        cast = np.where(right, gold[:, None], 1 - gold[:, None])
        cast = np.where(rng.random((n, 3)) < 0.6, cast, -1)
        corpus = Corpus(
            ids=pl.Series("id", range(n)),
            texts=pl.Series("text", texts),
            columns=pl.DataFrame(),
            gold=gold,
            classes=("ham", "spam"),
        )
        votes = Votes.from_array(cast, classes=["ham", "spam"], sources=["a", "b", "c"])
        votes.to_wrench(folder, corpus, split)
    return folder

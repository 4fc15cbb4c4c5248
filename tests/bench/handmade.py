"""Handmade outcomes for tables and pictures."""

from __future__ import annotations

import math
from typing import Any

from unruly.bench.run import Matched, Noise, Outcome, Run


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
        "noise_before": Noise(0.20, 0.30),
        "noise_after": Noise(0.10, 0.15),
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

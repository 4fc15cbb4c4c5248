"""A figure over several seeds: its mean, and how far the seeds lie apart."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """Mean and sample deviation over n runs; NaN where there is none. Shares, not per cent.

    >>> print(Spread.of([0.90, 0.92, 0.94]))
    92.0 ± 2.0
    >>> print(Spread.of([0.9]))
    90.0
    """

    mean: float
    deviation: float  # NaN for a single run
    n: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Of the values that are numbers."""
        known = [value for value in values if not math.isnan(value)]
        if not known:
            return cls(math.nan, math.nan, 0)
        deviation = statistics.stdev(known) if len(known) > 1 else math.nan
        return cls(statistics.fmean(known), deviation, len(known))

    @property
    def percent(self) -> float:
        """The mean in per cent, as it is printed: one digit."""
        return round(100 * self.mean, 1)

    def __str__(self) -> str:
        if not self.n:
            return "–"
        shown = f"{self.percent:.1f}"
        return shown if math.isnan(self.deviation) else f"{shown} ± {100 * self.deviation:.1f}"

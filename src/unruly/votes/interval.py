"""Intervals for shares: how sure a counted accuracy is."""

from __future__ import annotations

import math
from dataclasses import dataclass

Z95 = 1.959963984540054  # the normal distribution's 97.5 % point


@dataclass(frozen=True)
class Interval:
    """Where a share lies, at 95 %."""

    low: float
    high: float


def wilson(successes: int, trials: int, z: float = Z95) -> Interval | None:
    r"""Wilson's score interval (1927), sound for small counts and for shares near 0 or 1.

        (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n)

    >>> wilson(8, 10)
    Interval(low=0.4901..., high=0.9433...)
    >>> wilson(0, 0) is None
    True
    """
    if not trials:
        return None
    share = successes / trials
    centre = share + z * z / (2 * trials)
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return Interval(max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale))


def clustered(share: float, spread: float, trials: int, z: float = Z95) -> Interval | None:
    """An interval for a share whose trials come in clusters (the votes on one document).

    `spread` is the sum over clusters of (successes - share × trials)²; the variance of the ratio is
    spread / trials² (the usual linearised ratio estimator).
    """
    if not trials:
        return None
    half = z * math.sqrt(spread) / trials
    return Interval(max(0.0, share - half), min(1.0, share + half))

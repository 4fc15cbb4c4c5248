"""The one-cycle schedule (Smith and Topin, 2018): the step size rises for a while, then falls to nothing.

rate(s) = from peak/25 to peak over the first 30 % of the steps, then to peak/250,000, along a cosine
"""

from __future__ import annotations

import math

_RISE, _START, _END = 0.3, 1 / 25, 1 / 250_000


def one_cycle(step: int, steps: int, peak: float) -> float:
    """The step size of a step, counted from 0.

    >>> [round(one_cycle(s, 11, 1.0), 2) for s in (0, 3, 10)]
    [0.04, 1.0, 0.0]
    """
    top = max(_RISE * (steps - 1), 1e-9)
    if step <= top:
        return _between(_START * peak, peak, step / top)
    return _between(peak, _END * peak, (step - top) / max(steps - 1 - top, 1e-9))


def _between(first: float, last: float, part: float) -> float:
    return last + (first - last) * (1 + math.cos(math.pi * part)) / 2

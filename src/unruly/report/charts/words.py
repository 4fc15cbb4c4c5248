"""Figures in words and cells, the same everywhere in the report."""

from __future__ import annotations

import math

from unruly.model.metrics import Share


def percent(value: float | None, digits: int = 1) -> str:
    """`86.2 %`, or a dash.

    >>> percent(0.862), percent(None)
    ('86.2\\xa0%', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    return f"{100 * value:.{digits}f}\u00a0%"  # a space that does not break


def share_words(share: Share | None) -> str:
    """`86.2 % (84.0 to 88.2)`, or a dash.

    >>> share_words(Share(0.862, 0.84, 0.882, 1000))
    '86.2\\xa0% (84.0 to 88.2)'
    """
    if share is None or not share.n:
        return "–"
    return f"{percent(share.value)} ({100 * share.low:.1f} to {100 * share.high:.1f})"


def points_words(share: Share) -> str:
    """`+4.3 points (2.1 to 6.5)`."""
    return f"{100 * share.value:+.1f} points ({100 * share.low:+.1f} to {100 * share.high:+.1f})"


def shortened(name: str, most: int = 18) -> str:
    """A name that fits beside an axis.

    >>> shortened("a very long name of a source")
    'a very long name …'
    """
    return name if len(name) <= most else name[: most - 1] + "…"

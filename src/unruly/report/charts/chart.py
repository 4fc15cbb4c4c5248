"""A picture, its description in words, and the numbers behind it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from unruly.sampling import Share


@dataclass(frozen=True)
class Chart:
    """One chart: `svg` for the eye, `description` for the ear, `rows` for the spreadsheet."""

    name: str  # a word; ids in the page begin with it
    title: str
    description: str
    svg: str  # one element, in the CSS variables of `unruly.drawing`
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    wide: bool = False  # takes the whole width of the page


def percent(value: float | None, digits: int = 1) -> str:
    """`86.2%`, or a dash.

    >>> percent(0.862), percent(None)
    ('86.2%', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    return f"{100 * value:.{digits}f}%"


def share_words(share: Share | None) -> str:
    """`86.2% (84.0 to 88.2)`, or a dash.

    >>> share_words(Share(0.862, 0.84, 0.882, 1000))
    '86.2% (84.0 to 88.2)'
    """
    if share is None or not share.n:
        return "–"
    return f"{percent(share.value)} ({100 * share.low:.1f} to {100 * share.high:.1f})"


def points_words(share: Share) -> str:
    """`+4.3 points (+2.1 to +6.5)`.

    >>> points_words(Share(0.043, 0.021, 0.065, 1000))
    '+4.3 points (+2.1 to +6.5)'
    """
    return f"{100 * share.value:+.1f} points ({100 * share.low:+.1f} to {100 * share.high:+.1f})"

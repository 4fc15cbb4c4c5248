"""Where in a text a pattern matched, found by the very engine that matched it."""

from __future__ import annotations

import polars as pl

_PRIVATE = range(0xE000, 0xF8FF)  # code points without a meaning of their own


def find_spans(text: str, pattern: str) -> tuple[tuple[int, int], ...]:
    r"""Character ranges of every match, from left to right.

    polars tells no positions, but it can wrap each match in two marks that do not occur in the text.

    >>> find_spans("Straße, STRASSE", r"(?i)\bstra\w+")
    ((0, 6), (8, 15))
    """
    used = set(text)
    left, right = (chr(c) for c in [c for c in _PRIVATE if chr(c) not in used][:2])
    marked = pl.Series([text]).str.replace_all(pattern, f"{left}${{0}}{right}")[0]
    spans: list[tuple[int, int]] = []
    position = start = 0
    for char in marked:
        if char == left:
            start = position
        elif char == right:
            spans.append((start, position))
        else:
            position += 1
    return tuple(spans)


def merged(spans: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Spans in order, each once."""
    return tuple(sorted(set(spans)))

"""A text cut into pieces, so that what rules matched can be marked in the colour of the class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from unruly.votes.votes import Match

EXCERPT = 600  # characters of a document in a list


@dataclass(frozen=True)
class Piece:
    """A stretch of a text, and the votes that it gave rise to."""

    text: str
    labels: tuple[str, ...] = ()  # the classes that these votes name, each once
    sources: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """Who marked it, for a tooltip."""
        return f"{', '.join(self.sources)}: {', '.join(self.labels)}" if self.sources else ""


def pieces(
    text: str, matches: Sequence[Match], start: int = 0, end: int | None = None
) -> list[Piece]:
    """The text from `start` to `end`, cut where a match begins or ends.

    >>> links = Match("links", 0, "spam", ((3, 8),), "")
    >>> [(piece.text, piece.labels) for piece in pieces("go there", [links])]
    [('go ', ()), ('there', ('spam',))]
    """
    last = len(text) if end is None else min(end, len(text))
    cuts = {start, last}
    for match in matches:
        for a, b in match.spans:
            cuts |= {min(max(a, start), last), min(max(b, start), last)}
    order = sorted(cuts)
    found = []
    for a, b in pairwise(order):
        over = [m for m in matches if any(x <= a and b <= y for x, y in m.spans)]
        labels = tuple(dict.fromkeys(m.label for m in over))
        found.append(Piece(text[a:b], labels, tuple(m.source for m in over)))
    return found


def excerpt(
    text: str, matches: Sequence[Match], most: int = EXCERPT
) -> tuple[list[Piece], bool, bool]:
    """At most so many characters around the first match, and whether text is cut before and after."""
    if len(text) <= most:
        return pieces(text, matches), False, False
    first = min((a for m in matches for a, _ in m.spans), default=0)
    start = max(0, min(first - most // 3, len(text) - most))
    while 0 < start < first and not text[start - 1].isspace():
        start += 1
    end = min(len(text), start + most)
    return pieces(text, matches, start, end), start > 0, end < len(text)

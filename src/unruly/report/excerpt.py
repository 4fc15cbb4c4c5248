"""The part of a text that is worth showing: around the spans that rules matched, in pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LONGEST = 480  # characters of a text that are shown
AROUND = 70  # characters on either side of a span
LONGEST_SPAN = 120  # a longer match is no span to highlight: the rule looked at the whole text


@dataclass(frozen=True)
class Piece:
    """A run of characters; `label` is the class that a rule named because of it, None for the rest."""

    text: str
    label: int | None = None


def excerpt(text: str, spans: Sequence[tuple[int, int, int]]) -> tuple[Piece, ...]:
    """Pieces of the text, with `(start, end, class)` spans set apart; '…' stands for what is left out.

    >>> excerpt("a good film", [(2, 6, 1)])
    (Piece(text='a ', label=None), Piece(text='good', label=1), Piece(text=' film', label=None))
    """
    short = [span for span in spans if 0 < span[1] - span[0] <= LONGEST_SPAN]
    pieces: list[Piece] = []
    end = 0
    for start, stop in _windows(text, short):
        if start > end:
            pieces.append(Piece(" … "))
        pieces += _cut(text, start, stop, short)
        end = stop
    if end < len(text):
        pieces.append(Piece(" …"))
    return tuple(piece for piece in pieces if piece.text)


def _windows(text: str, spans: Sequence[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Where to look: all of a short text, else around the spans, else the beginning."""
    size = len(text)
    if size <= LONGEST:
        return [(0, size)]
    if not spans:
        return [(0, _at_word(text, LONGEST, -1))]
    windows: list[tuple[int, int]] = [(0, _at_word(text, AROUND, 1))]
    for start, stop, _ in sorted(spans):
        low, high = _at_word(text, start - AROUND, -1), _at_word(text, stop + AROUND, 1)
        if low <= windows[-1][1] + 10:
            windows[-1] = (windows[-1][0], max(high, windows[-1][1]))
        elif sum(b - a for a, b in windows) + high - low <= LONGEST:
            windows.append((low, high))
    return windows


def _at_word(text: str, at: int, step: int) -> int:
    """The next place between two words, looked for a little way in the direction of `step`."""
    at = min(max(at, 0), len(text))
    for place in range(at, at + 15 * step, step):
        if not 0 < place < len(text):
            return min(max(place, 0), len(text))
        if text[place].isspace():
            return place
    return at


def _cut(text: str, start: int, stop: int, spans: Sequence[tuple[int, int, int]]) -> list[Piece]:
    """The window in pieces; where spans overlap, the first one counts."""
    pieces: list[Piece] = []
    at = start
    for low, high, label in sorted(spans):
        low, high = max(low, at), min(high, stop)
        if low >= high:
            continue
        pieces += [Piece(text[at:low]), Piece(text[low:high], label)]
        at = high
    return [*pieces, Piece(text[at:stop])]

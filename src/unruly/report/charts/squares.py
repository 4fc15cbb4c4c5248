"""A board of coloured squares: one artist for all of them, so that large boards are drawn at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unruly.extras import need
from unruly.report.charts.drawing import INK, LETTERS, Axes

_HALF = 0.47  # of a square's side; the rest is the gap


@dataclass(frozen=True)
class Square:
    """One field: where, in which colour and how strong, and what is written on it."""

    row: int
    column: int
    colour: str
    strength: float
    text: str = ""


def board(ax: Axes, squares: Sequence[Square], side: int, letters: float = LETTERS - 1) -> None:
    """Draw the squares; rows go downwards, as in a table."""
    collections = need("matplotlib.collections", extra="report", purpose="the charts of a report")
    colors = need("matplotlib.colors", extra="report", purpose="the charts of a report")
    corners = [
        [
            (s.column + dx * _HALF, s.row + dy * _HALF)
            for dx, dy in ((-1, -1), (1, -1), (1, 1), (-1, 1))
        ]
        for s in squares
    ]
    fills = [colors.to_rgba(s.colour, round(s.strength, 2)) for s in squares]
    ax.add_collection(collections.PolyCollection(corners, facecolors=fills, linewidths=0))
    for s in squares:
        if s.text:
            at = {"ha": "center", "va": "center"}
            ax.text(s.column, s.row, s.text, fontsize=letters, color=INK, **at)
    ax.set_xlim(-0.5, side - 0.5)
    ax.set_ylim(side - 0.5, -0.5)
    ax.grid(visible=False)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)

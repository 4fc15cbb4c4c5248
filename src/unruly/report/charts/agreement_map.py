"""Who agrees and who conflicts with whom: a square for every two sources."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unruly.report.charts.chart import Chart
from unruly.report.charts.drawing import (
    BAD,
    GRID,
    LETTERS,
    MODEL,
    Axes,
    axes,
    figure,
    svg_of,
)
from unruly.report.charts.squares import Square, board
from unruly.report.charts.words import percent, shortened
from unruly.report.pairs import Pairs

MOST = 40  # sources that are drawn, those with most votes
FEW = 5  # common documents, below which nothing is said
NUMBERED = 14  # sources up to which the squares carry their figures


def agreement_map(pairs: Pairs) -> Chart | None:
    """Blue: both say the same; red: they conflict; pale: half and half. None for fewer than two sources."""
    if len(pairs.sources) < 2:
        return None
    order = np.sort(np.argsort(-np.diag(pairs.both), kind="stable")[:MOST])
    both, shares = pairs.both[np.ix_(order, order)], pairs.agreement[np.ix_(order, order)]
    names = [pairs.sources[j] for j in order]
    k = len(names)
    side = min(760.0, max(300.0, 26.0 * k))
    drawing = figure(side + 120, side + 60)
    ax = axes(drawing)
    board(ax, _squares(shares, both), k)
    _name(ax, names)
    return Chart(
        name="agreement",
        title="Who agrees with whom",
        says=_says(names, shares, both, len(pairs.sources)),
        svg=svg_of(drawing, "agreement"),
        header=("source", "other source", "common documents", "agree"),
        rows=tuple(
            (names[i], names[j], f"{both[i, j]:,}", percent(float(shares[i, j])))
            for i in range(k)
            for j in range(i)
            if both[i, j]
        ),
        wide=k > NUMBERED,
    )


def _squares(shares: NDArray[np.float64], both: NDArray[np.int64]) -> list[Square]:
    k = len(shares)
    squares = []
    for i in range(k):
        for j in range(k):
            if i == j or both[i, j] < FEW:
                squares.append(Square(i, j, GRID, 0.4))
                continue
            share = float(shares[i, j])
            colour, strength = MODEL if share >= 0.5 else BAD, 0.06 + 0.7 * abs(2 * share - 1)
            told = f"{100 * share:.0f}" if k <= NUMBERED else ""
            squares.append(Square(i, j, colour, strength, told))
    return squares


def _name(ax: Axes, names: list[str]) -> None:
    size = LETTERS - 1 if len(names) <= 25 else LETTERS - 3
    short = [shortened(name, 16) for name in names]
    slant = {"rotation": 50, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(range(len(names)), short, fontsize=size, **slant)
    ax.set_yticks(range(len(names)), short, fontsize=size)


def _says(names: list[str], shares: NDArray[np.float64], both: NDArray[np.int64], k: int) -> str:
    known = [
        (float(shares[i, j]), names[i], names[j])
        for i in range(len(names))
        for j in range(i)
        if both[i, j] >= FEW
    ]
    said = "Each square holds the share, in per cent, of the documents voted on by both sources on which they say the same: blue where they agree, red where they conflict. "
    if k > len(names):
        said += f"The {len(names)} of {k} sources with most votes are drawn. "
    if not known:
        return said + f"No two sources vote on {FEW} common documents or more."
    low, high = min(known), max(known)
    return (
        said + f"{high[1]} and {high[2]} agree most ({percent(high[0], 0)}), "
        f"{low[1]} and {low[2]} least ({percent(low[0], 0)})."
    )

"""Who agrees and who conflicts with whom: a square for every two sources."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unruly.report.charts.chart import Chart
from unruly.report.charts.drawing import (
    BAD,
    GRID,
    INK,
    LETTERS,
    MODEL,
    Axes,
    axes,
    figure,
    svg_of,
)
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
    _squares(ax, shares, both)
    _frame(ax, names)
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


def _squares(ax: Axes, shares: NDArray[np.float64], both: NDArray[np.int64]) -> None:
    k = len(shares)
    for i in range(k):
        for j in range(k):
            if i == j or both[i, j] < FEW:
                ax.fill_between(
                    [j - 0.47, j + 0.47], i - 0.47, i + 0.47, color=GRID, alpha=0.4, linewidth=0
                )
                continue
            share = float(shares[i, j])
            colour = MODEL if share >= 0.5 else BAD
            ax.fill_between(
                [j - 0.47, j + 0.47],
                i - 0.47,
                i + 0.47,
                color=colour,
                alpha=round(0.06 + 0.7 * abs(2 * share - 1), 2),
                linewidth=0,
            )
            if k <= NUMBERED:
                ax.text(
                    j,
                    i,
                    f"{100 * share:.0f}",
                    ha="center",
                    va="center",
                    fontsize=LETTERS - 1,
                    color=INK,
                )


def _frame(ax: Axes, names: list[str]) -> None:
    k = len(names)
    size = LETTERS - 1 if k <= 25 else LETTERS - 3
    ax.set_xlim(-0.5, k - 0.5)
    ax.set_ylim(k - 0.5, -0.5)
    ax.set_xticks(
        range(k),
        [shortened(n, 16) for n in names],
        rotation=50,
        ha="right",
        rotation_mode="anchor",
        fontsize=size,
    )
    ax.set_yticks(range(k), [shortened(n, 16) for n in names], fontsize=size)
    ax.grid(visible=False)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)


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

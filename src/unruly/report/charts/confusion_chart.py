"""The confusion matrix: true class by row, given class by column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unruly.report.charts.chart import Chart
from unruly.report.charts.drawing import (
    BAD,
    LETTERS,
    MODEL,
    WIDTH,
    axes,
    figure,
    svg_of,
)
from unruly.report.charts.squares import Square, board
from unruly.report.charts.words import percent, shortened

MOST = 20  # classes that are drawn, the commonest


def confusion_chart(table: NDArray[np.float64], classes: tuple[str, ...]) -> Chart | None:
    """Squares with counts, as dark as their share of the true class; None for an empty matrix."""
    if not table.sum():
        return None
    order = np.sort(np.argsort(-table.sum(axis=1), kind="stable")[:MOST])
    drawn = table[np.ix_(order, order)]
    names = [shortened(classes[r], 16) for r in order]
    m = len(names)
    side = min(640.0, max(200.0, 62.0 * m if m < 8 else 34.0 * m))
    drawing = figure(max(WIDTH, side + 150), side + 80)
    ax = axes(drawing)
    squares = _squares(drawn, table.sum(axis=1)[order])
    board(ax, squares, m, LETTERS if m < 9 else LETTERS - 3)
    ax.set_xticks(range(m), names, rotation=0 if m < 4 else 50, ha="center" if m < 4 else "right")
    ax.set_yticks(range(m), names)
    ax.set_xlabel("given class")
    ax.set_ylabel("true class")
    return Chart(
        name="confusion",
        title="Confusion matrix",
        says=_says(table, classes),
        svg=svg_of(drawing, "confusion"),
        header=("true class", *classes),
        rows=tuple(
            (name, *(f"{int(count):,}" for count in table[r])) for r, name in enumerate(classes)
        ),
        wide=m > 8,
    )


def _squares(table: NDArray[np.float64], of: NDArray[np.float64]) -> list[Square]:
    m = len(table)
    squares = []
    for i in range(m):
        for j in range(m):
            share = float(table[i, j] / of[i]) if of[i] else 0.0
            told = f"{int(table[i, j]):,}" + (f"\n{100 * share:.0f} %" if m < 6 else "")
            squares.append(Square(i, j, MODEL if i == j else BAD, 0.05 + 0.6 * share, told))
    return squares


def _says(table: NDArray[np.float64], classes: tuple[str, ...]) -> str:
    right = percent(float(np.trace(table) / table.sum()))
    wrong = table.copy()
    np.fill_diagonal(wrong, 0)
    if not wrong.any():
        return f"{right} of the documents are given their true class."
    i, j = np.unravel_index(int(wrong.argmax()), wrong.shape)
    return (
        f"{right} of the documents are given their true class. The commonest mistake: {classes[int(i)]} given as "
        f"{classes[int(j)]}, {int(wrong[i, j]):,} of {int(table[i].sum()):,}."
    )

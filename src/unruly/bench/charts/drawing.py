"""A quiet figure that stands alone, and the same SVG bytes for the same figure.

Colours are those of Okabe and Ito (2008), which readers of every colour vision can tell apart; marks and
line styles differ too, so that nothing is told by colour alone.
"""

from __future__ import annotations

import re
from typing import Any

from unruly.drawing import Axes as Axes
from unruly.drawing import Figure as Figure
from unruly.drawing import Style

INK, SOFT, GRID = "#222222", "#6b6b6b", "#e3e3e3"
BLUE, ORANGE, GREEN, RED, SKY, PINK = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#d55e00",
    "#56b4e9",
    "#cc79a7",
)
CYCLE = (BLUE, ORANGE, GREEN, RED, PINK, SKY, INK)
MARKS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
LETTERS = 11.0
WIDTH, HEIGHT = 560.0, 340.0  # points
STYLE = Style(INK, SOFT, GRID, "white", LETTERS, purpose="the pictures of the benchmark")


def figure(width: float = WIDTH, height: float = HEIGHT) -> Figure:
    """An empty figure of so many points, no global state behind it."""
    return STYLE.figure(width, height)


def axes(figure: Figure, where: tuple[int, int, int] = (1, 1, 1)) -> Axes:
    """Axes without a box: two quiet spines, a light grid."""
    return STYLE.quiet(figure.add_subplot(*where))


def legend(figure: Figure, columns: int = 3) -> None:
    """One legend above all panels; what several of them name alike stands there once."""
    handles: dict[str, Any] = {}
    for ax in figure.axes:
        found, labels = ax.get_legend_handles_labels()
        for handle, label in zip(found, labels, strict=True):
            handles.setdefault(label, handle)
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside upper left",
        ncols=columns,
        frameon=False,
        fontsize=LETTERS - 1,
        labelcolor=INK,
        handlelength=2.4,
        columnspacing=1.4,
    )


def along(figure: Figure, text: str) -> None:
    """What the horizontal axes of all panels show."""
    figure.supxlabel(text, fontsize=LETTERS, color=INK)


def heading(ax: Axes, text: str) -> None:
    """The name of a panel."""
    ax.set_title(text, loc="left", fontsize=LETTERS, color=INK)


def plain_ticks(axis: Any) -> None:
    """Ticks as plain numbers on a logarithmic axis: 0.02, not 2 × 10⁻²; none between them."""
    ticker = STYLE.module("matplotlib.ticker")
    axis.set_major_formatter(ticker.FormatStrFormatter("%g"))
    axis.set_minor_locator(ticker.NullLocator())


def svg_of(figure: Figure, name: str) -> str:
    """The figure as an SVG file: letters stay letters, no date, the same bytes for the same figure."""
    return re.sub(r"[ \t]+$", "", STYLE.svg(figure, name), flags=re.MULTILINE)

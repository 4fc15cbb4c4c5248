"""From a matplotlib figure to an SVG that lives in the page: its colours, its font, dark or light.

Colours are stand-ins while matplotlib draws; in the SVG each becomes a CSS variable of the page, so that
the reader's choice of light or dark reaches the pictures too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from unruly.drawing import Axes as Axes
from unruly.drawing import Figure as Figure
from unruly.drawing import Style
from unruly.model.metrics import Share

INK, SOFT, GRID, PAPER = "#010101", "#020202", "#030303", "#040404"
MODEL, OTHER, GOOD, BAD, THIRD = "#050505", "#060606", "#070707", "#080808", "#090909"
VARIABLES = {
    INK: "--ink",
    SOFT: "--soft",
    GRID: "--grid",
    PAPER: "--card",
    MODEL: "--model",
    OTHER: "--other",
    GOOD: "--good",
    BAD: "--bad",
    THIRD: "--third",
}
WIDTH, HEIGHT = 420.0, 300.0  # points; narrow enough that a phone need not shrink the letters much
LETTERS = 12.0
STYLE = Style(INK, SOFT, GRID, "none", LETTERS, purpose="the charts of a report")


def figure(width: float = WIDTH, height: float = HEIGHT) -> Figure:
    """An empty figure of so many points, no global state behind it."""
    return STYLE.figure(width, height)


def axes(figure: Figure, where: Any = 111) -> Axes:
    """Axes without a box: two quiet spines, a light grid."""
    ax = figure.add_subplot(where)
    ax.set_facecolor("none")
    return STYLE.quiet(ax)


def legend(ax: Axes, columns: int = 3) -> None:
    """The legend above the axes, where it covers nothing."""
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=columns,
        frameon=False,
        fontsize=LETTERS - 1,
        labelcolor=INK,
        handlelength=1.4,
        columnspacing=1.2,
        borderaxespad=0.2,
    )


def percent_axis(axis: Any) -> None:
    """Ticks as whole per cent."""
    ticker = STYLE.module("matplotlib.ticker")
    axis.set_major_formatter(ticker.PercentFormatter(1.0, decimals=0))


def whole_axis(axis: Any) -> None:
    """Ticks at whole numbers only."""
    ticker = STYLE.module("matplotlib.ticker")
    axis.set_major_locator(ticker.MaxNLocator(integer=True))


def whiskers(shares: Sequence[Share]) -> list[list[float]]:
    """How far each interval reaches below and above its share, as matplotlib's error bars want it."""
    return [
        [max(0.0, s.value - s.low) for s in shares],
        [max(0.0, s.high - s.value) for s in shares],
    ]


def svg_of(figure: Figure, name: str) -> str:
    """The figure as an `<svg>` element, the same bytes for the same figure."""
    return _for_page(STYLE.svg(figure, name), name)


def _for_page(svg: str, name: str) -> str:
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", svg)
    svg = re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', r"<svg \1>", svg, count=1)
    svg = re.sub(r"font: ([^;\"]*?px) [^;\"]*", r"font: \1 var(--font)", svg)
    svg = re.sub(r"font-family: [^;\"]*", "font-family: var(--font)", svg)
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    return re.sub(r"\s*\n\s*", "\n", svg).strip()

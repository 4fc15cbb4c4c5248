"""A quiet figure that stands alone, and the same SVG bytes for the same figure.

Colours are those of Okabe and Ito (2008), which readers of every colour vision can tell apart; marks and
line styles differ too, so that nothing is told by colour alone.
"""

from __future__ import annotations

import io
import re
from typing import Any

from unruly.extras import need

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

Figure = Any  # matplotlib is imported late, and optional
Axes = Any


def figure(width: float = WIDTH, height: float = HEIGHT) -> Figure:
    """An empty figure of so many points, no global state behind it."""
    made = need("matplotlib.figure", extra="report", purpose="the pictures of the benchmark")
    return made.Figure(figsize=(width / 72, height / 72), layout="constrained")


def axes(figure: Figure, where: tuple[int, int, int] = (1, 1, 1)) -> Axes:
    """Axes without a box: two quiet spines, a light grid."""
    ax = figure.add_subplot(*where)
    ax.grid(color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(SOFT)
    ax.tick_params(colors=SOFT, labelcolor=INK, labelsize=LETTERS - 1, length=3)
    ax.xaxis.label.set(color=INK, size=LETTERS)
    ax.yaxis.label.set(color=INK, size=LETTERS)
    return ax


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
    ticker = need("matplotlib.ticker", extra="report", purpose="the pictures of the benchmark")
    axis.set_major_formatter(ticker.FormatStrFormatter("%g"))
    axis.set_minor_locator(ticker.NullLocator())


def svg_of(figure: Figure, name: str) -> str:
    """The figure as an SVG file: letters stay letters, no date, the same bytes for the same figure."""
    matplotlib = need("matplotlib", extra="report", purpose="the pictures of the benchmark")
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(
            buffer,
            format="svg",
            facecolor="white",
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", buffer.getvalue(), flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    return re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE)

"""Methods downwards, a panel for each data set, a dot with its interval for each figure, the paper's beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unruly.bench.charts.drawing import (
    BLUE,
    INK,
    ORANGE,
    Axes,
    Figure,
    along,
    axes,
    figure,
    heading,
    legend,
    plain_ticks,
)

PANEL, NAMES, LINE, EDGES = 150.0, 170.0, 19.0, 96.0  # points


@dataclass(frozen=True)
class Dot:
    """One figure: its interval (thin), its spread over the seeds (thick), and the paper's own."""

    value: float
    low: float
    high: float
    spread: float = 0.0
    paper: float | None = None
    gold: bool = False  # true labels reached the method


def dot_panels(panels: Mapping[str, Mapping[str, Dot]], label: str, log: bool = False) -> Figure:
    """Data set, then the title of the method; rows stand in the order in which they first occur."""
    rows = list(dict.fromkeys(title for dots in panels.values() for title in dots))
    drawing = figure(NAMES + PANEL * len(panels), EDGES + LINE * len(rows))
    drawn = []
    for place, (dataset, dots) in enumerate(panels.items(), 1):
        ax = axes(drawing, (1, len(panels), place))
        _draw(ax, dots, rows)
        heading(ax, dataset)
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.set_yticks(range(len(rows)), rows if place == 1 else [""] * len(rows))
        if log:
            ax.set_xscale("log")
            plain_ticks(ax.xaxis)
        drawn.append(ax)
    drawn[0].tick_params(axis="y", length=0)
    along(drawing, label)
    _key(drawn[0], [dot for dots in panels.values() for dot in dots.values()])
    legend(drawing, 3 if len(panels) > 1 else 2)
    return drawing


def _draw(ax: Axes, dots: Mapping[str, Dot], rows: Sequence[str]) -> None:
    for title, dot in dots.items():
        y, colour = rows.index(title), ORANGE if dot.gold else BLUE
        ax.plot([dot.low, dot.high], [y, y], color=colour, linewidth=1.0)
        if dot.spread:
            thick = [dot.value - dot.spread, dot.value + dot.spread]
            ax.plot(thick, [y, y], color=colour, linewidth=3.0, solid_capstyle="butt")
        ax.plot(dot.value, y, "s" if dot.gold else "o", color=colour, markersize=5.5)
        if dot.paper is not None:
            face = {"markerfacecolor": "white", "markeredgecolor": INK}
            ax.plot(dot.paper, y, "D", markersize=5, **face)


def _key(ax: Axes, dots: Sequence[Dot]) -> None:
    """What the marks mean."""
    shown = [("o", BLUE, BLUE, "no gold")] if any(not dot.gold for dot in dots) else []
    if any(dot.gold for dot in dots):
        shown.append(("s", ORANGE, ORANGE, "true labels used"))
    if any(dot.paper is not None for dot in dots):
        shown.append(("D", "white", INK, "the paper's own (by gold)"))
    for mark, face, edge, label in shown:
        ax.plot([], [], mark, markerfacecolor=face, markeredgecolor=edge, label=label)

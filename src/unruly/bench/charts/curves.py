"""Curves in panels: the common drawing of pictures that show accuracy along something."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unruly.bench.charts.drawing import (
    CYCLE,
    INK,
    LETTERS,
    LINES,
    MARKS,
    Axes,
    Figure,
    axes,
    figure,
    heading,
    legend,
    plain_ticks,
)
from unruly.bench.tables.spread import Spread

WIDE, HIGH, KEY = 215.0, 190.0, 50.0  # points: a panel, and the legend


@dataclass(frozen=True)
class Panel:
    """One picture of several: named curves, each a list of places and accuracies."""

    name: str
    curves: Mapping[str, Sequence[tuple[float, Spread]]]
    label: str  # of the horizontal axis
    log: bool = False
    ticks: Mapping[float, str] | None = None
    mark: float | None = None  # a dotted line, at the default say


def panels(several: Sequence[Panel], across: int = 3) -> Figure:
    """All panels, one legend; the same name has the same colour, mark and line everywhere."""
    names = list(dict.fromkeys(name for panel in several for name in panel.curves))
    across = min(across, len(several))
    down = -(-len(several) // across)
    drawing = figure(WIDE * across, HIGH * down + KEY)
    for place, panel in enumerate(several, 1):
        ax = axes(drawing, (down, across, place))
        _draw(ax, panel, names)
        if (place - 1) % across == 0:
            ax.set_ylabel("test accuracy, %")
    legend(drawing, across)
    return drawing


def _small(panel: Panel) -> float:
    """Letters that fit under a panel."""
    letters = sum(len(tick) + 1 for tick in (panel.ticks or {}).values())
    return min(LETTERS - 1, 255 / max(letters, 1))


def _draw(ax: Axes, panel: Panel, names: Sequence[str]) -> None:
    for name, points in panel.curves.items():
        which = names.index(name)
        x = [at for at, _ in points]
        y = [100 * s.mean for _, s in points]
        reach = [0.0 if math.isnan(s.deviation) else 100 * s.deviation for _, s in points]
        ax.errorbar(
            x,
            y,
            yerr=reach if any(reach) else None,
            color=CYCLE[which % len(CYCLE)],
            marker=MARKS[which % len(MARKS)],
            linestyle=LINES[which % len(LINES)],
            markersize=4.5,
            linewidth=1.5,
            elinewidth=0.9,
            label=name,
        )
    if panel.mark is not None:
        ax.axvline(panel.mark, color=INK, linewidth=0.8, linestyle=":")
    if panel.log:
        ax.set_xscale("log")
        plain_ticks(ax.xaxis)
    if panel.ticks is not None:
        ax.set_xticks(list(panel.ticks), list(panel.ticks.values()), fontsize=_small(panel))
    ax.set_xlabel(panel.label)
    heading(ax, panel.name)

"""What every picture shares: quiet figures as SVG, curves in panels, dots with their intervals.

The same figure gives the same SVG bytes, and no global state stands behind it. Colours are those of Okabe
and Ito (2008), which readers of every colour vision can tell apart; marks and line styles differ too, so
that nothing depends on colour alone.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unruly_lab.bench.runs import Outcome
from unruly_lab.bench.tables import Cells, GoldMark, Spread, Variant, datasets, several_encoders

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
_LETTERS_AN_INCH = 10
_MARK = 6  # letters that the mark of a legend takes
WIDTH, HEIGHT = 560.0, 340.0  # points
Figure = Any  # matplotlib is imported when something is drawn
Axes = Any


def figure(width: float = WIDTH, height: float = HEIGHT) -> Figure:
    """An empty figure of so many points, no global state behind it."""
    from matplotlib.figure import Figure as Empty

    return Empty(figsize=(width / 72, height / 72), layout="constrained")


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
    """One legend above all panels, each name once; long names take fewer columns, and several lines if need be."""
    handles: dict[str, Any] = {}
    for ax in figure.axes:
        found, labels = ax.get_legend_handles_labels()
        for handle, label in zip(found, labels, strict=True):
            handles.setdefault(label, handle)
    wide = max(map(len, handles), default=0) + _MARK
    across = int(_LETTERS_AN_INCH * figure.get_figwidth())
    columns = min(columns, max(1, across // wide))
    figure.legend(
        list(handles.values()),
        [textwrap.fill(label, across - _MARK, break_on_hyphens=False) for label in handles],
        loc="outside upper left",
        ncols=columns,
        frameon=False,
        fontsize=LETTERS - 1,
        labelcolor=INK,
        handlelength=2.4,
        columnspacing=1.4,
    )


def along(figure: Figure, text: str) -> None:
    """What the horizontal axes of all panels show; in several lines where the picture is narrow."""
    wrapped = textwrap.fill(text, int(_LETTERS_AN_INCH * figure.get_figwidth()))
    figure.supxlabel(wrapped, fontsize=LETTERS, color=INK)


def heading(ax: Axes, text: str) -> None:
    """The name of a panel."""
    ax.set_title(text, loc="left", fontsize=LETTERS, color=INK)


def plain_ticks(axis: Any) -> None:
    """Ticks as plain numbers on a logarithmic axis: 0.02, not 2 × 10⁻²; none between them."""
    from matplotlib import ticker

    axis.set_major_formatter(ticker.FormatStrFormatter("%g"))
    axis.set_minor_locator(ticker.NullLocator())


def svg_of(figure: Figure, name: str) -> str:
    """The figure as an SVG file: letters stay letters, no date, the same bytes for the same figure."""
    from matplotlib import rc_context

    buffer = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(
            buffer,
            format="svg",
            facecolor="white",
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", buffer.getvalue(), flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    return re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE)


# Mark, colour and filling of a figure by the part that gold took in it.
GOLD_MARKS = {
    GoldMark.NONE: ("o", BLUE, BLUE),
    GoldMark.BEHIND: ("o", ORANGE, "white"),
    GoldMark.USED: ("s", ORANGE, ORANGE),
}
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
        _draw_curves(ax, panel, names)
        if (place - 1) % across == 0:
            ax.set_ylabel("test accuracy, %")
    legend(drawing, across)
    return drawing


def _small(panel: Panel) -> float:
    """Letters that fit under a panel."""
    letters = sum(len(tick) + 1 for tick in (panel.ticks or {}).values())
    return min(LETTERS - 1, 255 / max(letters, 1))


def _draw_curves(ax: Axes, panel: Panel, names: Sequence[str]) -> None:
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


PANEL, NAMES, LINE, EDGES = 150.0, 170.0, 19.0, 96.0  # points


@dataclass(frozen=True)
class Dot:
    """One figure: its interval (thin), its spread over the seeds (thick), and the paper's own."""

    value: float
    low: float
    high: float
    spread: float = 0.0
    paper: float | None = None
    gold: GoldMark = GoldMark.NONE


def dot_panels(panels: Mapping[str, Mapping[str, Dot]], label: str, log: bool = False) -> Figure:
    """Data set, then the title of the method; rows stand in the order in which they first occur."""
    rows = list(dict.fromkeys(title for dots in panels.values() for title in dots))
    drawing = figure(NAMES + PANEL * len(panels), EDGES + LINE * len(rows))
    drawn = []
    for place, (dataset, dots) in enumerate(panels.items(), 1):
        ax = axes(drawing, (1, len(panels), place))
        _draw_dots(ax, dots, rows)
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


def _draw_dots(ax: Axes, dots: Mapping[str, Dot], rows: Sequence[str]) -> None:
    for title, dot in dots.items():
        y, (mark, colour, face) = rows.index(title), GOLD_MARKS[dot.gold]
        ax.plot([dot.low, dot.high], [y, y], color=colour, linewidth=1.0)
        if dot.spread:
            thick = [dot.value - dot.spread, dot.value + dot.spread]
            ax.plot(thick, [y, y], color=colour, linewidth=3.0, solid_capstyle="butt")
        ax.plot(dot.value, y, mark, color=colour, markerfacecolor=face, markersize=5.5)
        if dot.paper is not None:
            ax.plot(dot.paper, y, "D", markersize=5, markerfacecolor="white", markeredgecolor=INK)


def _key(ax: Axes, dots: Sequence[Dot]) -> None:
    """What the marks mean."""
    present = {dot.gold for dot in dots}
    shown = [
        (mark, face, colour, gold.value)
        for gold, (mark, colour, face) in GOLD_MARKS.items()
        if gold in present
    ]
    if any(dot.paper is not None for dot in dots):
        shown.append(("D", "white", INK, "the paper's own (by gold)"))
    for mark, face, edge, label in shown:
        ax.plot([], [], mark, markerfacecolor=face, markeredgecolor=edge, label=label)


DotOf = Callable[[Variant, str, Sequence[Outcome]], Dot]  # of a method, a data set, its seeds


def main_panels(
    found: Cells, dot: DotOf, *, name: str, label: str, log: bool = False
) -> str | None:
    """The picture as SVG; None where nothing was run."""
    if not found:
        return None
    named = several_encoders(found)
    panels = {
        dataset: {
            variant.title(named): dot(variant, dataset, found[variant][dataset])
            for variant in found
            if dataset in found[variant]
        }
        for dataset in datasets(found)
    }
    return svg_of(dot_panels(panels, label, log), name)

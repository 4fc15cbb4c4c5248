"""The bubble chart of the paper's appendix: every source, as large as its coverage, as light as it is accurate."""

from __future__ import annotations

import math
from collections.abc import Sequence

from unruly.bench.charts.drawing import INK, LETTERS, SOFT, Axes, axes, figure, svg_of
from unruly.bench.dataset_facts import DatasetFacts, SourceFacts
from unruly.bench.tables.ways import in_order

LARGEST = 46.0  # points across, for a source that votes on every document


def chart(facts: Sequence[DatasetFacts]) -> str | None:
    """A row for each data set; under each bubble its accuracy and coverage in per cent."""
    by_name = {one.name: one for one in facts if one.sources}
    if not by_name:
        return None
    rows = [by_name[name] for name in in_order(by_name)]
    most = max(len(one.sources) for one in rows)
    drawing = figure(150 + 66.0 * most, 70 + 84.0 * len(rows))
    ax = axes(drawing)
    points = [(x, y, s) for y, one in enumerate(rows) for x, s in enumerate(one.sources, 1)]
    _bubbles(ax, points)
    for x, y, source in points:
        ax.text(x, y + 0.34, _figures(source), fontsize=LETTERS - 2, color=INK, ha="center")
        ax.text(x, y + 0.46, _short(source.name), fontsize=LETTERS - 4.5, color=SOFT, ha="center")
    ax.set_yticks(range(len(rows)), [one.name for one in rows])
    ax.set_ylim(len(rows) - 0.45, -0.5)
    ax.set_xlim(0.4, most + 0.6)
    ax.set_xticks(range(1, most + 1))
    ax.set_xlabel("source; under it: accuracy % / coverage %, training documents")
    ax.grid(visible=False)
    return svg_of(drawing, "sources")


def _bubbles(ax: Axes, points: Sequence[tuple[int, int, SourceFacts]]) -> None:
    """The circle's area is the coverage; light is accurate, as in the paper (cividis, safe for all eyes)."""
    known = [p for p in points if not math.isnan(p[2].accuracy)]
    drawn = ax.scatter(
        [x for x, _, _ in known],
        [y for _, y, _ in known],
        s=[LARGEST**2 * max(s.coverage, 0.002) for _, _, s in known],
        c=[100 * s.accuracy for _, _, s in known],
        cmap="cividis",
        vmin=40,
        vmax=100,
        edgecolors=INK,
        linewidths=0.6,
    )
    bar = ax.figure.colorbar(drawn, ax=ax, shrink=0.7, pad=0.01)
    bar.set_label("accuracy of its votes, %", color=INK)
    bar.outline.set_visible(False)


def _figures(source: SourceFacts) -> str:
    right = "–" if math.isnan(source.accuracy) else f"{100 * source.accuracy:.0f}"
    return f"{right} / {100 * source.coverage:.0f}"


def _short(name: str) -> str:
    return name if len(name) <= 15 else name[:14] + "…"

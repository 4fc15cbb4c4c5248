"""Sources as bubbles: coverage to the right, accuracy upwards, the bubble as large as the source's say."""

from __future__ import annotations

import math
from collections.abc import Sequence

from unruly.plural import plural
from unruly.report.charts.chart import Chart
from unruly.report.charts.drawing import (
    BAD,
    LETTERS,
    MODEL,
    PAPER,
    SOFT,
    Axes,
    axes,
    figure,
    legend,
    percent_axis,
    svg_of,
)
from unruly.report.charts.labels import name_points
from unruly.report.charts.words import percent, share_words, shortened
from unruly.report.source_facts import SourceFacts

TICKS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
MOST_NAMED = 25  # sources whose name is written; all are in the table


def bubble_chart(sources: Sequence[SourceFacts]) -> Chart | None:
    """Filled: estimated without gold; rings: measured against gold. None when no source has voted."""
    shown = [s for s in sources if s.votes and s.estimated is not None]
    if not shown:
        return None
    drawing = figure(height=340)
    ax = axes(drawing)
    radii = [_radius(s, shown) for s in shown]
    _bubbles(ax, shown, radii)
    _coverage_axis(ax, [s.coverage for s in shown])
    percent_axis(ax.yaxis)
    ax.set_ylabel("accuracy of its votes")
    legend(ax, 2)
    _names(ax, shown)
    return Chart(
        name="bubbles",
        title="Coverage and accuracy of the sources",
        says=_says(shown),
        svg=svg_of(drawing, "bubbles"),
        header=("source", "coverage", "estimated accuracy", "measured accuracy", "reliability"),
        rows=tuple(
            (
                s.name,
                percent(s.coverage),
                share_words(s.estimated),
                share_words(s.measured),
                f"{s.reliability:.3f}",
            )
            for s in sources
        ),
    )


def _coverage_axis(ax: Axes, coverage: Sequence[float]) -> None:
    """A logarithmic axis where a few sources cover far more than the others, else a plain one."""
    low, high = min(coverage), max(coverage)
    if high < 3 * low:
        percent_axis(ax.xaxis)
        ax.margins(x=0.25)
        ax.set_xlabel("coverage: documents with its vote")
        return
    ax.set_xscale("log")
    ax.set_xlim(low / 1.6, min(high * 2.2, 1.6))
    ticks = [t for t in TICKS if low / 1.6 <= t <= min(high * 2.2, 1.0)]
    ax.set_xticks(ticks, [f"{100 * t:g}%" for t in ticks])
    ax.set_xticks([], minor=True)
    ax.set_xlabel("coverage: documents with its vote (log scale)")


def _names(ax: Axes, shown: Sequence[SourceFacts]) -> None:
    named = sorted(shown, key=lambda s: -s.votes)[:MOST_NAMED]
    points = [(s.coverage, s.estimated.value) for s in named if s.estimated]
    rings = [(s.coverage, s.measured.value) for s in shown if s.measured]
    names = [shortened(s.name) for s in named]
    name_points(ax, points, names, [_radius(s, shown) for s in named], rings)


def _radius(source: SourceFacts, shown: Sequence[SourceFacts]) -> float:
    most = max(s.reliability for s in shown) or 1.0
    return 3.0 + 6.0 * math.sqrt(max(0.0, source.reliability / most))


def _bubbles(ax: Axes, shown: Sequence[SourceFacts], radii: Sequence[float]) -> None:
    measured = [s for s in shown if s.measured is not None]
    for s in shown:
        assert s.estimated is not None
        ax.plot(
            [s.coverage] * 2,
            [s.estimated.low, s.estimated.high],
            color=MODEL,
            linewidth=1.2,
            alpha=0.55,
        )
        if s.measured is not None:
            gap = [s.estimated.value, s.measured.value]
            ax.plot([s.coverage] * 2, gap, color=SOFT, linewidth=0.8, linestyle=":")
    ax.scatter(
        [s.coverage for s in shown],
        [s.estimated.value for s in shown if s.estimated],
        s=[(2 * r) ** 2 for r in radii],
        color=MODEL,
        alpha=0.75,
        edgecolor=PAPER,
    )
    ax.plot([], [], "o", color=MODEL, markersize=8, label="estimated, without gold")
    if measured:
        ax.scatter(
            [s.coverage for s in measured],
            [s.measured.value for s in measured if s.measured],
            s=(LETTERS * 0.8) ** 2,
            facecolor="none",
            edgecolor=BAD,
            linewidth=1.6,
            label="measured against gold",
        )


def _says(shown: Sequence[SourceFacts]) -> str:
    best = max(shown, key=lambda s: s.estimated.value if s.estimated else 0.0)
    worst = min(shown, key=lambda s: s.estimated.value if s.estimated else 1.0)
    widest = max(shown, key=lambda s: s.coverage)
    said = (
        f"{plural(len(shown), 'source')}; the larger the bubble, the more say it has. The widest is {widest.name} with {percent(widest.coverage)} of the documents. "
        f"Estimated accuracy runs from {share_words(worst.estimated)} for {worst.name} to "
        f"{share_words(best.estimated)} for {best.name}."
    )
    off = [abs(s.estimated.value - s.measured.value) for s in shown if s.estimated and s.measured]
    if off:
        said += f" Estimates are {100 * sum(off) / len(off):.1f} points from the measured figures on average."
    return said

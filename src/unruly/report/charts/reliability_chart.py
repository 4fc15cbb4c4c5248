"""Reliability: each source's say overall, and how it varies from document to document."""

from __future__ import annotations

from collections.abc import Sequence

from unruly.report.charts.chart import Chart
from unruly.report.charts.drawing import (
    INK,
    MODEL,
    OTHER,
    SOFT,
    axes,
    figure,
    legend,
    svg_of,
)
from unruly.report.charts.words import shortened
from unruly.report.reliability_spread import Spread

MOST = 40


def reliability_chart(spreads: Sequence[Spread]) -> Chart | None:
    """Boxes over documents and a diamond for the whole; None when there is nothing to compare."""
    shown = sorted(spreads, key=lambda s: -s.overall)[:MOST]
    if not any(s.quantiles for s in shown):
        return None
    drawing = figure(height=110 + 22 * len(shown))
    ax = axes(drawing)
    ax.axvline(1, color=SOFT, linewidth=1, linestyle="--")
    for row, s in enumerate(shown):
        if s.quantiles:
            low, q1, middle, q3, high = s.quantiles
            ax.plot([low, high], [row, row], color=OTHER, linewidth=1.4)
            ax.barh(row, max(q3 - q1, 0.004), left=q1, height=0.5, color=OTHER, alpha=0.6)
            ax.plot([middle] * 2, [row - 0.25, row + 0.25], color=INK, linewidth=1.6)
    ax.plot([], [], color=OTHER, linewidth=5, alpha=0.6, label="over documents")
    ax.plot(
        [s.overall for s in shown],
        range(len(shown)),
        "D",
        color=MODEL,
        markersize=6,
        label="overall",
    )
    ax.set_yticks(range(len(shown)), [shortened(s.name) for s in shown])
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(left=0)
    ax.set_xlabel("say, beside an equal share (1)")
    legend(ax, 2)
    return Chart(
        name="reliability",
        title="Reliability, overall and from document to document",
        says=_says(shown),
        svg=svg_of(drawing, "reliability"),
        header=("source", "overall", "documents", "5 %", "25 %", "median", "75 %", "95 %"),
        rows=tuple(_row(s) for s in spreads),
    )


def _row(s: Spread) -> tuple[str, ...]:
    found = [f"{q:.2f}" for q in s.quantiles] or ["–"] * 5
    return (s.name, f"{s.overall:.2f}", f"{s.documents:,}", *found)


def _says(shown: Sequence[Spread]) -> str:
    moving = max((s for s in shown if s.quantiles), key=lambda s: s.quantiles[-1] - s.quantiles[0])
    return (
        f"Overall, {shown[0].name} has most say, {shown[0].overall:.2f} times an equal share, and "
        f"{shown[-1].name} least, {shown[-1].overall:.2f} times. From document to document {moving.name} varies "
        f"most, from {moving.quantiles[0]:.2f} to {moving.quantiles[-1]:.2f} times (5th to 95th percentile). "
        "Only documents with two votes or more count."
    )

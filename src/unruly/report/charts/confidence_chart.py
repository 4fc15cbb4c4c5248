"""How confident the model is: documents by the probability of their label."""

from __future__ import annotations

from collections.abc import Sequence

from unruly.plural import plural
from unruly.report.charts.chart import Chart
from unruly.report.charts.drawing import MODEL, OTHER, axes, figure, legend, percent_axis, svg_of
from unruly.report.charts.words import percent
from unruly.report.confidence import Slice


def confidence_chart(slices: Sequence[Slice]) -> Chart | None:
    """A histogram, covered documents below and uncovered ones on top; None without documents."""
    total = sum(s.documents for s in slices)
    if not total:
        return None
    drawing = figure(height=260)
    ax = axes(drawing)
    left = [s.low for s in slices]
    width = [0.94 * (s.high - s.low) for s in slices]
    covered, uncovered = [s.covered for s in slices], [s.uncovered for s in slices]
    ax.bar(left, covered, width, align="edge", color=MODEL, label="with votes")
    ax.bar(left, uncovered, width, align="edge", bottom=covered, color=OTHER, label="without votes")
    percent_axis(ax.xaxis)
    ax.set_xlabel("confidence")
    ax.set_ylabel("documents")
    legend(ax, 2)
    sure = sum(s.documents for s in slices if s.low >= 0.9 - 1e-9) / total
    return Chart(
        name="confidence",
        title="Confidence",
        says=f"Of {plural(total, 'document')}, {percent(sure, 0)} get their label with a confidence of 90 % or more.",
        svg=svg_of(drawing, "confidence"),
        header=("confidence", "with votes", "without votes"),
        rows=tuple(
            (f"{percent(s.low, 0)} to {percent(s.high, 0)}", f"{s.covered:,}", f"{s.uncovered:,}")
            for s in slices
        ),
    )

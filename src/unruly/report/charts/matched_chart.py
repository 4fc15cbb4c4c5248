"""Accuracy by the number of sources that vote on a document."""

from __future__ import annotations

from collections.abc import Sequence

from unruly.report.by_matched import Matched
from unruly.report.charts.chart import Chart
from unruly.report.charts.drawing import (
    MODEL,
    OTHER,
    axes,
    figure,
    legend,
    percent_axis,
    svg_of,
    whiskers,
)
from unruly.report.charts.words import percent, share_words


def matched_chart(lines: Sequence[Matched]) -> Chart | None:
    """Points with their intervals, beside majority vote's; None without gold."""
    if not lines:
        return None
    drawing = figure()
    ax = axes(drawing)
    for shift, name, colour, mark, shares in (
        (-0.08, "model", MODEL, "o", [line.model for line in lines]),
        (0.08, "majority vote", OTHER, "s", [line.majority for line in lines]),
    ):
        at = [row + shift for row in range(len(lines))]
        ends = whiskers(shares)
        values = [s.value for s in shares]
        ax.errorbar(at, values, yerr=ends, fmt=f"{mark}-", color=colour, label=name, linewidth=1.2)
    ax.set_xticks(range(len(lines)), [f"{line.name}\n({line.documents:,})" for line in lines])
    ax.set_xlabel("votes on the document (documents)")
    percent_axis(ax.yaxis)
    ax.set_ylabel("accuracy")
    legend(ax, 2)
    return Chart(
        name="matched",
        title="Accuracy by the number of matched sources",
        says=_says(lines),
        svg=svg_of(drawing, "matched"),
        header=("votes", "documents", "model", "majority vote"),
        rows=tuple(
            (line.name, f"{line.documents:,}", share_words(line.model), share_words(line.majority))
            for line in lines
        ),
    )


def _says(lines: Sequence[Matched]) -> str:
    gains = [(line.model.value - line.majority.value, line) for line in lines]
    most = max(gains, key=lambda pair: pair[0])[1]
    ends = [lines[0], lines[-1]] if len(lines) > 1 else [lines[0]]
    told = " and ".join(f"{percent(line.model.value)} with {_votes(line)}" for line in ends)
    return (
        f"The model is right on {told}. Its lead over majority vote is largest with {_votes(most)}: "
        f"{percent(most.model.value)} against {percent(most.majority.value)}."
    )


def _votes(line: Matched) -> str:
    return "no vote" if line.name == "0" else "1 vote" if line.name == "1" else f"{line.name} votes"

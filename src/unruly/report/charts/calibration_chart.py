"""Calibration: of the answers given with so much confidence, how many are right?"""

from __future__ import annotations

from collections.abc import Sequence

from unruly.report.charts.chart import Chart
from unruly.report.charts.drawing import (
    MODEL,
    SOFT,
    axes,
    figure,
    legend,
    percent_axis,
    svg_of,
    whiskers,
)
from unruly.report.charts.words import percent, share_words
from unruly.report.confidence import Slice


def calibration_chart(slices: Sequence[Slice], error: float | None) -> Chart | None:
    """Accuracy against confidence, and the diagonal on which both agree; None without gold."""
    shown = [s for s in slices if s.accuracy is not None]
    if not shown:
        return None
    drawing = figure()
    ax = axes(drawing)
    start = slices[0].low
    ax.plot([start, 1], [start, 1], color=SOFT, linestyle="--", linewidth=1, label="perfect")
    shares = [s.accuracy for s in shown if s.accuracy is not None]
    ends = whiskers(shares)
    ax.errorbar(
        [s.confidence for s in shown],
        [a.value for a in shares],
        yerr=ends,
        fmt="o-",
        color=MODEL,
        linewidth=1.4,
        label="model",
    )
    percent_axis(ax.xaxis)
    percent_axis(ax.yaxis)
    ax.set_xlabel("confidence")
    ax.set_ylabel("accuracy")
    legend(ax, 2)
    return Chart(
        name="calibration",
        title="Calibration",
        says=_says(shown, error),
        svg=svg_of(drawing, "calibration"),
        header=("confidence", "mean confidence", "documents", "accuracy"),
        rows=tuple(
            (
                f"{percent(s.low, 0)} to {percent(s.high, 0)}",
                percent(s.confidence),
                f"{s.accuracy.n:,}" if s.accuracy else "0",
                share_words(s.accuracy),
            )
            for s in shown
        ),
    )


def _says(shown: Sequence[Slice], error: float | None) -> str:
    top = shown[-1]
    told = "" if error is None else f" The expected calibration error is {error:.3f}."
    return (
        f"Where the model is {percent(top.confidence, 0)} confident it is right on {share_words(top.accuracy)}; "
        "above the dashed line it is better than it says, below it is worse." + told
    )

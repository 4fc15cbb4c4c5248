"""Wrong labels before and after denoising, on documents that rules cover."""

from __future__ import annotations

from collections.abc import Sequence

from unruly.report.charts.chart import Chart
from unruly.report.charts.drawing import (
    INK,
    LETTERS,
    MODEL,
    OTHER,
    SOFT,
    THIRD,
    axes,
    figure,
    legend,
    percent_axis,
    svg_of,
    whiskers,
)
from unruly.report.charts.words import percent, share_words, shortened
from unruly.report.noise import Noise

MOST = 9  # groups that are drawn: all documents, and the first classes


def noise_chart(lines: Sequence[Noise]) -> Chart | None:
    """Three bars for all documents and for each class; None without gold."""
    if not lines:
        return None
    shown = lines[:MOST]
    drawing = figure(height=90 + 64 * len(shown))
    ax = axes(drawing)
    bars = (
        ("majority vote", OTHER, [n.before for n in shown]),
        ("votes weighed", THIRD, [n.denoised for n in shown]),
        ("final labels", MODEL, [n.after for n in shown]),
    )
    for place, (name, colour, shares) in enumerate(bars):
        at = [row + 0.27 * (place - 1) for row in range(len(shown))]
        values = [s.value for s in shares]
        ends = whiskers(shares)
        ax.barh(at, values, height=0.25, color=colour, label=name, xerr=ends, ecolor=SOFT)
        for y, s in zip(at, shares, strict=True):
            ax.text(
                s.high, y, f" {100 * s.value:.1f}", va="center", fontsize=LETTERS - 2, color=INK
            )
    ax.set_yticks(range(len(shown)), [shortened(n.name) for n in shown])
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")
    ax.margins(x=0.12)
    ax.set_xlim(left=0)
    percent_axis(ax.xaxis)
    ax.set_xlabel("wrong labels (true class to the left)")
    legend(ax)
    return Chart(
        name="noise",
        title="Noise before and after denoising",
        says=_says(lines[0]),
        svg=svg_of(drawing, "noise"),
        header=("documents of", "covered", "majority vote", "votes weighed", "final labels"),
        rows=tuple(
            (
                n.name,
                f"{n.before.n:,}",
                share_words(n.before),
                share_words(n.denoised),
                share_words(n.after),
            )
            for n in lines
        ),
    )


def _says(whole: Noise) -> str:
    return (
        f"Of {whole.before.n:,} covered documents, majority vote labels {percent(whole.before.value)} wrongly, "
        f"the weighed votes {percent(whole.denoised.value)}, the final labels {percent(whole.after.value)}."
    )

"""The losses of training, epoch by epoch, and what the epoch was chosen by."""

from __future__ import annotations

from collections.abc import Sequence

from unruly.plural import plural
from unruly.report.charts.chart import Chart
from unruly.report.charts.drawing import (
    GOOD,
    INK,
    MODEL,
    OTHER,
    SOFT,
    THIRD,
    axes,
    figure,
    legend,
    svg_of,
    whole_axis,
)
from unruly.training.heads import Epoch


def training_curves(history: Sequence[Epoch]) -> Chart | None:
    """One line for each loss, a second panel for the score of the epochs; None without a history."""
    if not history:
        return None
    scored = [e for e in history if e.score is not None]
    drawing = figure(height=400 if scored else 300)
    ax = axes(drawing, 211 if scored else 111)
    numbers = [e.number for e in history]
    mark = "." if len(history) < 25 else ""
    for name, colour, style, values in (
        ("denoiser", THIRD, "-", [e.l1 for e in history]),
        ("classifier", MODEL, "-", [e.l2 for e in history]),
        ("self-training", OTHER, "-", [e.l3 for e in history]),
        ("total", INK, "--", [e.total for e in history]),
    ):
        if not any(values):  # this method has no such loss
            continue
        ax.plot(
            numbers, values, color=colour, linestyle=style, marker=mark, linewidth=1.5, label=name
        )
    ax.set_ylabel("loss")
    whole_axis(ax.xaxis)
    legend(ax, 4)
    panels = [ax]
    if scored:
        below = axes(drawing, 212)
        below.plot(
            [e.number for e in scored],
            [e.score for e in scored],
            color=GOOD,
            marker=mark,
            linewidth=1.5,
        )
        below.set_ylabel("score")
        whole_axis(below.xaxis)
        panels.append(below)
    panels[-1].set_xlabel("epoch")
    for epoch in history:
        if epoch.kept:
            for panel in panels:
                panel.axvline(epoch.number, color=SOFT, linewidth=1, linestyle=":")
    return Chart(
        name="training",
        title="Training curves",
        says=_says(history),
        svg=svg_of(drawing, "training"),
        header=(
            "epoch",
            "denoiser",
            "classifier",
            "self-training",
            "total",
            "labels changed",
            "score",
        ),
        rows=tuple(_row(e) for e in _thinned(history)),
    )


def _thinned(history: Sequence[Epoch], most: int = 60) -> list[Epoch]:
    """Every so many epochs, and always the first, the last and the kept one."""
    step = -(-len(history) // most)
    last = len(history) - 1
    return [e for i, e in enumerate(history) if i % step == 0 or i == last or e.kept]


def _row(e: Epoch) -> tuple[str, ...]:
    score = "–" if e.score is None else f"{e.score:.4f}"
    losses = [f"{value:.4f}" for value in (e.l1, e.l2, e.l3, e.total)]
    return (f"{e.number}{' (kept)' if e.kept else ''}", *losses, f"{e.changed:,}", score)


def _says(history: Sequence[Epoch]) -> str:
    first, last = history[0], history[-1]
    kept = next((e.number for e in history if e.kept), None)
    said = f"Over {plural(len(history), 'epoch')} the total loss goes from {first.total:.3f} to {last.total:.3f}"
    return said + ("." if kept is None else f"; epoch {kept} is kept (dotted line).")

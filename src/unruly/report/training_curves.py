"""The losses of training, epoch by epoch, and the score by which an epoch was chosen."""

from __future__ import annotations

from collections.abc import Sequence

from unruly.html import (
    GOOD,
    HEIGHT,
    INK,
    MODEL,
    OTHER,
    SOFT,
    THIRD,
    WIDTH,
    Frame,
    count_ticks,
    legend,
    line,
    picture,
)
from unruly.learner import Epoch
from unruly.report.markup import Chart
from unruly.wording import plural

MOST_ROWS = 60
Curve = tuple[str, str, list[tuple[int, float]]]  # name, colour, (epoch, value)


def training_curves(history: Sequence[Epoch]) -> Chart | None:
    """One line for each loss, a second panel for the score of the epochs; None without a history."""
    if not history:
        return None
    losses: list[Curve] = [
        ("denoiser", THIRD, [(e.number, e.l1) for e in history]),
        ("classifier", MODEL, [(e.number, e.l2) for e in history]),
        ("self-training", OTHER, [(e.number, e.l3) for e in history]),
        ("total", INK, [(e.number, e.total) for e in history]),
    ]
    drawn = [curve for curve in losses if any(value for _, value in curve[2])]
    scores: list[Curve] = [
        ("score", GOOD, [(e.number, e.score) for e in history if e.score is not None])
    ]
    kept = next((e.number for e in history if e.kept), None)
    ends = (history[0].number, history[-1].number)
    panels = [_panel(drawn, ends, kept, "loss", 0.0)]
    if scores[0][2]:
        panels.append(_panel(scores, ends, kept, "score", HEIGHT))
    return Chart(
        name="training",
        title="Training curves",
        description=_description(history),
        svg=picture(WIDTH, HEIGHT * len(panels), *panels),
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


def _panel(
    curves: Sequence[Curve], ends: tuple[int, int], kept: int | None, title: str, top: float
) -> str:
    values = [value for _, _, points in curves for _, value in points] or [0.0]
    low, high = min(values), max(values)
    room = 0.05 * (high - low) or 0.5
    first, last = ends if ends[0] < ends[1] else (ends[0] - 1, ends[1] + 1)
    frame = Frame.of((first, last), (low - room, high + room), left=60)
    marks = []
    if kept is not None:
        x = frame.x(kept)
        marks.append(line([(x, frame.y.end), (x, frame.y.start)], SOFT, 1, "1.5 2.5"))
    for _, colour, points in curves:
        marks.append(line([(frame.x(n), frame.y(v)) for n, v in points], colour, 1.5))
    inside = (
        frame.x_axis(count_ticks(frame.x), "epoch", grid=False)
        + frame.y_axis([(tick, f"{tick:g}") for tick in frame.y.ticks()], title)
        + "".join(marks)
        + legend([(name, colour, "line") for name, colour, _ in curves], frame.x.start)
    )
    return f'<g transform="translate(0 {top:g})">{inside}</g>'


def _thinned(history: Sequence[Epoch]) -> list[Epoch]:
    """Every so many epochs, and always the first, the last and the kept one."""
    step = -(-len(history) // MOST_ROWS)
    last = len(history) - 1
    return [e for i, e in enumerate(history) if i % step == 0 or i == last or e.kept]


def _row(e: Epoch) -> tuple[str, ...]:
    score = "–" if e.score is None else f"{e.score:.4f}"
    losses = [f"{value:.4f}" for value in (e.l1, e.l2, e.l3, e.total)]
    return (f"{e.number}{' (kept)' if e.kept else ''}", *losses, f"{e.changed:,}", score)


def _description(history: Sequence[Epoch]) -> str:
    first, last = history[0], history[-1]
    kept = next((e.number for e in history if e.kept), None)
    message = (
        f"The total loss goes from {first.total:.3f} to {last.total:.3f} in "
        f"{plural(len(history), 'epoch')}"
    )
    return message + ("." if kept is None else f"; epoch {kept} is kept (dotted line).")

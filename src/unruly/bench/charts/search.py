"""The trials of the searches: what the search went by against test accuracy."""

from __future__ import annotations

from collections.abc import Sequence

from unruly.bench import paper_figures as paper
from unruly.bench.charts.drawing import (
    BLUE,
    INK,
    ORANGE,
    RED,
    SOFT,
    Axes,
    axes,
    figure,
    heading,
    legend,
    svg_of,
)
from unruly.bench.run import Outcome
from unruly.bench.search import GUIDED, UNIFORM, Trial
from unruly.bench.tables.search import Searched, searches

ALONG = {"gold": "validation accuracy (gold), %", "none": "hidden votes foretold, %"}


def chart(outcomes: Sequence[Outcome]) -> str | None:
    """A panel for each search; the ring is the trial that the search would take."""
    found = searches(outcomes)
    if not found:
        return None
    across = min(3, len(found))
    down = -(-len(found) // across)
    drawing = figure(230.0 * across, 220.0 * down + 30)
    for place, one in enumerate(found, 1):
        ax = axes(drawing, (down, across, place))
        _draw(ax, one)
        heading(ax, f"{one.dataset}, {'by gold' if one.selection == 'gold' else 'without gold'}")
        if (place - 1) % across == 0:
            ax.set_ylabel("test accuracy, %")
    legend(drawing, 4 if across == 3 else 2)
    return svg_of(drawing, "search")


def _draw(ax: Axes, one: Searched) -> None:
    for drawn, mark, colour in ((UNIFORM, "o", BLUE), (GUIDED, "^", ORANGE)):
        mine = [trial for trial in one.trials if trial.drawn == drawn]
        ax.plot(
            [_along(t) for t in mine],
            [100 * (t.scored.test or 0.0) for t in mine],
            mark,
            color=colour,
            markersize=4.5,
            alpha=0.8,
            label="drawn uniformly" if drawn == UNIFORM else "Optuna's choice",
        )
    best = one.best
    ring = {"markerfacecolor": "none", "markeredgecolor": RED, "markersize": 11}
    at = [_along(best)], [100 * (best.scored.test or 0.0)]
    ax.plot(*at, "o", markeredgewidth=1.8, label="taken", **ring)
    if known := paper.known(one.dataset):
        mean = paper.SEARCH[known].test_mean
        ax.axhline(mean, color=SOFT, linestyle="--", linewidth=1, label="the paper's mean")
    ax.set_xlabel(ALONG[one.selection], color=INK)


def _along(trial: Trial) -> float:
    return 100 * trial.scored.objective

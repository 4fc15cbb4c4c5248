"""A comparison as one picture: figures with their intervals, unseen votes, and who agrees with whom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unruly.errors import InputError
from unruly.files import written_whole
from unruly.statistics import Share
from unruly_lab.compare.comparison import Comparison, Row

ENDINGS = (".png", ".svg")
INK, SOFT, GRID, BLUE, ORANGE = "#222222", "#6b6b6b", "#e3e3e3", "#0072b2", "#e69f00"
Axes = Any  # matplotlib is imported when something is drawn


def draw_comparison(comparison: Comparison, path: Path) -> None:
    """Write the picture, PNG or SVG by its ending; the same comparison gives the same bytes."""
    if not comparison.ran:
        raise InputError(f"{path}: no system could be run, so there is nothing to draw")
    from matplotlib import rc_context

    figure = comparison_figure(comparison)
    metadata = {"Date": None} if path.suffix.lower() == ".svg" else {"Software": None}
    kind = path.suffix.lower().removeprefix(".")
    with (
        written_whole(path) as part,
        rc_context({"svg.hashsalt": "unruly", "svg.fonttype": "none"}),
    ):
        figure.savefig(part, format=kind, dpi=150, metadata=metadata, facecolor="white")


def comparison_figure(comparison: Comparison) -> Any:
    """A matplotlib figure of two or three panels."""
    from matplotlib.figure import Figure

    panels: list[Callable[[Axes, Comparison], None]] = [_right if comparison.scored_on else _steady]
    if comparison.hidden:
        panels.append(_unseen)
    panels.append(_agreement)
    rows = len(comparison.ran)
    figure = Figure(
        figsize=(2.2 + 3.4 * len(panels), 1.6 + 0.36 * max(rows, 4)), layout="constrained"
    )
    for place, panel in enumerate(panels):
        ax = figure.add_subplot(1, len(panels), place + 1)
        panel(ax, comparison)
        _quiet(ax, comparison.ran, named=place == 0)
    return figure


def _right(ax: Axes, comparison: Comparison) -> None:
    """Accuracy and macro F1, with their intervals."""
    gold = [row.gold for row in comparison.ran if row.gold is not None]
    _dots(ax, [scores.accuracy for scores in gold], BLUE, "o", "accuracy", -0.13)
    _dots(ax, [scores.macro_f1 for scores in gold], ORANGE, "s", "macro F1", 0.13)
    ax.set_title(f"on {comparison.scored_on}", loc="left", fontsize=10, color=INK)
    _legend(ax)
    _per_cent(ax)


def _steady(ax: Axes, comparison: Comparison) -> None:
    """Stability and agreement with the majority: what can be measured without gold."""
    for values, colour, mark, name in (
        ([row.stability for row in comparison.ran], BLUE, "o", "stability"),
        ([row.majority for row in comparison.ran], ORANGE, "s", "follows majority"),
    ):
        shares = [Share(np.nan if v is None else v, 0, 1, 0) for v in values]
        _dots(ax, shares, colour, mark, name, 0.0)
    ax.set_title("no gold labels", loc="left", fontsize=10, color=INK)
    _legend(ax)
    _per_cent(ax)


def _unseen(ax: Axes, comparison: Comparison) -> None:
    """The likelihood of votes that were hidden."""
    values = [np.nan if row.unseen is None else row.unseen for row in comparison.ran]
    ax.plot(values, range(len(values)), "D", color=BLUE, markersize=6)
    nothing = float(np.log(1 / len(comparison.classes)))
    ax.axvline(nothing, color=SOFT, linestyle=":", linewidth=1)
    ax.set_title("held-out votes: log-likelihood", loc="left", fontsize=10, color=INK)
    ax.set_xlabel("right is better; dotted: a uniform guess", fontsize=9, color=SOFT)


def _agreement(ax: Axes, comparison: Comparison) -> None:
    """The share of equal answers of every two systems, as a map with its numbers."""
    shares = comparison.agreement
    ax.imshow(shares, cmap="Blues", vmin=min(0.5, float(shares.min())), vmax=1.0, aspect="auto")
    for (i, j), share in np.ndenumerate(shares):
        dark = share > (1 + min(0.5, float(shares.min()))) / 2
        ax.text(
            *(j, i, f"{100 * share:.0f}"),
            ha="center",
            va="center",
            fontsize=8,
            color="white" if dark else INK,
        )
    ax.set_xticks(range(len(shares)), [str(place + 1) for place in range(len(shares))])
    ax.set_title("same predictions, %", loc="left", fontsize=10, color=INK)


def _dots(
    ax: Axes, shares: Sequence[Share], colour: str, mark: str, name: str, shift: float
) -> None:
    values = np.array([share.value for share in shares])
    places = np.arange(len(shares)) + shift
    if any(share.n for share in shares):
        reach = [[s.value - s.low for s in shares], [s.high - s.value for s in shares]]
        reach = np.nan_to_num(np.maximum(reach, 0)).tolist()
        ax.errorbar(values, places, xerr=reach, fmt="none", ecolor=colour, elinewidth=1.2)
    ax.plot(values, places, mark, color=colour, markersize=6, label=name)


def _legend(ax: Axes) -> None:
    ax.legend(loc="upper left", bbox_to_anchor=(0, -0.12), ncols=2, frameon=False, fontsize=9)


def _per_cent(ax: Axes) -> None:
    from matplotlib import ticker

    ax.xaxis.set_major_formatter(ticker.PercentFormatter(1.0, decimals=0))


def _quiet(ax: Axes, rows: Sequence[Row], named: bool) -> None:
    """Systems from top to bottom, numbered as in the map; two light spines."""
    names = [f"{row.entry.title}  {place + 1}" for place, row in enumerate(rows)]
    ax.set_yticks(range(len(rows)), names if named else [str(p + 1) for p in range(len(rows))])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.tick_params(colors=SOFT, labelcolor=INK, labelsize=9, length=3)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(SOFT)
    if not ax.images:
        ax.grid(color=GRID, linewidth=0.8)
        ax.set_axisbelow(True)

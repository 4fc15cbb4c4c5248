"""Noise before and after denoising as bars, on matched documents and on all."""

from __future__ import annotations

from collections.abc import Sequence

from unruly.bench import paper_figures as paper
from unruly.bench.charts.drawing import (
    CYCLE,
    INK,
    SOFT,
    Axes,
    axes,
    figure,
    heading,
    legend,
    svg_of,
)
from unruly.bench.run import Outcome
from unruly.bench.tables.noise import NoiseLine, lines
from unruly.bench.tables.spread import Spread


def chart(outcomes: Sequence[Outcome]) -> str | None:
    """Left: documents with a vote, the paper's reduction as a mark; right: all documents."""
    found = lines(outcomes)
    if not found:
        return None
    names = list(dict.fromkeys(line.dataset for line in found))
    drawing = figure(200 + 110.0 * len(names), 320)
    left, right = axes(drawing, (1, 2, 1)), axes(drawing, (1, 2, 2))
    _bars(left, names, found, matched=True)
    _bars(right, names, found, matched=False)
    _papers(left, names, found)
    heading(right, "all documents")
    left.set_ylabel("wrong labels of training documents, %")
    heading(left, "matched documents")
    legend(drawing, 3 if len(names) > 2 else 2)
    return svg_of(drawing, "noise")


def _bars(ax: Axes, names: Sequence[str], found: Sequence[NoiseLine], matched: bool) -> None:
    titles = list(dict.fromkeys(line.title for line in found))
    width = 0.8 / (len(titles) + 1)
    first = {line.dataset: line for line in reversed(found)}
    before = [(first[name].matched if matched else first[name].all)[0] for name in names]
    _group(ax, range(len(names)), before, width, 0, "majority vote", SOFT)
    for place, title in enumerate(titles, 1):
        mine = [line for line in found if line.title == title]
        at = [names.index(line.dataset) for line in mine]
        after = [(line.matched if matched else line.all)[1] for line in mine]
        _group(ax, at, after, width, place, title, CYCLE[(place - 1) % len(CYCLE)])
    middle = width * len(titles) / 2
    ax.set_xticks([x + middle for x in range(len(names))], names)
    ax.grid(visible=False, axis="x")


def _group(
    ax: Axes,
    at: Sequence[int] | range,
    spreads: Sequence[Spread],
    width: float,
    place: int,
    label: str,
    colour: str,
) -> None:
    reach = [100 * s.deviation if s.n > 1 else 0.0 for s in spreads]
    ax.bar(
        [x + width * place for x in at],
        [100 * s.mean for s in spreads],
        width * 0.92,
        yerr=reach if any(reach) else None,
        ecolor=INK,
        color=colour,
        label=label,
    )


def _papers(ax: Axes, names: Sequence[str], found: Sequence[NoiseLine]) -> None:
    """Where the paper's reduction would bring our majority vote."""
    width = 0.8 / (len({line.title for line in found}) + 1)
    first = {line.dataset: line for line in reversed(found)}
    at, values = [], []
    for x, name in enumerate(names):
        if known := paper.known(name):
            at.append(x + width)
            values.append(100 * first[name].matched[0].mean - paper.NOISE_REDUCTION[known])
    if at:
        face = {"markerfacecolor": "white", "markeredgecolor": INK}
        ax.plot(at, values, "D", markersize=6, label="the paper's reduction", **face)

"""Accuracy by the number of sources that voted: a panel for each data set."""

from __future__ import annotations

from collections.abc import Sequence

from unruly.bench.charts.curves import Panel, panels
from unruly.bench.charts.drawing import svg_of
from unruly.bench.run import Outcome
from unruly.bench.tables.by_matched import Group, lines


def chart(outcomes: Sequence[Outcome]) -> str | None:
    """One curve for each method; error bars are ± sd over seeds."""
    found = lines(outcomes)
    if not found:
        return None
    return svg_of(panels([_panel(dataset, by) for dataset, by in found.items()]), "by-matched")


def _panel(dataset: str, by_title: dict[str, tuple[Group, ...]]) -> Panel:
    every = {float(g.sources): g.name for groups in by_title.values() for g in groups}
    curves = {
        title: [(float(g.sources), g.accuracy) for g in groups]
        for title, groups in by_title.items()
    }
    return Panel(dataset, curves, "sources that voted", ticks=dict(sorted(every.items())))

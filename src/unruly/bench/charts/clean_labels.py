"""Accuracy with more and more clean labels: ours, BERT-MLP, and both of the paper's."""

from __future__ import annotations

from collections.abc import Sequence

from unruly.bench import paper_figures as paper
from unruly.bench.charts.curves import Panel, panels
from unruly.bench.charts.drawing import svg_of
from unruly.bench.run import Outcome
from unruly.bench.tables.clean_labels import curves
from unruly.bench.tables.spread import Spread


def chart(outcomes: Sequence[Outcome]) -> str | None:
    """A panel for each data set; the share of training documents with a true label to the right."""
    found = curves(outcomes)
    if not found:
        return None
    return svg_of(panels([_panel(d, lines) for d, lines in found.items()]), "clean-labels")


def _panel(dataset: str, lines: dict[str, list[tuple[float, Spread]]]) -> Panel:
    drawn = {**lines, **_papers(dataset)}
    percent = {
        title: [(100 * share, spread) for share, spread in points]
        for title, points in drawn.items()
    }
    ticks = {
        at: f"{at:g}" for at in sorted({at for points in percent.values() for at, _ in points})
    }
    return Panel(dataset, percent, "training documents labelled, %", log=True, ticks=ticks)


def _papers(dataset: str) -> dict[str, list[tuple[float, Spread]]]:
    known = paper.known(dataset)
    if known is None:
        return {}
    return {
        title: [
            (share, Spread(cells[system, known] / 100, 0.0, 1))
            for share, cells in paper.CLEAN.items()
            if (system, known) in cells
        ]
        for system, title in (
            ("bert-mlp-gold", "BERT-MLP, in the paper"),
            ("paper", "its method, in the paper"),
        )
    }

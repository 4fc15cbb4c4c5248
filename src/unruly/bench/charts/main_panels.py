"""The main experiment in panels: every method on every data set, a dot each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from unruly.bench.charts.dot_panels import Dot, dot_panels
from unruly.bench.charts.drawing import svg_of
from unruly.bench.run import Outcome
from unruly.bench.tables.ways import Way, cells, datasets, several_encoders

DotOf = Callable[[Way, str, Sequence[Outcome]], Dot]  # of a method, a data set, its seeds


def main_panels(
    outcomes: Sequence[Outcome], dot: DotOf, *, name: str, label: str, log: bool = False
) -> str | None:
    """The picture as SVG; None where nothing was run."""
    found = cells(outcomes, "main")
    if not found:
        return None
    named = several_encoders(found)
    panels = {
        dataset: {
            way.title(named): dot(way, dataset, found[way][dataset])
            for way in found
            if dataset in found[way]
        }
        for dataset in datasets(found)
    }
    return svg_of(dot_panels(panels, label, log), name)

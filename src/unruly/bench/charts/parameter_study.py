"""The parameter study as curves: four panels, c1, c3, the learning rate and the hidden size."""

from __future__ import annotations

from collections.abc import Sequence

from unruly.bench import paper_figures as paper
from unruly.bench.charts.curves import Panel, panels
from unruly.bench.charts.drawing import svg_of
from unruly.bench.run import Outcome
from unruly.bench.tables.parameter_study import NAMES, Curves, curves

LOGARITHMIC = ("learning_rate", "hidden")
LETTERED = dict(zip(NAMES, "abcd", strict=True))


def chart(outcomes: Sequence[Outcome]) -> str | None:
    """A curve for each data set; dotted: the paper's default; error bars are ± sd over seeds."""
    found = curves(outcomes)
    if not found:
        return None
    several = len(found) > 1
    return svg_of(panels([_panel(p, found, several) for p in NAMES], across=2), "parameter-study")


def _panel(parameter: str, found: dict[str, Curves], several: bool) -> Panel:
    drawn = {
        f"{dataset}, {title}" if several else dataset: list(line.items())
        for title, by_parameter in found.items()
        for dataset, line in by_parameter[parameter].items()
    }
    values = sorted({value for points in drawn.values() for value, _ in points})
    ticks = {v: f"{v:g}" for v in values} if parameter in LOGARITHMIC else None
    return Panel(
        f"({LETTERED[parameter]}) {NAMES[parameter]}",
        drawn,
        NAMES[parameter],
        log=parameter in LOGARITHMIC,
        ticks=ticks,
        mark=getattr(paper.DEFAULTS, parameter),
    )

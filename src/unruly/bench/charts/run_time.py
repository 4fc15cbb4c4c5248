"""Run time as a picture: CPU seconds of learning, features ready, beside the paper's minutes."""

from __future__ import annotations

from collections.abc import Sequence

from unruly.bench import paper_figures as paper
from unruly.bench.charts.dot_panels import Dot, dot_panels
from unruly.bench.charts.drawing import svg_of
from unruly.bench.run import Outcome
from unruly.bench.tables.ways import Way, cells, datasets, several_encoders


def chart(outcomes: Sequence[Outcome]) -> str | None:
    """Dots are means over seeds, lines go from the fastest to the slowest run; a logarithmic axis."""
    found = cells(outcomes, "main")
    if not found:
        return None
    named = several_encoders(found)
    panels = {
        dataset: {
            way.title(named): _dot(way, dataset, found[way][dataset])
            for way in found
            if dataset in found[way]
        }
        for dataset in datasets(found)
    }
    return svg_of(
        dot_panels(panels, "CPU seconds of learning (lines: fastest to slowest seed)", log=True),
        "run-time",
    )


def _dot(way: Way, dataset: str, several: Sequence[Outcome]) -> Dot:
    times = [max(o.cpu, 0.01) for o in several]  # less than a clock tick has no logarithm
    known = paper.known(dataset)
    theirs = 60 * paper.RUN_TIME[known] if known and way.method == "paper" else None
    gold = any(o.gold_used for o in several)
    return Dot(sum(times) / len(times), min(times), max(times), paper=theirs, gold=gold)

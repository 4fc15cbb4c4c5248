"""Run time as a picture: CPU seconds of learning, features ready, beside the paper's minutes."""

from __future__ import annotations

from collections.abc import Sequence

from unruly.bench import paper_figures as paper
from unruly.bench.charts.dot_panels import Dot
from unruly.bench.charts.main_panels import main_panels
from unruly.bench.run import Outcome
from unruly.bench.tables.ways import Way


def chart(outcomes: Sequence[Outcome]) -> str | None:
    """Dots are means over seeds, lines go from the fastest to the slowest run; a logarithmic axis."""
    label = "CPU seconds of learning (lines: fastest to slowest seed)"
    return main_panels(outcomes, _dot, name="run-time", label=label, log=True)


def _dot(way: Way, dataset: str, several: Sequence[Outcome]) -> Dot:
    times = [max(o.cpu, 0.01) for o in several]  # less than a clock tick has no logarithm
    known = paper.known(dataset)
    theirs = 60 * paper.RUN_TIME[known] if known and way.method == "paper" else None
    gold = any(o.gold_used for o in several)
    return Dot(sum(times) / len(times), min(times), max(times), paper=theirs, gold=gold)

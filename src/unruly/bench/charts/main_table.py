"""The main table as a picture: every method on every data set, its interval, and the paper's figure."""

from __future__ import annotations

from collections.abc import Sequence

from unruly.bench import paper_figures as paper
from unruly.bench.charts.dot_panels import Dot, dot_panels
from unruly.bench.charts.drawing import svg_of
from unruly.bench.run import Outcome
from unruly.bench.tables.spread import Spread
from unruly.bench.tables.ways import Way, cells, datasets, several_encoders
from unruly.votes.interval import wilson

# The supervised BERT-MLP of the main experiment has all training labels, as in the last rows of the paper's.
FIGURES = {**paper.CLEAN[1.0], **paper.SUPERVISED, **paper.ABLATIONS, **paper.MAIN}


def chart(outcomes: Sequence[Outcome]) -> str | None:
    """Dots are means over seeds; thin lines the 95 % interval for so many test documents, thick ones ± sd."""
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
    label = "test accuracy, % (thin: 95 % interval; thick: ± sd of seeds)"
    return svg_of(dot_panels(panels, label), "main-table")


def _dot(way: Way, dataset: str, several: Sequence[Outcome]) -> Dot:
    spread, n = Spread.of(o.accuracy for o in several), several[0].documents[2]
    interval = wilson(round(spread.mean * n), n)
    return Dot(
        100 * spread.mean,
        100 * (interval.low if interval else spread.mean),
        100 * (interval.high if interval else spread.mean),
        100 * spread.deviation if spread.n > 1 else 0.0,
        FIGURES.get((way.method, paper.known(dataset) or "")),
        any(o.gold_used for o in several),
    )

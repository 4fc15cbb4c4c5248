"""The main table as a picture: every method on every data set, its interval, and the paper's figure."""

from __future__ import annotations

from collections.abc import Sequence

from unruly.bench import paper_figures as paper
from unruly.bench.charts.dot_panels import Dot
from unruly.bench.charts.main_panels import main_panels
from unruly.bench.run import Outcome
from unruly.bench.tables.spread import Spread
from unruly.bench.tables.ways import Way
from unruly.votes.interval import wilson

# The supervised BERT-MLP of the main experiment has all training labels, as in the last rows of the paper's.
FIGURES = {**paper.CLEAN[1.0], **paper.SUPERVISED, **paper.ABLATIONS, **paper.MAIN}


def chart(outcomes: Sequence[Outcome]) -> str | None:
    """Dots are means over seeds; thin lines the 95 % interval for so many test documents, thick ones ± sd."""
    label = "test accuracy, % (thin: 95 % interval; thick: ± sd of seeds)"
    return main_panels(outcomes, _dot, name="main-table", label=label)


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

"""The main table: every method on every data set."""

from __future__ import annotations

from collections.abc import Sequence

from unruly.bench import paper_figures as paper
from unruly.bench.run import Outcome
from unruly.bench.tables.beside_paper import conditions
from unruly.bench.tables.markdown import page
from unruly.bench.tables.method_rows import differences_beyond_chance, method_rows
from unruly.bench.tables.ways import cells

TITLE = "Every method on every data set"
ABLATIONS = ("rule-only", "neural-only", "neural-self", "rule-neural")  # they have their own table


def table(outcomes: Sequence[Outcome]) -> str | None:
    """Mean ± deviation over seeds, gold use in its own column, the paper's figures below ours."""
    kept = [o for o in outcomes if o.run.method not in ABLATIONS]
    found = cells(kept, "main")
    if not found:
        return None
    shown = [o for by_dataset in found.values() for several in by_dataset.values() for o in several]
    papers = {**paper.SUPERVISED, **paper.MAIN, **_supervised()}
    return page(
        TITLE,
        "Accuracy on the test documents in per cent, mean ± standard deviation over seeds. The second column says "
        "what true labels the method was given for; those of the test documents are for scoring alone. The "
        "paper's method, also where it makes labels for another, has the paper's own hyper-parameters for each of "
        "its data sets, which the paper chose by gold validation labels; nothing else was chosen for a data set.",
        method_rows(found, papers),
        "Where ours differ from the paper's by more than chance (1.96 standard deviations of seeds and of the draw "
        "of test documents together):",
        differences_beyond_chance(found, papers),
        conditions(shown),
    )


def _supervised() -> dict[paper.Cell, float]:
    """All true labels given."""
    return paper.CLEAN[1.0]

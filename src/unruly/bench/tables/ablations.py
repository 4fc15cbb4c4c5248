"""The ablations: the paper's method with parts left out."""

from __future__ import annotations

from collections.abc import Sequence

from unruly.bench import paper_figures as paper
from unruly.bench.run import Outcome
from unruly.bench.tables.beside_paper import conditions
from unruly.bench.tables.main_table import ABLATIONS
from unruly.bench.tables.markdown import page
from unruly.bench.tables.method_rows import differences_beyond_chance, method_rows
from unruly.bench.tables.spread import Spread
from unruly.bench.tables.ways import Cells, Way, cells
from unruly.peers.systems import entry

TITLE = "Ablations"
WHOLE = "paper"


def table(outcomes: Sequence[Outcome]) -> str | None:
    """The whole method, then without each part; and which parts cost more than they bring."""
    found = cells(outcomes, "main", (WHOLE, *ABLATIONS))
    if not any(way.method in ABLATIONS for way in found):
        return None
    shown = [o for by_dataset in found.values() for several in by_dataset.values() for o in several]
    return page(
        TITLE,
        "Test accuracy in per cent, mean ± standard deviation over seeds. Rule-only: without classifier and "
        "self-training. Neural-only: without denoiser and self-training. Neural-self: without denoiser. "
        "Rule-neural: without self-training.",
        method_rows(found, paper.ABLATIONS),
        "In the paper the whole method is the best on every data set. Here:",
        "\n".join(f"- {line}" for line in _better_without(found)),
        "Where ours differ from the paper's by more than chance:",
        differences_beyond_chance(found, paper.ABLATIONS),
        conditions(shown),
    )


def _better_without(found: Cells) -> list[str]:
    """For each way of the whole method: the data sets on which a part of it is better than the whole."""
    said = []
    for way in (way for way in found if way.method == WHOLE):
        better = [part for name in found[way] if (part := _best_part(found, way, name))]
        told = (
            f"better than the whole are {'; '.join(better)}"
            if better
            else "the whole is the best everywhere"
        )
        said.append(f"{way.title()}: {told}.")
    return said


def _best_part(found: Cells, whole: Way, name: str) -> str:
    """On one data set, the ablation that beats the whole by most; empty where none does."""
    ours = Spread.of(o.accuracy for o in found[whole][name])
    parts = {
        way.method: Spread.of(o.accuracy for o in by_dataset[name])
        for way, by_dataset in found.items()
        if way.method in ABLATIONS and way.selection == whole.selection and name in by_dataset
    }
    best = max(parts, key=lambda method: parts[method].mean, default=None)
    if best is None or parts[best].percent <= ours.percent:
        return ""
    return f"on {name} {entry(best).title} ({parts[best].percent:.1f} against {ours.percent:.1f})"

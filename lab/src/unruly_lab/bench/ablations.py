"""The ablations: the paper's method with parts left out."""

from __future__ import annotations

from collections.abc import Sequence

from unruly_lab.bench import paper_figures as paper
from unruly_lab.bench.main_table import ABLATIONS, differences_beyond_chance, method_rows
from unruly_lab.bench.runs import Outcome
from unruly_lab.bench.tables import Cells, Spread, Variant, cells, conditions, of_the_paper, page
from unruly_lab.peers.systems import entry

TITLE = "Ablations"
WHOLE = "paper"


def table(outcomes: Sequence[Outcome]) -> str | None:
    """The whole method, then without each part; and which parts cost more than they bring."""
    found = of_the_paper(cells(outcomes, "main", (WHOLE, *ABLATIONS)))
    if not any(variant.method in ABLATIONS for variant in found):
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
    """For each variant of the whole method: the data sets on which a part of it is better than the whole."""
    said = []
    for variant in (variant for variant in found if variant.method == WHOLE):
        better = [part for name in found[variant] if (part := _best_part(found, variant, name))]
        shown = (
            f"better than the whole are {'; '.join(better)}"
            if better
            else "the whole is the best everywhere"
        )
        said.append(f"{variant.title()}: {shown}.")
    return said


def _best_part(found: Cells, whole: Variant, name: str) -> str:
    """On one data set, the ablation that beats the whole by most; empty where none does."""
    ours = Spread.of(o.accuracy for o in found[whole][name])
    parts = {
        variant.method: Spread.of(o.accuracy for o in by_dataset[name])
        for variant, by_dataset in found.items()
        if variant.method in ABLATIONS
        and variant.selection == whole.selection
        and variant.attention in ("", whole.attention)  # some parts have no attention
        and name in by_dataset
    }
    best = max(parts, key=lambda method: parts[method].mean, default=None)
    if best is None or parts[best].percent <= ours.percent:
        return ""
    return f"on {name} {entry(best).title} ({parts[best].percent:.1f} against {ours.percent:.1f})"

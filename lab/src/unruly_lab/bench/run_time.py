"""What methods cost: CPU seconds of training and the number of trained parameters; table and picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unruly_lab.bench import paper_figures as paper
from unruly_lab.bench.pictures import Dot, main_panels
from unruly_lab.bench.runs import Outcome
from unruly_lab.bench.tables import (
    NOTHING,
    Spread,
    Variant,
    cells,
    conditions,
    datasets,
    gold_mark,
    markdown,
    of_the_paper,
    page,
    several_encoders,
)

TITLE = "Run time and number of trainable parameters"
METHOD = "paper"


def table(outcomes: Sequence[Outcome]) -> str | None:
    """Methods × data sets; the paper's minutes and its number of parameters beside ours."""
    found = of_the_paper(cells(outcomes, "main"))
    if not found:
        return None
    names, named = datasets(found), several_encoders(found)
    header = ["method", "parameters", *(f"{name}, s" for name in names)]
    rows = []
    for variant, by_dataset in found.items():
        rows.append([variant.title(named), _parameters(by_dataset), *_seconds(by_dataset, names)])
    if any(variant.method == METHOD for variant in found):
        minutes = [paper.RUN_TIME.get(paper.known(name) or "") for name in names]
        theirs = [NOTHING if value is None else f"*{60 * value:.0f}*" for value in minutes]
        rows.append(["*the paper's method, in the paper*", f"*{paper.PARAMETERS:,}*", *theirs])
    return page(
        TITLE,
        "CPU seconds of one fit on one thread, mean over seeds, features ready; and the numbers learnt, which depend "
        "on the encoder's width and the data set's sources and classes (from fewest to most). The paper's seconds "
        "are its minutes for one experiment on a Xeon Silver 4214, by the clock; whether that counts features it "
        "does not say.",
        markdown(header, rows),
        conditions(o for d in found.values() for several in d.values() for o in several),
    )


def _parameters(by_dataset: Mapping[str, Sequence[Outcome]]) -> str:
    numbers = sorted({o.parameters for several in by_dataset.values() for o in several})
    return f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,} to {numbers[-1]:,}"


def _seconds(by_dataset: Mapping[str, Sequence[Outcome]], names: Sequence[str]) -> list[str]:
    spent = [Spread.of(o.cpu for o in by_dataset.get(name, ())) for name in names]
    return [f"{one.mean:.1f}" if one.n else NOTHING for one in spent]


def chart(outcomes: Sequence[Outcome]) -> str | None:
    """Dots are means over seeds, lines go from the fastest to the slowest run; a logarithmic axis."""
    label = "CPU seconds of learning (lines: fastest to slowest seed)"
    found = of_the_paper(cells(outcomes, "main"))
    return main_panels(found, _dot, name="run-time", label=label, log=True)


def _dot(variant: Variant, dataset: str, several: Sequence[Outcome]) -> Dot:
    times = [max(o.cpu, 0.01) for o in several]  # less than a clock tick has no logarithm
    known = paper.known(dataset)
    theirs = 60 * paper.RUN_TIME[known] if known and variant.method == "paper" else None
    gold = gold_mark(several)
    return Dot(sum(times) / len(times), min(times), max(times), paper=theirs, gold=gold)

"""What methods cost: CPU seconds of learning, and how many numbers are learnt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unruly.bench import paper_figures as paper
from unruly.bench.run import Outcome
from unruly.bench.tables.markdown import NOTHING, markdown, page
from unruly.bench.tables.spread import Spread
from unruly.bench.tables.ways import Cells, cells, datasets, in_order, several_encoders

TITLE = "Run time and number of trainable parameters"
METHOD = "paper"


def table(outcomes: Sequence[Outcome]) -> str | None:
    """Methods × data sets; the paper's minutes and its number of parameters beside ours."""
    found = cells(outcomes, "main")
    if not found:
        return None
    names, named = datasets(found), several_encoders(found)
    header = ["method", "parameters", *(f"{name}, s" for name in names)]
    rows = []
    for way, by_dataset in found.items():
        rows.append([way.title(named), _parameters(by_dataset), *_seconds(by_dataset, names)])
    if any(way.method == METHOD for way in found):
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
        "\n".join(f"- {line}" for line in _sentences(found)),
    )


def _parameters(by_dataset: Mapping[str, Sequence[Outcome]]) -> str:
    numbers = sorted({o.parameters for several in by_dataset.values() for o in several})
    return f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,} to {numbers[-1]:,}"


def _seconds(by_dataset: Mapping[str, Sequence[Outcome]], names: Sequence[str]) -> list[str]:
    spent = [Spread.of(o.cpu for o in by_dataset.get(name, ())) for name in names]
    return [f"{one.mean:.1f}" if one.n else NOTHING for one in spent]


def _sentences(found: Cells) -> list[str]:
    """The paper's method here beside itself in the paper."""
    said = []
    for way, by_dataset in found.items():
        if way.method != METHOD:
            continue
        told = []
        for name in in_order(by_dataset):
            known = paper.known(name)
            if known is not None:
                several = by_dataset[name]
                here = Spread.of(o.cpu for o in several).mean
                told.append(
                    f"{name} {here:.1f} s on {several[0].documents[0]:,} training documents "
                    f"(the paper: {60 * paper.RUN_TIME[known]:.0f} s on "
                    f"{1000 * paper.STATISTICS[known].train:,.0f})"
                )
        if told:
            said.append(f"{way.title()}: {'; '.join(told)}.")
    return said

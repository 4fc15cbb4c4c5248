"""Accuracy with a share of true training labels, beside BERT-MLP on those labels alone: table and picture."""

from __future__ import annotations

from collections.abc import Sequence

from unruly_lab.bench import paper_figures as paper
from unruly_lab.bench.pictures import Panel, panels, svg_of
from unruly_lab.bench.runs import Outcome
from unruly_lab.bench.tables import (
    F1_NOTE,
    Cells,
    Spread,
    cells,
    conditions,
    datasets,
    gains,
    gold_words,
    markdown,
    page,
    papers_row,
    rows,
    several_encoders,
)

ALONE = "bert-mlp-gold"  # learns from the clean labels alone
METHODS = (ALONE, "paper", "default")
TITLE = "Clean labels"


def by_share(outcomes: Sequence[Outcome]) -> dict[float, Cells]:
    """The cells of each share of clean labels, small shares first."""
    shares = {o.run.clean for o in outcomes if o.run.experiment == "clean"} - {None}
    found = {
        share: cells([o for o in outcomes if o.run.clean == share], "clean", METHODS)
        for share in sorted(s for s in shares if s is not None)
    }
    return {share: by_variant for share, by_variant in found.items() if by_variant}


def curves(outcomes: Sequence[Outcome]) -> dict[str, dict[str, list[tuple[float, Spread]]]]:
    """Data set, then the title of the method: accuracy at each share."""
    found: dict[str, dict[str, list[tuple[float, Spread]]]] = {}
    for share, by_variant in by_share(outcomes).items():
        named = several_encoders(by_variant)
        for variant, by_dataset in by_variant.items():
            for dataset in datasets(by_variant):
                if dataset in by_dataset:
                    line = found.setdefault(dataset, {}).setdefault(variant.title(named), [])
                    line.append((share, Spread.of(o.accuracy for o in by_dataset[dataset])))
    return found


def table(outcomes: Sequence[Outcome]) -> str | None:
    """One group of rows for each share."""
    found = by_share(outcomes)
    if not found:
        return None
    every = [
        o
        for by_variant in found.values()
        for d in by_variant.values()
        for c in d.values()
        for o in c
    ]
    columns = datasets(
        {variant: d for by_variant in found.values() for variant, d in by_variant.items()}
    )
    columns = tuple(dict.fromkeys((*columns, *(o.run.dataset for o in every))))
    body: list[tuple[str, ...]] = []
    over: list[tuple[str, ...]] = []
    for share, by_variant in found.items():
        named, figures = several_encoders(by_variant), paper.CLEAN.get(share, {})
        alone = _alone(by_variant)
        for variant, by_dataset in by_variant.items():
            title = f"{100 * share:g} %, {variant.title(named)}"
            papers = papers_row(variant.method, figures)
            body += rows(title, by_dataset, papers, columns, every)
            if variant.method != ALONE and alone:
                theirs = papers_row(ALONE, figures)
                lead = {d: value - theirs[d] for d, value in papers.items()}
                over += gains(title, by_dataset, alone, lead, columns)
    return page(
        TITLE,
        "Test accuracy in per cent, mean ± standard deviation over seeds, with a share of the training documents "
        "labelled truly: BERT-MLP learns from those labels alone, ours from them and the votes. The share is "
        f"drawn by the seed, the same documents for every method. {F1_NOTE}",
        markdown(("labelled", *columns), body),
        "What the votes add: points over BERT-MLP on the same labels." if over else "",
        markdown(("labelled", *columns), over) if over else "",
        gold_words(_titled(found)),
        conditions(every),
    )


def _titled(found: dict[float, Cells]) -> dict[str, list[Outcome]]:
    titled: dict[str, list[Outcome]] = {}
    for by_variant in found.values():
        for variant, by_dataset in by_variant.items():
            line = titled.setdefault(variant.title(several_encoders(by_variant)), [])
            line += [o for several in by_dataset.values() for o in several]
    return titled


def _alone(by_variant: Cells) -> dict[str, list[Outcome]]:
    """BERT-MLP on the clean labels alone, by data set; the first of its variants counts."""
    found: dict[str, list[Outcome]] = {}
    for variant, by_dataset in by_variant.items():
        if variant.method == ALONE:
            found = {**by_dataset, **found}
    return found


def chart(outcomes: Sequence[Outcome]) -> str | None:
    """A panel for each data set; the share of training documents with a true label to the right."""
    found = curves(outcomes)
    if not found:
        return None
    return svg_of(panels([_panel(d, lines) for d, lines in found.items()]), "clean-labels")


def _panel(dataset: str, lines: dict[str, list[tuple[float, Spread]]]) -> Panel:
    drawn = {**lines, **_papers(dataset)}
    percent = {
        title: [(100 * share, spread) for share, spread in points]
        for title, points in drawn.items()
    }
    ticks = {
        at: f"{at:g}" for at in sorted({at for points in percent.values() for at, _ in points})
    }
    return Panel(dataset, percent, "training documents labelled, %", log=True, ticks=ticks)


def _papers(dataset: str) -> dict[str, list[tuple[float, Spread]]]:
    known = paper.known(dataset)
    if known is None:
        return {}
    return {
        title: [
            (share, Spread(cells[system, known] / 100, 0.0, 1))
            for share, cells in paper.CLEAN.items()
            if (system, known) in cells
        ]
        for system, title in (
            ("bert-mlp-gold", "BERT-MLP, in the paper"),
            ("paper", "its method, in the paper"),
        )
    }

"""The main table: every method on every data set, without gold and with, the paper's figure under ours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from unruly.statistics import wilson
from unruly_lab.bench import paper_figures as paper
from unruly_lab.bench.pictures import Dot, main_panels
from unruly_lab.bench.runs import Outcome
from unruly_lab.bench.tables import (
    EMPTY,
    NOTHING,
    Cells,
    Spread,
    Variant,
    cells,
    conditions,
    datasets,
    difference,
    fewer,
    gold_mark,
    gold_use,
    in_view,
    markdown,
    of_others,
    of_the_paper,
    page,
    several_encoders,
)
from unruly_lab.peers.systems import entry

Papers = Mapping[paper.Cell, float]
RARE = {"spouse": 1}  # data sets with a rare class: its number; F1 stands beside accuracy there


def method_rows(found: Cells, papers: Papers) -> str:
    """The table: for each method our rows, each with its use of gold, then the paper's."""
    names, named = datasets(found), several_encoders(found)
    every = [o for by_dataset in found.values() for several in by_dataset.values() for o in several]
    header = ["method", "true labels used for"]
    for name in names:
        header.append(name)
        if name in RARE:
            header.append(f"{name}, F1 of {_rare_class(found, name)}")
    rows = []
    for method in dict.fromkeys(variant.method for variant in found):
        for variant in (variant for variant in found if variant.method == method):
            rows.append(_ours(variant.title(named), found[variant], names, every))
        if any((method, paper.known(name)) in papers for name in names):
            rows.append(_theirs(method, papers, names))
    return markdown(header, rows)


def differences_beyond_chance(found: Cells, papers: Papers) -> str:
    """One sentence for each of the paper's methods: where ours is elsewhere than chance would take it."""
    said = []
    for method in dict.fromkeys(variant.method for variant in found):
        variants = [variant for variant in found if variant.method == method]
        nearest = next(
            (variant for variant in variants if variant.selection == "gold"), variants[0]
        )
        if line := _sentence(nearest, found[nearest], papers):
            said.append(f"- {line}")
    return "\n".join(said)


def beyond_chance(several: Sequence[Outcome], theirs: float, dataset: str) -> bool:
    """Whether our mean and the paper's figure (a share) are further apart than chance explains.

    The variance of the difference is that of our mean over seeds, and that of a share of so many test
    documents, ours and the paper's, which are not the same documents; 1.96 deviations are the line.
    """
    ours = Spread.of(o.accuracy for o in several)
    seeds = 0.0 if math.isnan(ours.deviation) else ours.deviation**2 / ours.n
    sizes = several[0].documents[2], 1000 * paper.STATISTICS[dataset].test
    draws = sum(
        share * (1 - share) / n for share, n in zip((ours.mean, theirs), sizes, strict=True)
    )
    return abs(ours.mean - theirs) > 1.96 * math.sqrt(seeds + draws)


def _ours(
    title: str,
    by_dataset: Mapping[str, list[Outcome]],
    names: Sequence[str],
    every: Sequence[Outcome],
) -> list[str]:
    row = [title, gold_use([o for several in by_dataset.values() for o in several])]
    for name in names:
        several = by_dataset.get(name, [])
        row.append(f"{Spread.of(o.accuracy for o in several)}{fewer(several, every)}")
        if name in RARE:
            row.append(str(Spread.of(o.f1[RARE[name]] for o in several)))
    return row


def _theirs(method: str, papers: Papers, names: Sequence[str]) -> list[str]:
    training = ", training" if entry(method).needs_gold else ""
    row = ["*the paper*", f"*choice of the epoch, hyper-parameters{training}*"]
    for name in names:
        value = papers.get((method, paper.known(name) or ""))
        row.append(NOTHING if value is None else f"*{value:.1f}*")
        if name in RARE:
            row.append(NOTHING)
    return row


def _sentence(variant: Variant, by_dataset: Mapping[str, list[Outcome]], papers: Papers) -> str:
    far, near = [], []
    for name, several in by_dataset.items():
        known = paper.known(name) or ""
        if (variant.method, known) not in papers:
            continue
        theirs = papers[variant.method, known]
        if beyond_chance(several, theirs / 100, known):
            mean = Spread.of(o.accuracy for o in several).percent
            far.append(f"{name} {difference(mean, theirs)}")
        else:
            near.append(name)
    if not far and not near:
        return ""
    title = entry(variant.method).title + (
        ", epoch by gold" if variant.selection == "gold" else ", no gold"
    )
    parts = [", ".join(far)] if far else []
    if near:
        parts.append(f"no further from the paper than chance on {', '.join(near)}")
    return f"{title}: {'; '.join(parts)}."


def _rare_class(found: Cells, name: str) -> str:
    first = next(by_dataset[name][0] for by_dataset in found.values() if name in by_dataset)
    return first.classes[RARE[name]]


TITLE = "Every method on every data set"
OTHERS = "Data sets that are not the paper's"
ABLATIONS = ("rule-only", "neural-only", "neural-self", "rule-neural")  # they have their own table


def table(outcomes: Sequence[Outcome]) -> str | None:
    """Mean ± deviation over seeds, gold use in its own column, the paper's figures below ours."""
    kept = [o for o in outcomes if o.run.method not in ABLATIONS]
    every = cells(kept, "main")
    found = of_the_paper(every)
    if not found:
        return None
    shown = [o for by_dataset in found.values() for several in by_dataset.values() for o in several]
    papers = {**paper.SUPERVISED, **paper.MAIN, **_supervised()}
    return page(
        TITLE,
        "Accuracy on the test documents in per cent, mean ± standard deviation over seeds. The second column says "
        "what true labels the method was given for; those of the test documents are for scoring alone. The "
        "paper's method, also where it makes labels for another, has the paper's own hyper-parameters for each of "
        "its data sets, which the paper chose by gold validation labels; nothing else was chosen for a data set. "
        + EMPTY,
        method_rows(found, papers),
        "Where ours differ from the paper's by more than chance (1.96 standard deviations of seeds and of the draw "
        "of test documents together):",
        differences_beyond_chance(found, papers),
        conditions(shown),
        *_others(of_others(every)),
    )


def _others(found: Cells) -> tuple[str, ...]:
    """A line for each data set that is not the paper's, last those that took no part in the default."""
    if not found:
        return ()
    names = sorted(datasets(found), key=lambda name: not in_view(name))
    unseen = [name for name in names if not in_view(name)]
    named = several_encoders(found)
    body = [
        (
            name,
            "yes" if in_view(name) else "no",
            *(str(Spread.of(o.accuracy for o in c.get(name, ()))) for c in found.values()),
        )
        for name in names
    ]
    if len(unseen) > 1:
        body.append(("mean of those", "no", *(_mean(c, unseen) for c in found.values())))
    header = ("data set", "in view", *(variant.title(named) for variant in found))
    return (
        f"### {OTHERS}",
        "Test accuracy in per cent. *In view*: whether true labels of this data set were looked at while the constants "
        "of unruly's default were chosen, as those of the paper's data sets were. "
        + ("Where not, the default's figure uses no true label in any way. " if unseen else "")
        + "Eight sets that [took no part](../docs/unseen.md) have a page of their own, with shares known as well and "
        "with a stronger baseline, a balanced regression on majority votes.",
        markdown(header, body),
    )


def _mean(by_dataset: Mapping[str, list[Outcome]], names: Sequence[str]) -> str:
    """Over these data sets, where the method was run on all."""
    if not all(name in by_dataset for name in names):
        return NOTHING
    means = [Spread.of(o.accuracy for o in by_dataset[name]).mean for name in names]
    return f"{100 * sum(means) / len(means):.1f}"


def _supervised() -> dict[paper.Cell, float]:
    """All true labels given."""
    return paper.CLEAN[1.0]


# The supervised BERT-MLP of the main experiment has all training labels, as in the last rows of the paper's.
FIGURES = {**paper.CLEAN[1.0], **paper.SUPERVISED, **paper.ABLATIONS, **paper.MAIN}


LABEL = "test accuracy, % (thin: 95 % interval; thick: ± sd of seeds)"


def chart(outcomes: Sequence[Outcome]) -> str | None:
    """Dots are means over seeds; thin lines the 95 % interval for so many test documents, thick ones ± sd."""
    return main_panels(of_the_paper(cells(outcomes, "main")), _dot, name="main-table", label=LABEL)


def chart_of_others(outcomes: Sequence[Outcome]) -> str | None:
    """The same of data sets that are not the paper's."""
    return main_panels(of_others(cells(outcomes, "main")), _dot, name="other-data", label=LABEL)


def _dot(variant: Variant, dataset: str, several: Sequence[Outcome]) -> Dot:
    spread, n = Spread.of(o.accuracy for o in several), several[0].documents[2]
    interval = wilson(round(spread.mean * n), n)
    return Dot(
        100 * spread.mean,
        100 * (interval.low if interval else spread.mean),
        100 * (interval.high if interval else spread.mean),
        100 * spread.deviation if spread.n > 1 else 0.0,
        FIGURES.get((variant.method, paper.known(dataset) or "")),
        gold_mark(several),
    )


def validation(outcomes: Sequence[Outcome]) -> str | None:
    """Validation accuracy of the paper's method, beside the table of its appendix."""
    found = cells(outcomes, "main", ("paper",))
    known = [name for name in datasets(found) if paper.known(name)]
    if not known:
        return None
    named = several_encoders(found)
    shown = [o for by_dataset in found.values() for several in by_dataset.values() for o in several]
    body = [
        (
            variant.title(named),
            gold_use([o for several in by_dataset.values() for o in several]),
            *(_validated(by_dataset.get(name, ()), shown) for name in known),
        )
        for variant, by_dataset in found.items()
    ]
    theirs = [f"*{paper.VALIDATION[paper.known(name) or name]:.1f}*" for name in known]
    body.append(("*the paper*", "*choice of the epoch, hyper-parameters*", *theirs))
    return page(
        "Validation accuracy",
        "Accuracy on the validation documents in per cent, mean ± standard deviation over seeds. Where the epoch "
        "was chosen by these labels, the figure is the best of all epochs and so optimistic, as in the paper.",
        markdown(("method", "true labels used for", *known), body),
        conditions(shown),
    )


def _validated(several: Sequence[Outcome], every: Sequence[Outcome]) -> str:
    return f"{Spread.of(o.valid_accuracy for o in several)}{fewer(several, every)}"

"""Wrong labels of training documents before and after denoising: table and picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from unruly_lab.bench import paper_figures as paper
from unruly_lab.bench.pictures import (
    CYCLE,
    INK,
    SOFT,
    Axes,
    axes,
    figure,
    heading,
    legend,
    svg_of,
)
from unruly_lab.bench.runs import Outcome
from unruly_lab.bench.tables import (
    NOTHING,
    Spread,
    Variant,
    cells,
    conditions,
    datasets,
    fewer,
    gold_words,
    markdown,
    of_the_paper,
    page,
    several_encoders,
    titled_with_gold,
)

METHODS = ("paper", "default")
TITLE = "Noise before and after denoising"


@dataclass(frozen=True)
class NoiseLine:
    """One method on one data set; shares of training documents that are labelled wrongly."""

    title: str
    dataset: str
    gold: str  # the title, and what gold took part
    mark: str  # where it has fewer training documents than others
    as_theirs: bool  # the method as printed, and gold chose the epoch
    matched: tuple[Spread, Spread]  # before, after: documents with more than p votes
    voted: tuple[Spread, Spread]  # documents with a vote
    all: tuple[Spread, Spread]

    @property
    def cut_matched(self) -> float:
        """Points that denoising took away among matched documents; negative: it added some."""
        return _cut(self.matched)

    @property
    def cut_all(self) -> float:
        """The same for all documents."""
        return _cut(self.all)


def lines(outcomes: Sequence[Outcome]) -> tuple[NoiseLine, ...]:
    """Every method that denoises, on every data set of the paper."""
    found = of_the_paper(cells(outcomes, "main", METHODS))
    named = several_encoders(found)
    every = [o for by_dataset in found.values() for several in by_dataset.values() for o in several]
    return tuple(
        _line(variant, named, dataset, found[variant], every)
        for variant in found
        for dataset in datasets(found)
        if dataset in found[variant]
    )


def _line(
    variant: Variant,
    named: bool,
    dataset: str,
    by_dataset: Mapping[str, Sequence[Outcome]],
    every: Sequence[Outcome],
) -> NoiseLine:
    several = by_dataset[dataset]
    before, after = [o.noise_before for o in several], [o.noise_after for o in several]
    title = variant.title(named)
    return NoiseLine(
        title,
        dataset,
        titled_with_gold(title, [o for own in by_dataset.values() for o in own]),
        fewer(several, every),
        replace(variant, encoder="", prior=False) == Variant("paper", "gold", ""),
        (Spread.of(n.matched for n in before), Spread.of(n.matched for n in after)),
        (Spread.of(n.voted for n in before), Spread.of(n.voted for n in after)),
        (Spread.of(n.all for n in before), Spread.of(n.all for n in after)),
    )


def table(outcomes: Sequence[Outcome]) -> str | None:
    """One line for each method and data set, the paper's reductions beside ours."""
    found = lines(outcomes)
    if not found:
        return None
    matched = ("matched: before", "after", "fewer", "the paper")
    voted = ("voted on: before", "after", "fewer")
    header = ("method", "data set", "p", *matched, *voted, "all: before", "after", "fewer")
    every = of_the_paper(cells(outcomes, "main", METHODS))
    named = several_encoders(every)
    titled = {
        variant.title(named): [o for d in c.values() for o in d] for variant, c in every.items()
    }
    return page(
        TITLE,
        "Per cent of training documents with a wrong label: by majority vote before, by the method after. *Matched* "
        "are documents with more than p votes, as in the paper, with its p for each data set; *voted on* those "
        "with any vote. Before, ties and documents without a vote count as guessed. *Fewer* is in points. On all documents the "
        f"paper has {paper.NOISE_REDUCTION_ALL:.2f} fewer on average over its five data sets.",
        markdown(header, [_row(line) for line in found]),
        gold_words(titled) + " True labels of training documents score the noise, after training.",
        conditions([o for several in titled.values() for o in several]),
    )


def _row(line: NoiseLine) -> tuple[str, ...]:
    known = paper.known(line.dataset)
    theirs = f"{paper.NOISE_REDUCTION[known]:.2f}" if known else NOTHING
    p = str(paper.MATCHED_ABOVE[known]) if known else "0"
    matched, voted, everywhere = (_cells(pair) for pair in (line.matched, line.voted, line.all))
    return (line.title, f"{line.dataset}{line.mark}", p, *matched, theirs, *voted, *everywhere)


def _cells(pair: tuple[Spread, Spread]) -> tuple[str, str, str]:
    """Before, after, and how many points fewer."""
    return str(pair[0]), str(pair[1]), f"{_cut(pair):.2f}" if pair[0].n and pair[1].n else NOTHING


def _cut(pair: tuple[Spread, Spread]) -> float:
    return round(100 * (pair[0].mean - pair[1].mean), 2)


def chart(outcomes: Sequence[Outcome]) -> str | None:
    """Left: documents with more than p votes, the paper's reduction as a mark; right: all documents."""
    found = lines(outcomes)
    if not found:
        return None
    names = list(dict.fromkeys(line.dataset for line in found))
    drawing = figure(200 + 110.0 * len(names), 320)
    left, right = axes(drawing, (1, 2, 1)), axes(drawing, (1, 2, 2))
    _bars(left, names, found, matched=True)
    _bars(right, names, found, matched=False)
    _papers(left, names, found)
    heading(right, "all training documents")
    left.set_ylabel("wrong labels, %")
    heading(left, "matched training documents (more than p votes)")
    legend(drawing, 1)
    return svg_of(drawing, "noise")


def _bars(ax: Axes, names: Sequence[str], found: Sequence[NoiseLine], matched: bool) -> None:
    titles = list(dict.fromkeys(line.gold for line in found))
    width = 0.8 / (len(titles) + 1)
    first = {line.dataset: line for line in reversed(found)}
    before = [(first[name].matched if matched else first[name].all)[0] for name in names]
    _group(ax, range(len(names)), before, width, 0, "majority vote", SOFT)
    for place, title in enumerate(titles, 1):
        mine = [line for line in found if line.gold == title]
        at = [names.index(line.dataset) for line in mine]
        after = [(line.matched if matched else line.all)[1] for line in mine]
        _group(ax, at, after, width, place, title, CYCLE[(place - 1) % len(CYCLE)])
    middle = width * len(titles) / 2
    ax.set_xticks([x + middle for x in range(len(names))], names)
    ax.grid(visible=False, axis="x")


def _group(
    ax: Axes,
    at: Sequence[int] | range,
    spreads: Sequence[Spread],
    width: float,
    place: int,
    label: str,
    colour: str,
) -> None:
    reach = [100 * s.deviation if s.n > 1 else 0.0 for s in spreads]
    ax.bar(
        [x + width * place for x in at],
        [100 * s.mean for s in spreads],
        width * 0.92,
        yerr=reach if any(reach) else None,
        ecolor=INK,
        color=colour,
        label=label,
    )


def _papers(ax: Axes, names: Sequence[str], found: Sequence[NoiseLine]) -> None:
    """Where the paper's reduction would bring our majority vote: over our bar that is made as the paper's is."""
    titles = list(dict.fromkeys(line.gold for line in found))
    width = 0.8 / (len(titles) + 1)
    alike = next((titles.index(line.gold) for line in found if line.as_theirs), 0)
    first = {line.dataset: line for line in reversed(found)}
    at, values = [], []
    for x, name in enumerate(names):
        if (known := paper.known(name)) and first[name].matched[0].n:
            at.append(x + width * (1 + alike))
            values.append(100 * first[name].matched[0].mean - paper.NOISE_REDUCTION[known])
    if at:
        face = {"markerfacecolor": "white", "markeredgecolor": INK}
        ax.plot(at, values, "D", markersize=6, label="the paper's reduction (by gold)", **face)

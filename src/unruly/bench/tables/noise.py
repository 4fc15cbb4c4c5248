"""Wrong labels of training documents before and after denoising, where sources voted and everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unruly.bench import paper_figures as paper
from unruly.bench.run import Outcome
from unruly.bench.tables.beside_paper import conditions, gold_words
from unruly.bench.tables.markdown import NOTHING, markdown, page
from unruly.bench.tables.spread import Spread
from unruly.bench.tables.ways import Way, cells, datasets, several_encoders

METHODS = ("paper", "default")
TITLE = "Noise before and after denoising"


@dataclass(frozen=True)
class NoiseLine:
    """One method on one data set; shares of training documents that are labelled wrongly."""

    title: str
    dataset: str
    matched: tuple[Spread, Spread]  # before, after: documents with a vote
    all: tuple[Spread, Spread]

    @property
    def cut_matched(self) -> float:
        """Points that denoising took away among documents with a vote; negative: it added some."""
        return round(100 * (self.matched[0].mean - self.matched[1].mean), 2)

    @property
    def cut_all(self) -> float:
        """The same for all documents."""
        return round(100 * (self.all[0].mean - self.all[1].mean), 2)


def lines(outcomes: Sequence[Outcome]) -> tuple[NoiseLine, ...]:
    """Every method that denoises, on every data set."""
    found = cells(outcomes, "main", METHODS)
    named = several_encoders(found)
    return tuple(
        _line(way, named, dataset, found[way][dataset])
        for way in found
        for dataset in datasets(found)
        if dataset in found[way]
    )


def _line(way: Way, named: bool, dataset: str, several: Sequence[Outcome]) -> NoiseLine:
    before, after = [o.noise_before for o in several], [o.noise_after for o in several]
    return NoiseLine(
        way.title(named),
        dataset,
        (Spread.of(n.matched for n in before), Spread.of(n.matched for n in after)),
        (Spread.of(n.all for n in before), Spread.of(n.all for n in after)),
    )


def table(outcomes: Sequence[Outcome]) -> str | None:
    """One line for each method and data set, the paper's reductions beside ours."""
    found = lines(outcomes)
    if not found:
        return None
    matched = ("matched: before", "after", "fewer", "the paper")
    header = ("method", "data set", *matched, "all: before", "after", "fewer")
    every = cells(outcomes, "main", METHODS)
    named = several_encoders(every)
    titled = {way.title(named): [o for d in c.values() for o in d] for way, c in every.items()}
    return page(
        TITLE,
        "Per cent of training documents with a wrong label: by majority vote before, by the method after; on "
        "documents that a source voted on (matched) and on all. Before, ties and documents without a vote "
        "count as guessed. *Fewer* is in points.",
        markdown(header, [_row(line) for line in found]),
        "\n".join(f"- {said}" for said in _sentences(found)),
        gold_words(titled) + " True labels of training documents score the noise, after training.",
        conditions([o for several in titled.values() for o in several]),
    )


def _row(line: NoiseLine) -> tuple[str, ...]:
    known = paper.known(line.dataset)
    theirs = f"{paper.NOISE_REDUCTION[known]:.2f}" if known else NOTHING
    matched = (str(line.matched[0]), str(line.matched[1]), f"{line.cut_matched:.2f}")
    everywhere = (str(line.all[0]), str(line.all[1]), f"{line.cut_all:.2f}")
    return (line.title, line.dataset, *matched, theirs, *everywhere)


def _sentences(found: Sequence[NoiseLine]) -> list[str]:
    said = []
    for title in dict.fromkeys(line.title for line in found):
        mine = [line for line in found if line.title == title]
        parts = [
            _compared(line, paper.NOISE_REDUCTION[known])
            for line in mine
            if (known := paper.known(line.dataset))
        ]
        if parts:
            said.append(
                f"{title}, wrong labels on matched documents, in points: {'; '.join(parts)}."
            )
        ours = [line.cut_all for line in mine]
        said.append(
            f"{title}, on all documents: {_fewer(sum(ours) / len(ours))} on average over "
            f"{', '.join(line.dataset for line in mine)}; in the paper {paper.NOISE_REDUCTION_ALL:.2f} points "
            "fewer on average over its five data sets, how documents without a vote were labelled before is not said."
        )
    return said


def _compared(line: NoiseLine, theirs: float) -> str:
    cut = line.cut_matched
    return f"{line.dataset} {_fewer(cut, '')}, in the paper {theirs:.2f} fewer"


def _fewer(cut: float, unit: str = " points") -> str:
    return f"{abs(cut):.2f}{unit} {'fewer' if cut >= 0 else 'more'}"

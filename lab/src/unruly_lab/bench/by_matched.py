"""Accuracy on test documents by the number of sources that voted on them: table and picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from unruly_lab.bench.pictures import Panel, panels, svg_of
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

METHODS = ("bert-mlp", "paper", "default")
MOST = 5  # this many sources or more are one group
TITLE = "Accuracy by the number of matched sources"


@dataclass(frozen=True)
class Group:
    """The test documents on which so many sources voted (`MOST`: or more)."""

    sources: int
    documents: int
    accuracy: Spread

    @property
    def name(self) -> str:
        """As tables show it."""
        return f"{MOST}+" if self.sources == MOST else str(self.sources)


def groups(several: Sequence[Outcome]) -> tuple[Group, ...]:
    """The groups of one cell, over its seeds; those without documents are left out."""
    counted = [_counted(o) for o in several]
    found = []
    for sources in range(MOST + 1):
        shares = [right[sources] / n[sources] for n, right in counted if n[sources]]
        if shares:
            documents = max(n[sources] for n, _ in counted)
            found.append(Group(sources, documents, Spread.of(shares)))
    return tuple(found)


def _counted(outcome: Outcome) -> tuple[Counter[int], Counter[int]]:
    documents: Counter[int] = Counter()
    right: Counter[int] = Counter()
    for matched in outcome.by_matched:
        documents[min(matched.sources, MOST)] += matched.documents
        right[min(matched.sources, MOST)] += matched.right
    return documents, right


def lines(outcomes: Sequence[Outcome]) -> dict[str, dict[str, tuple[Group, ...]]]:
    """Data set of the paper, then the title of the method, then its groups."""
    found = of_the_paper(cells(outcomes, "main", METHODS))
    named = several_encoders(found)
    return {
        dataset: {
            variant.title(named): groups(c[dataset]) for variant, c in found.items() if dataset in c
        }
        for dataset in datasets(found)
    }


def table(outcomes: Sequence[Outcome]) -> str | None:
    """One block for each data set; None without one of our methods."""
    found = of_the_paper(cells(outcomes, "main", METHODS))
    if not any(variant.method != "bert-mlp" for variant in found):
        return None
    named = several_encoders(found)
    titled = {w.title(named): [o for d in c.values() for o in d] for w, c in found.items()}
    every = [o for several in titled.values() for o in several]
    marks = {
        (d, w.title(named)): fewer(several, every)
        for w, c in found.items()
        for d, several in c.items()
    }
    blocks = {
        d: {f"{title}{marks[d, title]}": groups for title, groups in by_title.items()}
        for d, by_title in lines(outcomes).items()
    }
    return page(
        TITLE,
        "Test accuracy in per cent, mean ± standard deviation over seeds, on documents with so many votes. The "
        "paper shows this as a picture for youtube, without figures; it says that BERT-MLP does poorly on "
        "documents with few votes or none, and that its method improves them significantly.",
        *(_block(dataset, by_title) for dataset, by_title in blocks.items()),
        "\n".join(f"- {said}" for said in _sentences(found, named) if said),
        gold_words(titled),
        conditions(every),
    )


def _block(dataset: str, by_title: dict[str, tuple[Group, ...]]) -> str:
    present = {g.sources: g for several in by_title.values() for g in several}
    shown = [present[sources] for sources in sorted(present)]
    header = (dataset, *(f"{g.name} ({g.documents:,})" for g in shown))
    body = []
    for title, several in by_title.items():
        mine = {g.sources: str(g.accuracy) for g in several}
        body.append((title, *(mine.get(g.sources, NOTHING) for g in shown)))
    return markdown(header, body)


def _sentences(found: dict[Variant, dict[str, list[Outcome]]], named: bool) -> list[str]:
    """Ours against BERT-MLP where sources voted least, in points."""
    said = []
    for variant, by_dataset in found.items():
        rival = replace(variant, method="bert-mlp", attention="")
        if variant.method == "bert-mlp" or rival not in found:
            continue
        parts = [
            _gap(dataset, by_dataset[dataset], found[rival][dataset])
            for dataset in datasets(found)
            if dataset in by_dataset and dataset in found[rival]
        ]
        said.append(
            f"{variant.title(named)} against {rival.title(named)}: {'; '.join(p for p in parts if p)}."
        )
    return said


def _gap(dataset: str, ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> str:
    mine = {g.sources: g.accuracy.percent for g in groups(ours)}
    other = {g.sources: g.accuracy.percent for g in groups(theirs)}
    parts = [
        f"{words} {mine[sources] - other[sources]:+.1f}"
        for sources, words in ((0, "no vote"), (1, "one vote"), (2, "two votes"))
        if sources in mine and sources in other
    ]
    return f"{dataset} {', '.join(parts)} points" if parts else ""


def chart(outcomes: Sequence[Outcome]) -> str | None:
    """One curve for each method, named with its use of gold; error bars are ± sd over seeds."""
    found = of_the_paper(cells(outcomes, "main", METHODS))
    if not found:
        return None
    named = several_encoders(found)
    legend = {
        (title := v.title(named)): titled_with_gold(title, [o for d in c.values() for o in d])
        for v, c in found.items()
    }
    drawn = [
        _panel(dataset, {legend[title]: mine for title, mine in by_title.items()})
        for dataset, by_title in lines(outcomes).items()
    ]
    return svg_of(panels(drawn), "by-matched")


def _panel(dataset: str, by_title: dict[str, tuple[Group, ...]]) -> Panel:
    every = {float(g.sources): g.name for groups in by_title.values() for g in groups}
    curves = {
        title: [(float(g.sources), g.accuracy) for g in groups]
        for title, groups in by_title.items()
    }
    return Panel(dataset, curves, "sources that voted", ticks=dict(sorted(every.items())))

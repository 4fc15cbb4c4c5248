"""Accuracy with a share of true training labels: ours and BERT-MLP trained on those labels alone."""

from __future__ import annotations

from collections.abc import Sequence

from unruly.bench import paper_figures as paper
from unruly.bench.run import Outcome
from unruly.bench.tables.accuracy_rows import F1_NOTE, papers_row, rows, sentence
from unruly.bench.tables.beside_paper import conditions, gold_words
from unruly.bench.tables.markdown import markdown, page
from unruly.bench.tables.spread import Spread
from unruly.bench.tables.ways import Cells, cells, datasets, several_encoders

METHODS = ("bert-mlp-gold", "paper", "default")
TITLE = "Clean labels"


def by_share(outcomes: Sequence[Outcome]) -> dict[float, Cells]:
    """The cells of each share of clean labels, small shares first."""
    shares = {o.run.clean for o in outcomes if o.run.experiment == "clean"} - {None}
    found = {
        share: cells([o for o in outcomes if o.run.clean == share], "clean", METHODS)
        for share in sorted(s for s in shares if s is not None)
    }
    return {share: by_way for share, by_way in found.items() if by_way}


def curves(outcomes: Sequence[Outcome]) -> dict[str, dict[str, list[tuple[float, Spread]]]]:
    """Data set, then the title of the method: accuracy at each share."""
    found: dict[str, dict[str, list[tuple[float, Spread]]]] = {}
    for share, by_way in by_share(outcomes).items():
        named = several_encoders(by_way)
        for way, by_dataset in by_way.items():
            for dataset in datasets(by_way):
                if dataset in by_dataset:
                    line = found.setdefault(dataset, {}).setdefault(way.title(named), [])
                    line.append((share, Spread.of(o.accuracy for o in by_dataset[dataset])))
    return found


def table(outcomes: Sequence[Outcome]) -> str | None:
    """One group of rows for each share."""
    found = by_share(outcomes)
    if not found:
        return None
    every = [o for by_way in found.values() for d in by_way.values() for c in d.values() for o in c]
    columns = datasets({way: d for by_way in found.values() for way, d in by_way.items()})
    columns = tuple(dict.fromkeys((*columns, *(o.run.dataset for o in every))))
    body, said = [], []
    for share, by_way in found.items():
        named = several_encoders(by_way)
        for way, by_dataset in by_way.items():
            title = f"{100 * share:g} %, {way.title(named)}"
            papers = papers_row(way.method, paper.CLEAN.get(share, {}))
            body += rows(title, by_dataset, papers, columns)
            said.append(sentence(title, by_dataset, papers))
    return page(
        TITLE,
        "Test accuracy in per cent, mean ± standard deviation over seeds, with a share of the training documents "
        "labelled truly: BERT-MLP learns from those labels alone, ours from them and the votes. The share is "
        f"drawn by the seed, the same documents for every method. {F1_NOTE}",
        markdown(("labelled", *columns), body),
        "\n".join(f"- {line}" for line in [*said, *_leads(outcomes)] if line),
        gold_words(_titled(found)),
        conditions(every),
    )


def _titled(found: dict[float, Cells]) -> dict[str, list[Outcome]]:
    titled: dict[str, list[Outcome]] = {}
    for by_way in found.values():
        for way, by_dataset in by_way.items():
            line = titled.setdefault(way.title(several_encoders(by_way)), [])
            line += [o for several in by_dataset.values() for o in several]
    return titled


def _leads(outcomes: Sequence[Outcome]) -> list[str]:
    """From which share on clean labels alone do as well as clean labels and votes."""
    said = []
    for dataset, by_title in curves(outcomes).items():
        rivals = {
            title: dict(points)
            for title, points in by_title.items()
            if title.startswith("BERT-MLP")
        }
        for title, points in by_title.items():
            rival = next(iter(rivals.values()), None)
            if title in rivals or rival is None:
                continue
            gaps = [
                f"{s.percent - rival[share].percent:+.1f} at {100 * share:g} %"
                for share, s in points
                if share in rival
            ]
            if gaps:
                said.append(
                    f"{dataset}, {title} over BERT-MLP on the same labels, in points: {', '.join(gaps)}."
                )
    return said

"""Methods × data sets: test accuracy without gold and with, the paper's figure under ours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from unruly.bench import paper_figures as paper
from unruly.bench.run import Outcome
from unruly.bench.tables.beside_paper import difference, gold_use
from unruly.bench.tables.markdown import NOTHING, markdown
from unruly.bench.tables.spread import Spread
from unruly.bench.tables.ways import Cells, Way, datasets, several_encoders
from unruly.peers.systems import entry

Papers = Mapping[paper.Cell, float]
RARE = {"spouse": 1}  # data sets with a rare class: its number; F1 stands beside accuracy there


def method_rows(found: Cells, papers: Papers) -> str:
    """The table: for each method our rows, each with its use of gold, then the paper's."""
    names, named = datasets(found), several_encoders(found)
    header = ["method", "true labels used for"]
    for name in names:
        header.append(name)
        if name in RARE:
            header.append(f"{name}, F1 of {_rare_class(found, name)}")
    rows = []
    for method in dict.fromkeys(way.method for way in found):
        for way in (way for way in found if way.method == method):
            rows.append(_ours(way, way.title(named), found[way], names))
        if any((method, paper.known(name)) in papers for name in names):
            rows.append(_theirs(method, papers, names))
    return markdown(header, rows)


def differences_beyond_chance(found: Cells, papers: Papers) -> str:
    """One sentence for each of the paper's methods: where ours is elsewhere than chance would take it."""
    said = []
    for method in dict.fromkeys(way.method for way in found):
        ways = [way for way in found if way.method == method]
        nearest = next((way for way in ways if way.selection == "gold"), ways[0])
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
    way: Way, title: str, by_dataset: Mapping[str, list[Outcome]], names: Sequence[str]
) -> list[str]:
    row = [title, gold_use([o for several in by_dataset.values() for o in several])]
    for name in names:
        several = by_dataset.get(name, [])
        row.append(str(Spread.of(o.accuracy for o in several)))
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


def _sentence(way: Way, by_dataset: Mapping[str, list[Outcome]], papers: Papers) -> str:
    far, near = [], []
    for name, several in by_dataset.items():
        known = paper.known(name) or ""
        if (way.method, known) not in papers:
            continue
        theirs = papers[way.method, known]
        if beyond_chance(several, theirs / 100, known):
            mean = Spread.of(o.accuracy for o in several).percent
            far.append(f"{name} {difference(mean, theirs)}")
        else:
            near.append(name)
    if not far and not near:
        return ""
    title = entry(way.method).title + (
        ", epoch by gold" if way.selection == "gold" else ", no gold"
    )
    parts = [", ".join(far)] if far else []
    if near:
        parts.append(f"no further from the paper than chance on {', '.join(near)}")
    return f"{title}: {'; '.join(parts)}."


def _rare_class(found: Cells, name: str) -> str:
    first = next(by_dataset[name][0] for by_dataset in found.values() if name in by_dataset)
    return first.classes[RARE[name]]

"""Data statistics: documents, classes, coverage, and how right the sources are."""

from __future__ import annotations

import math
from collections.abc import Sequence

from unruly.bench import paper_figures as paper
from unruly.bench.dataset_facts import DatasetFacts
from unruly.bench.tables.markdown import NOTHING, markdown, page
from unruly.bench.tables.ways import in_order

TITLE = "Data statistics"
HEADER = (
    "data set",
    "classes",
    "training",
    "validation",
    "test",
    "sources",
    "coverage",
    "*the paper*",
    "accuracy of votes",
    "*the paper*",
    "majority vote",
    "commonest class",
)


def table(facts: Sequence[DatasetFacts]) -> str | None:
    """One line for each data set, the paper's coverage and accuracy beside ours; then every source."""
    if not facts:
        return None
    by_name = {one.name: one for one in facts}
    ordered = [by_name[name] for name in in_order(by_name)]
    return page(
        TITLE,
        "Of the training documents, in per cent: coverage is the share with at least one vote; accuracy of votes the "
        "right ones among all votes; majority vote its accuracy on covered documents, ties by chance. True labels "
        "are used for counting alone.",
        markdown(HEADER, [_row(one) for one in ordered]),
        "\n".join(f"- {line}" for one in ordered if (line := _sentence(one))),
        "Every source:",
        markdown(
            ("source", "data set", "coverage", "accuracy"),
            [
                (source.name, one.name, _percent(source.coverage), _percent(source.accuracy))
                for one in ordered
                for source in one.sources
            ],
        ),
        _average(ordered),
    )


def _row(one: DatasetFacts) -> tuple[str, ...]:
    known = paper.known(one.name)
    theirs = paper.STATISTICS[known] if known else None
    return (
        one.name,
        str(len(one.classes)),
        *(f"{n:,}" for n in one.documents),
        str(len(one.sources)),
        _percent(one.coverage),
        f"*{theirs.cover:.1f}*" if theirs else NOTHING,
        _percent(one.precision),
        f"*{theirs.accuracy:.1f}*" if theirs else NOTHING,
        _percent(one.majority),
        _percent(max(one.balance)),
    )


def _sentence(one: DatasetFacts) -> str:
    """Where the votes here are not the paper's."""
    known = paper.known(one.name)
    if known is None:
        return ""
    theirs, said = paper.STATISTICS[known], []
    if abs(gap := 100 * one.coverage - theirs.cover) >= 0.5:
        said.append(f"coverage {_gap(gap)} the paper's {theirs.cover:.1f}")
    if abs(gap := 100 * one.precision - theirs.accuracy) >= 0.5:
        said.append(f"accuracy of votes {_gap(gap)} the paper's {theirs.accuracy:.1f}")
    if abs(one.documents[0] - 1000 * theirs.train) > 500:
        said.append(f"{one.documents[0]:,} training documents, in the paper {theirs.train:g}k")
    return f"{one.name}: {'; '.join(said)}." if said else ""


def _gap(points: float) -> str:
    return f"{abs(points):.1f} points {'above' if points > 0 else 'below'}"


def _average(facts: Sequence[DatasetFacts]) -> str:
    sources = [source for one in facts for source in one.sources]
    right = [source.accuracy for source in sources if not math.isnan(source.accuracy)]
    if not right:
        return ""
    coverage = 100 * sum(source.coverage for source in sources) / len(sources)
    return (
        f"Average over all {len(sources)} sources here: accuracy {100 * sum(right) / len(right):.1f}, coverage "
        f"{coverage:.1f}; in the paper {paper.SOURCES_MEAN_ACCURACY} and {paper.SOURCES_MEAN_COVERAGE}."
    )


def _percent(share: float) -> str:
    return NOTHING if math.isnan(share) else f"{100 * share:.1f}"

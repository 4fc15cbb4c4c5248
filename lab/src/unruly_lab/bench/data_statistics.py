"""Data statistics: documents, classes, coverage, and how accurate the sources are; table and picture.

The picture is the bubble chart of the paper's appendix: every source, as large as its coverage, as light
as it is accurate.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.files import written_whole
from unruly.votes.votes import Votes
from unruly_lab.bench import paper_figures as paper
from unruly_lab.bench.pictures import INK, LETTERS, SOFT, Axes, axes, figure, svg_of
from unruly_lab.bench.tables import NOTHING, in_order, markdown, page


@dataclass(frozen=True)
class SourceFacts:
    """One source on the training documents; shares, not percent."""

    name: str
    coverage: float  # documents on which it votes
    accuracy: float  # its right votes among its votes; NaN where it never votes


@dataclass(frozen=True)
class DatasetFacts:
    """One data set; everything about votes is of the training documents."""

    name: str
    documents: tuple[int, int, int]  # training, validation, test
    classes: tuple[str, ...]
    balance: tuple[float, ...]  # true share of each class, training documents
    coverage: float  # documents with at least one vote
    precision: float  # right votes among all votes
    majority: float  # majority vote on covered documents, ties by chance
    sources: tuple[SourceFacts, ...]
    data: str = ""  # digest of the files

    @classmethod
    def of(
        cls,
        name: str,
        documents: tuple[int, int, int],
        votes: Votes,
        gold: NDArray[np.integer[Any]],
        data: str = "",
    ) -> DatasetFacts:
        """Count, against the true labels of the training documents (-1: not known)."""
        voted = votes.voted & (gold >= 0)[:, None]  # (n, k)
        right = voted & (votes.matrix == gold[:, None])  # (n, k)
        counts = votes.counts()  # (n, m)
        top = (counts == counts.max(axis=1, keepdims=True)) & votes.covered[:, None]
        known = votes.covered & (gold >= 0)
        credit = top[known, gold[known]] / top[known].sum(axis=1)
        balance = np.bincount(gold[gold >= 0], minlength=votes.m) / max(1, (gold >= 0).sum())
        sources = tuple(
            SourceFacts(
                source,
                float(votes.voted[:, j].mean()),
                _share(right[:, j].sum(), voted[:, j].sum()),
            )
            for j, source in enumerate(votes.sources)
        )
        return cls(
            name=name,
            documents=documents,
            classes=votes.classes,
            balance=tuple(map(float, balance)),
            coverage=votes.coverage,
            precision=_share(right.sum(), voted.sum()),
            majority=_share(credit.sum(), known.sum()),
            sources=sources,
            data=data,
        )

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> DatasetFacts:
        """From JSON; null becomes NaN."""
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in plain.items()
        }
        for share in ("precision", "majority"):
            given[share] = _number(given[share])
        given["sources"] = tuple(
            SourceFacts(s["name"], s["coverage"], _number(s["accuracy"])) for s in plain["sources"]
        )
        return cls(**given)

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it: NaN becomes null."""
        plain = asdict(self)
        for share in ("precision", "majority"):
            plain[share] = _plain(plain[share])
        for source in plain["sources"]:
            source["accuracy"] = _plain(source["accuracy"])
        return plain


def write_facts(path: Path, facts: Sequence[DatasetFacts]) -> None:
    """All data sets, in one JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps([one.to_plain() for one in facts], ensure_ascii=False, indent=1)
    with written_whole(path) as part:
        part.write_text(text + "\n", encoding="utf-8")


def read_facts(path: Path) -> tuple[DatasetFacts, ...]:
    """What `write_facts` wrote; nothing where there is no such file."""
    if not path.is_file():
        return ()
    try:
        return tuple(map(DatasetFacts.from_plain, json.loads(path.read_text(encoding="utf-8"))))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: not facts of data sets ({error}): delete it, it is made again"
        ) from None


def _share(hits: float, of: float) -> float:
    return float(hits / of) if of else math.nan


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


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
    listed = [one for one in ordered if paper.known(one.name)] or ordered
    return page(
        TITLE,
        "Of the training documents, in per cent: coverage is the share with at least one vote; accuracy of votes the "
        "right ones among all votes; majority vote its accuracy on covered documents, ties by chance. True labels "
        "are used for counting alone.",
        markdown(HEADER, [_row(one) for one in ordered]),
        "\n".join(f"- {line}" for one in ordered if (line := _sentence(one))),
        "Every source" + ("" if listed == ordered else " of the paper's data sets") + ":",
        markdown(
            ("source", "data set", "coverage", "accuracy"),
            [
                (source.name, one.name, _percent(source.coverage), _percent(source.accuracy))
                for one in listed
                for source in one.sources
            ],
        ),
        _average(ordered),
        *_papers_yelp(by_name.get("yelp")),
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
    sources = [source for one in facts if paper.known(one.name) for source in one.sources]
    right = [source.accuracy for source in sources if not math.isnan(source.accuracy)]
    if not right:
        return ""
    coverage = 100 * sum(source.coverage for source in sources) / len(sources)
    return (
        f"Average over all {len(sources)} sources of the paper's data sets here: accuracy {100 * sum(right) / len(right):.1f}, coverage "
        f"{coverage:.1f}; in the paper {paper.SOURCES_MEAN_ACCURACY} and {paper.SOURCES_MEAN_COVERAGE}."
    )


# Two sources of WRENCH's yelp, by the names that the paper prints.
_NAMES = {"textblob_lf": "textblob", "keyword_recommend": "keyword_recommand"}


def _papers_yelp(yelp: DatasetFacts | None) -> tuple[str, ...]:
    """The paper's own figures of its yelp sources, the only ones that it prints, beside ours of that name."""
    if yelp is None:
        return ()
    ours = {_NAMES.get(source.name, source.name): source for source in yelp.sources}
    rows = [
        (
            theirs.name,
            _percent(ours[theirs.name].coverage) if theirs.name in ours else NOTHING,
            f"*{theirs.coverage:.1f}*",
            _percent(ours[theirs.name].accuracy) if theirs.name in ours else NOTHING,
            f"*{theirs.accuracy:.1f}*",
        )
        for theirs in paper.YELP_SOURCES
    ]
    header = ("yelp source", "coverage", "*the paper*", "accuracy", "*the paper*")
    return ("The sources of yelp in the paper's appendix, beside ours:", markdown(header, rows))


def _percent(share: float) -> str:
    return NOTHING if math.isnan(share) else f"{100 * share:.1f}"


LARGEST = 46.0  # points across, for a source that votes on every document


def chart(facts: Sequence[DatasetFacts]) -> str | None:
    """A row for each data set; under each bubble its accuracy and coverage in per cent."""
    by_name = {one.name: one for one in facts if one.sources}
    if not by_name:
        return None
    rows = [by_name[name] for name in in_order(by_name)]
    most = max(len(one.sources) for one in rows)
    drawing = figure(150 + 66.0 * most, 70 + 84.0 * len(rows))
    ax = axes(drawing)
    points = [(x, y, s) for y, one in enumerate(rows) for x, s in enumerate(one.sources, 1)]
    _bubbles(ax, points)
    for x, y, source in points:
        ax.text(x, y + 0.34, _figures(source), fontsize=LETTERS - 2, color=INK, ha="center")
        ax.text(x, y + 0.46, _short(source.name), fontsize=LETTERS - 4.5, color=SOFT, ha="center")
    ax.set_yticks(range(len(rows)), [one.name for one in rows])
    ax.set_ylim(len(rows) - 0.45, -0.5)
    ax.set_xlim(0.4, most + 0.6)
    ax.set_xticks(range(1, most + 1))
    ax.set_xlabel("source; under it: accuracy % / coverage %, training documents")
    ax.grid(visible=False)
    return svg_of(drawing, "sources")


def _bubbles(ax: Axes, points: Sequence[tuple[int, int, SourceFacts]]) -> None:
    """The circle's area is the coverage; light is accurate, as in the paper (cividis, safe for all eyes)."""
    known = [p for p in points if not math.isnan(p[2].accuracy)]
    drawn = ax.scatter(
        [x for x, _, _ in known],
        [y for _, y, _ in known],
        s=[LARGEST**2 * max(s.coverage, 0.002) for _, _, s in known],
        c=[100 * s.accuracy for _, _, s in known],
        cmap="cividis",
        vmin=40,
        vmax=100,
        edgecolors=INK,
        linewidths=0.6,
    )
    bar = ax.figure.colorbar(drawn, ax=ax, shrink=0.7, pad=0.01)
    bar.set_label("accuracy of its votes, %", color=INK)
    bar.outline.set_visible(False)


def _figures(source: SourceFacts) -> str:
    right = "–" if math.isnan(source.accuracy) else f"{100 * source.accuracy:.0f}"
    return f"{right} / {100 * source.coverage:.0f}"


def _short(name: str) -> str:
    return name if len(name) <= 15 else name[:14] + "…"

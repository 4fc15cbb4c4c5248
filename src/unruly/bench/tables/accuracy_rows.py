"""Rows of accuracies, one method in each, every data set a column, the paper's row under ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unruly.bench import paper_figures as paper
from unruly.bench.run import Outcome
from unruly.bench.tables.beside_paper import differences
from unruly.bench.tables.markdown import NOTHING
from unruly.bench.tables.spread import Spread

FAR = 0.2  # below accuracy: then the F1 of the poorest class is shown too
F1_NOTE = (
    f"F1 in brackets is that of the class that fares worst, shown where it is more than {100 * FAR:.0f} points "
    "below accuracy: there accuracy alone would flatter."
)


def accuracies(by_dataset: Mapping[str, Sequence[Outcome]]) -> dict[str, Spread]:
    """Test accuracy over the seeds, for each data set."""
    return {
        dataset: Spread.of(o.accuracy for o in several) for dataset, several in by_dataset.items()
    }


def papers_row(system: str, table: Mapping[paper.Cell, float]) -> dict[str, float]:
    """The paper's figures of one system, by data set."""
    return {dataset: value for (name, dataset), value in table.items() if name == system}


def cell(several: Sequence[Outcome]) -> str:
    """Mean ± deviation of accuracy, and the poorest class's F1 where accuracy alone would flatter."""
    accuracy = Spread.of(o.accuracy for o in several)
    if not accuracy.n:
        return NOTHING
    classes = range(min(len(o.f1) for o in several))
    means = [spread for c in classes if (spread := Spread.of(o.f1[c] for o in several)).n]
    poorest = min(means, key=lambda spread: spread.mean, default=accuracy)
    far = accuracy.mean - poorest.mean > FAR
    return f"{accuracy} (F1 {poorest.percent:.1f})" if far else str(accuracy)


def rows(
    title: str,
    by_dataset: Mapping[str, Sequence[Outcome]],
    papers: Mapping[str, float],
    columns: Sequence[str],
) -> list[tuple[str, ...]]:
    """Our row, and the paper's under it where it has figures for these data sets."""
    ours = (title, *(cell(by_dataset.get(column, ())) for column in columns))
    theirs = [papers.get(paper.known(column) or "") for column in columns]
    if all(value is None for value in theirs):
        return [ours]
    below = ("*the paper*", *(NOTHING if v is None else f"*{v:.1f}*" for v in theirs))
    return [ours, below]


def sentence(
    title: str, by_dataset: Mapping[str, Sequence[Outcome]], papers: Mapping[str, float]
) -> str:
    """How far the row is from the paper's."""
    return differences(title, accuracies(by_dataset), papers)

"""All tables and pictures of a benchmark, as files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from unruly import __version__
from unruly.files import written_whole
from unruly_lab.bench import (
    ablations,
    by_matched,
    claims,
    clean_labels,
    data_statistics,
    main_table,
    noise,
    parameter_study,
    run_time,
    search,
    supervised,
)
from unruly_lab.bench.data_statistics import DatasetFacts
from unruly_lab.bench.runs import Failure, Outcome

Outcomes = Sequence[Outcome]
OPENING = "main-table"
# In the order of the paper; the names are those of the files.
TABLES: tuple[tuple[str, Callable[[Outcomes], str | None]], ...] = (
    (OPENING, main_table.table),
    ("claims", claims.table),
    ("validation", main_table.validation),
    ("noise", noise.table),
    ("supervised", supervised.table),
    ("by-matched", by_matched.table),
    ("clean-labels", clean_labels.table),
    ("ablations", ablations.table),
    ("parameter-study", parameter_study.table),
    ("search", search.table),
    ("run-time", run_time.table),
)


@dataclass(frozen=True)
class Results:
    """Everything that is known."""

    outcomes: Outcomes
    failures: Sequence[Failure]
    facts: Sequence[DatasetFacts]

    def sections(self) -> dict[str, str]:
        """The tables that have something to show, by the name of their file."""
        found = {name: table(self.outcomes) for name, table in TABLES}
        first = found.pop(OPENING)
        every = {OPENING: first, "data-statistics": data_statistics.table(self.facts), **found}
        return {name: text for name, text in every.items() if text}


def write_results(results: Results, folder: Path) -> tuple[Path, ...]:
    """Write every table into a file of its own, and a page that lists them; the files."""
    folder.mkdir(parents=True, exist_ok=True)
    sections = results.sections()
    pages = {f"{name}.md": text for name, text in sections.items()}
    pages["README.md"] = contents(results, sections)
    for name, text in pages.items():
        with written_whole(folder / name) as part:
            part.write_text(text, encoding="utf-8")
    return tuple(folder / name for name in pages)


def contents(results: Results, sections: dict[str, str]) -> str:
    """How the tables were made, a link to each, and what failed."""
    versions = sorted({o.version for o in results.outcomes if o.version}) or [__version__]
    head = (
        "# Benchmark\n\n"
        f"Written by `unruly bench` from the {len(results.outcomes):,} runs in `runs.jsonl` "
        f"(unruly {', '.join(versions)}). Figures of the paper (Ren et al., 2020) stand *in italics* beside "
        "ours.\n"
    )
    parts = [head, "".join(f"- [{_title(text)}]({name}.md)\n" for name, text in sections.items())]
    if results.failures:
        parts.append(_failed(results.failures))
    return "\n".join(parts)


def _title(section: str) -> str:
    """The title of a table.

    >>> _title("## Noise\\n\\nIn per cent.")
    'Noise'
    """
    return section.partition("\n")[0].removeprefix("## ")


def _failed(failures: Sequence[Failure]) -> str:
    """One line for each error, with the runs that met it."""
    by_error: dict[str, list[str]] = {}
    for failure in failures:
        run = failure.run
        by_error.setdefault(failure.error, []).append(f"{run.method} on {run.dataset}")
    lines = [f"- {', '.join(sorted(set(runs)))}: {error}" for error, runs in by_error.items()]
    return "\n".join(["## Runs that failed\n", *lines, ""])


# In the order of the paper: the name of the file (that of the table beside it), what it shows, who draws it.
PICTURES: tuple[tuple[str, str, Callable[[Sequence[Outcome]], str | None]], ...] = (
    ("main-table", "Every method on every data set", main_table.chart),
    ("other-data", main_table.OTHERS, main_table.chart_of_others),
    ("noise", "Noise before and after denoising", noise.chart),
    ("by-matched", "Accuracy by the number of matched sources", by_matched.chart),
    ("clean-labels", "Accuracy with clean labels", clean_labels.chart),
    ("parameter-study", "Parameter study", parameter_study.chart),
    ("search", "Trials of the hyper-parameter search", search.chart),
    ("run-time", "Run time", run_time.chart),
)
SOURCES = "Coverage and accuracy of the sources"


def write_pictures(
    outcomes: Sequence[Outcome], facts: Sequence[DatasetFacts], folder: Path
) -> tuple[Path, ...]:
    """Write every picture that has something to show, and `README.md` beside them; the files."""
    drawn = {name: (title, chart(outcomes)) for name, title, chart in PICTURES}
    drawn["sources"] = (SOURCES, data_statistics.chart(facts))
    found = {name: (title, svg) for name, (title, svg) in drawn.items() if svg is not None}
    if not found:
        return ()
    folder.mkdir(parents=True, exist_ok=True)
    files = {f"{name}.svg": svg for name, (_, svg) in found.items()}
    shown = [f"## {title}\n\n![{title}]({name}.svg)\n" for name, (title, _) in found.items()]
    files["README.md"] = "\n".join(["# Pictures of the benchmark\n", *shown])
    for name, text in files.items():
        with written_whole(folder / name) as part:
            part.write_text(text, encoding="utf-8")
    return tuple(folder / name for name in files)

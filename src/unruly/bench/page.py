"""All tables and pictures of a benchmark, as files: one Markdown file for each table, and one page of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from unruly import __version__
from unruly.bench.dataset_facts import DatasetFacts
from unruly.bench.run import Failure, Outcome
from unruly.bench.tables import (
    ablations,
    by_matched,
    clean_labels,
    data_statistics,
    main_table,
    noise,
    parameter_study,
    run_time,
    search,
    supervised,
)
from unruly.files import written_whole

Outcomes = Sequence[Outcome]
OPENING = "main-table"
# In the order of the paper; the names are those of the files.
TABLES: tuple[tuple[str, Callable[[Outcomes], str | None]], ...] = (
    (OPENING, main_table.table),
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
    """Write tables and the page of all tables; the files."""
    folder.mkdir(parents=True, exist_ok=True)
    sections = results.sections()
    pages = {f"{name}.md": text for name, text in sections.items()}
    pages["README.md"] = whole_page(results, sections)
    for name, text in pages.items():
        with written_whole(folder / name) as part:
            part.write_text(text, encoding="utf-8")
    return tuple(folder / name for name in pages)


def whole_page(results: Results, sections: dict[str, str]) -> str:
    """One page: how it was made, all tables, and what failed."""
    versions = sorted({o.version for o in results.outcomes if o.version}) or [__version__]
    head = (
        "# Benchmark\n\n"
        f"Written by `unruly bench` from the {len(results.outcomes):,} runs in `runs.jsonl` "
        f"(unruly {', '.join(versions)}). Figures of the paper (Ren et al., 2020) stand *in italics* beside "
        "ours.\n"
    )
    parts = [head, *sections.values()]
    if results.failures:
        parts.append(_failed(results.failures))
    return "\n".join(parts)


def _failed(failures: Sequence[Failure]) -> str:
    """One line for each error, with the runs that met it."""
    by_error: dict[str, list[str]] = {}
    for failure in failures:
        run = failure.run
        by_error.setdefault(failure.error, []).append(f"{run.method} on {run.dataset}")
    lines = [f"- {', '.join(sorted(set(runs)))}: {error}" for error, runs in by_error.items()]
    return "\n".join(["## Runs that failed\n", *lines, ""])

"""All pictures of a benchmark as files, and one page that shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from unruly.bench.charts import (
    by_matched,
    clean_labels,
    main_table,
    noise,
    parameter_study,
    run_time,
    search,
    sources,
)
from unruly.bench.dataset_facts import DatasetFacts
from unruly.bench.run import Outcome
from unruly.files import written_whole

# In the order of the paper: the name of the file (that of the table beside it), what it shows, who draws it.
PICTURES: tuple[tuple[str, str, Callable[[Sequence[Outcome]], str | None]], ...] = (
    ("main-table", "Every method on every data set", main_table.chart),
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
    drawn["sources"] = (SOURCES, sources.chart(facts))
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

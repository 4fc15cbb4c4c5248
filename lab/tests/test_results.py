"""The committed results: tables are what the runs give, and the documentation names every system."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from unruly_lab.bench.data_statistics import read_facts
from unruly_lab.bench.page import Results, write_results
from unruly_lab.bench.runs import Store
from unruly_lab.bench.tables import Spread, Variant, cells
from unruly_lab.peers.systems import SYSTEMS

LAB = Path(__file__).resolve().parent.parent
RESULTS, DOCS = LAB / "results", LAB / "docs"


@pytest.mark.skipif(not (RESULTS / "runs.jsonl").is_file(), reason="no results are committed")
def test_the_tables_are_made_from_the_runs(tmp_path: Path) -> None:
    store = Store(RESULTS / "runs.jsonl")
    results = Results(store.outcomes(), store.failures(), read_facts(RESULTS / "datasets.json"))
    made = write_results(results, tmp_path)
    assert {path.name for path in made} == {path.name for path in RESULTS.glob("*.md")}
    for path in made:
        committed = (RESULTS / path.name).read_text(encoding="utf-8")
        assert path.read_text("utf-8") == committed, (
            "run: unruly bench --tables-only -o lab/results"
        )


def test_the_page_of_the_method_shows_the_figures_of_the_runs() -> None:
    page = (LAB.parent / "docs" / "method.md").read_text(encoding="utf-8")
    found = cells(Store(RESULTS / "runs.jsonl").outcomes(), "main", ("paper",))
    rows = [
        [cell.strip() for cell in line.split("|")[2:-1]]
        for line in page.splitlines()
        if '"all"` |' in line or '"voters"` |' in line
    ]
    header = next(line for line in page.splitlines() if line.startswith("| epoch kept"))
    names = [cell.strip() for cell in header.split("|")[3:-1]]
    lines = [(epoch, attention) for epoch in ("none", "gold") for attention in ("", "voters")]
    assert len(rows) == len(lines)
    for (epoch, attention), (_, *shown) in zip(lines, rows, strict=True):
        mine = found[Variant("paper", epoch, "minilm", attention=attention)]
        expected = [f"{Spread.of(o.accuracy for o in mine[name]).percent:.1f}" for name in names]
        assert shown == expected, (epoch, attention)


def test_every_system_is_explained() -> None:
    text = (DOCS / "peers.md").read_text(encoding="utf-8")
    for system in SYSTEMS:
        assert f"`{system.name}`" in text, system.name


def test_links_lead_somewhere() -> None:
    for page in (*DOCS.glob("*.md"), LAB / "README.md"):
        for target in re.findall(r"\]\(([\w./-]+\.(?:md|png|svg|py))\)", page.read_text("utf-8")):
            assert (page.parent / target).is_file(), f"{page.name} links to {target}"


def test_pages_are_wrapped_and_their_tables_short() -> None:
    for page in DOCS.glob("*.md"):
        for block in re.split(r"\n\n", page.read_text("utf-8")):
            assert block.count("\n|") <= 24, f"{page.name}: long tables belong to results"
            for line in block.splitlines():
                most = 300 if line.startswith("|") else 120
                assert len(line) <= most, f"{page.name}: {line[:60]}"

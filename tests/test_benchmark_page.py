"""The benchmark's page shows the results as they are, and names every system and its paper."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from unruly.peers.systems import SYSTEMS

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmark.md"
RESULTS = ROOT / "results" / "README.md"
MARKS = "<!-- results -->\nold\n<!-- end of results -->\n"


def renewed(page: Path, results: Path) -> str:
    tool = [sys.executable, str(ROOT / "tools" / "benchmark_page.py")]
    command = [*tool, "--page", str(page), "--results", str(results)]
    subprocess.run(command, check=True, capture_output=True)
    return page.read_text(encoding="utf-8")


def test_results_are_put_between_the_marks(tmp_path: Path) -> None:
    page, results = tmp_path / "page.md", tmp_path / "results.md"
    page.write_text(f"# Title\n\n{MARKS}\nafter\n", encoding="utf-8")
    results.write_text("# Benchmark\n\nmade\n\n## Noise\n\n| a |\n", encoding="utf-8")
    first = renewed(page, results)
    assert first == (
        "# Title\n\n<!-- results -->\n\nmade\n\n### Noise\n\n| a |\n\n<!-- end of results -->\n\nafter\n"
    )
    assert renewed(page, results) == first


@pytest.mark.skipif(not RESULTS.is_file(), reason="no results are committed")
def test_the_page_shows_the_committed_results(tmp_path: Path) -> None:
    page = tmp_path / "benchmark.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    assert renewed(page, RESULTS) == PAGE.read_text("utf-8"), "run: python tools/benchmark_page.py"


def test_every_system_is_explained() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for system in SYSTEMS:
        assert f"`{system.name}`" in text, system.name

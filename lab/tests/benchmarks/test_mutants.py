"""The planted bugs follow the code: each can still be put in, and leaves another program that can be read."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

LAB = Path(__file__).resolve().parents[2]
ROOMS = sorted(path.stem for path in (LAB / "mutants").glob("*.toml"))


@pytest.fixture
def mutants(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The benchmark as a module."""
    monkeypatch.syspath_prepend(LAB / "benchmarks")
    yield importlib.import_module("mutants")
    sys.modules.pop("mutants", None)


@pytest.mark.parametrize("name", ROOMS)
def test_each_planted_bug_fits_the_code(mutants: Any, name: str) -> None:
    room = mutants.Room.read(LAB / "mutants" / f"{name}.toml")
    assert len({mutant.name for mutant in room.mutants}) == len(room.mutants)
    for mutant in room.mutants:
        assert all((LAB.parent / test.partition("::")[0]).exists() for test in mutant.tests)
        text = (LAB.parent / room.source / mutant.file).read_text(encoding="utf-8")
        changed = mutant.applied(text)  # ends the run where the text is no longer there
        assert changed != text, mutant.name
        assert ast.parse(changed, mutant.file)


def test_the_page_of_scores_counts_every_room(mutants: Any) -> None:
    page = (LAB / "docs" / "mutants.md").read_text(encoding="utf-8")
    rows = {
        line.split("|")[1].split()[0]: line for line in page.splitlines() if line.startswith("| ")
    }
    for name in ROOMS:
        count = len(mutants.Room.read(LAB / "mutants" / f"{name}.toml").mutants)
        assert f"| {count} |" in rows[name]

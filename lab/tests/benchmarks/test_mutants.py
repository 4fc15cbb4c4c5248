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


@pytest.mark.parametrize("name", ROOMS)
def test_each_generated_bug_is_another_program(mutants: Any, name: str) -> None:
    room = mutants.Room.read(LAB / "mutants" / f"{name}.toml")
    drawn = room.generated(12, 0)
    assert len(drawn) == len({mutant.name for mutant in drawn}) == 12
    assert [mutant.name for mutant in room.generated(12, 0)] == [mutant.name for mutant in drawn]
    assert [mutant.name for mutant in room.generated(12, 1)] != [mutant.name for mutant in drawn]
    for mutant in drawn:
        text = (LAB.parent / room.source / mutant.file).read_text(encoding="utf-8")
        before, after = ast.parse(text), ast.parse(mutant.applied(text))
        assert ast.dump(before) != ast.dump(after), mutant.name


def test_every_operator_finds_its_places_and_leaves_types_and_messages_alone(mutants: Any) -> None:
    source = """LIMIT = 1
def f(a: int | None = 2, *, c=0.5):
    x: list[int] = []
    x.append(a)
    a += 1
    assert a == 3
    if a is not None and b:
        raise ValueError(f"{a + 1}" + "no")
    b = not c
    x += zip(x, [5, 1e-9, 0.0], strict=True)
    c = -a < 4 + x.reshape(-1)
    return True if a in x else ~a & 7
"""
    made = mutants._generated
    found = [words.partition(": ")[2] for words in made.places(source)]
    assert found == [
        "2 -> 3",
        "0.5 -> 1.0",
        "x.append(a) -> pass",
        "a += 1 -> a -= 1",
        "1 -> 2",
        "a is not None and b -> a is not None or b",
        "a is not None -> a is None",
        "not c -> c",
        "x += zip(x, [5, 1e-09, 0.0], strict=True) -> x -= zip(x, [5, 1e-09, 0.0], strict=True)",
        "5 -> 6",
        "1e-09 -> 0.0",
        "0.0 -> 1.0",
        "-a < 4 + x.reshape(-1) -> -a <= 4 + x.reshape(-1)",
        "-a -> a",
        "4 + x.reshape(-1) -> 4 - x.reshape(-1)",
        "4 -> 5",
        "-1 -> 1",
        "a in x -> a not in x",
        "True -> False",
        "~a & 7 -> ~a | 7",
        "~a -> a",
        "7 -> 8",
    ]
    for place, words in enumerate(found):
        assert words.split(" -> ")[1] in made.planted(source, place).replace("\n    ", " ")


def test_the_page_of_scores_counts_every_room(mutants: Any) -> None:
    page = (LAB / "docs" / "mutants.md").read_text(encoding="utf-8")
    planted = page.partition("## Drawn at random")[0]
    rows = {
        line.split("|")[1].split()[0]: line
        for line in planted.splitlines()
        if line.startswith("| ")
    }
    for name in ROOMS:
        count = len(mutants.Room.read(LAB / "mutants" / f"{name}.toml").mutants)
        assert f"| {count} |" in rows[name]


def test_a_run_is_stopped_by_its_processor_time_and_not_by_a_busy_clock(
    mutants: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "LIBRARIES", ())
    monkeypatch.setattr(mutants, "SECONDS", 3)
    slow = "import time\n\n\ndef test_it() -> None:\n    time.sleep(4)\n"
    (tmp_path / "test_slow.py").write_text(slow)
    assert mutants.passes(tmp_path, ("test_slow.py",))
    (tmp_path / "test_busy.py").write_text(
        "def test_it() -> None:\n    while True:\n        pass\n"
    )
    assert not mutants.passes(tmp_path, ("test_busy.py",))

"""Results on disk: whole lines, a torn last one survived, an outcome before a failure."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.bench.handmade import outcome

from unruly.bench.run import Failure
from unruly.bench.store import Store
from unruly.errors import InputError

A, B = outcome("youtube", "paper", 0.9), outcome("youtube", "default", 0.8)


def accuracies(store: Store) -> list[float]:
    return [o.accuracy for o in store.outcomes()]


def test_what_was_added_is_there(tmp_path: Path) -> None:
    store = Store(tmp_path / "results" / "runs.jsonl")
    assert not store.outcomes()
    assert not store.failures()
    store.add(A)
    store.add(B)
    assert accuracies(store) == [0.9, 0.8]
    assert [o.run for o in store.outcomes()] == [A.run, B.run]


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_torn_last_line_is_passed_over_and_then_gone(tmp_path: Path, cut: int) -> None:
    store = Store(tmp_path / "runs.jsonl")
    store.add(A)
    whole = store.path.read_bytes()
    store.add(B)
    os.truncate(store.path, len(store.path.read_bytes()) - cut)
    assert accuracies(store) == [0.9]
    store.add(B)
    assert accuracies(store) == [0.9, 0.8]
    assert store.path.read_bytes().startswith(whole)
    assert store.path.read_bytes().count(b"\n") == 2


def test_a_line_torn_inside_a_letter_is_survived(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.jsonl")
    store.add(A)
    with store.path.open("ab") as file:
        file.write('{"run": {"dataset": "é'.encode()[:-1])
    assert accuracies(store) == [0.9]


def test_a_failure_is_told_until_the_run_works(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.jsonl")
    store.add(Failure(A.run, "no luck"))
    store.add(Failure(A.run, "no memory"))
    assert [f.error for f in store.failures()] == ["no memory"]
    assert store.outcomes() == ()
    store.add(A)
    assert store.failures() == ()
    assert accuracies(store) == [0.9]


def test_the_later_of_two_outcomes_counts(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.jsonl")
    store.add(A)
    store.add(outcome("youtube", "paper", 0.95))
    assert accuracies(store) == [0.95]


@pytest.mark.parametrize(
    "line", ["not JSON", "[1]", '{"run": {"dataset": "d", "method": "paper"}}']
)
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "runs.jsonl"
    store = Store(path)
    store.add(A)
    with path.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(InputError, match=r"runs\.jsonl, line 2"):
        store.outcomes()

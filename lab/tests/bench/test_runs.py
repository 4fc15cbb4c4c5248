"""A run is what its outcome depends on; both survive a file, torn lines included."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab.tests.bench.handmade import outcome
from lab.tests.peers.planted_task import trained

from unruly.errors import InputError
from unruly_lab.bench.runs import Failure, Outcome, Run, Store

NAMES = st.sampled_from(["c1", "c3", "hidden", "language.epochs"])
RUNS = st.builds(
    Run,
    dataset=st.text(min_size=1),
    method=st.sampled_from(["paper", "default"]),
    experiment=st.sampled_from(["main", "clean", "parameters", "search"]),
    seed=st.integers(0, 9),
    selection=st.sampled_from(["none", "gold"]),
    clean=st.none() | st.floats(0.001, 1.0),
    rows=st.none() | st.integers(1, 10_000),
    prior=st.none() | st.tuples(st.floats(0.1, 0.9), st.floats(0.1, 0.9)),
    settings=st.dictionaries(NAMES, st.integers() | st.floats(0, 1)).map(
        lambda d: tuple(d.items())
    ),
    keywords=st.sampled_from(["", "votes"]),
    data=st.sampled_from(["", "0123abcd"]),
)


@given(RUNS)
def test_a_run_comes_back_from_json(run: Run) -> None:
    assert Run.from_plain(json.loads(json.dumps(run.to_plain()))) == run


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": "imdb"},
        {"method": "default"},
        {"experiment": "clean"},
        {"encoder": "lsa"},
        {"seed": 1},
        {"selection": "gold"},
        {"clean": 0.5},
        {"rows": 10},
        {"prior": (0.9, 0.1)},
        {"settings": (("c1", 0.5),)},
        {"keywords": "votes"},
        {"data": "0123"},
    ],
)
def test_everything_that_the_outcome_depends_on_makes_another_run(
    change: dict[str, object],
) -> None:
    run = Run("youtube", "paper")
    other = replace(run, **change)  # type: ignore[arg-type]
    assert other != run
    assert Run.from_plain(other.to_plain()) == other


def test_the_order_of_settings_does_not_matter() -> None:
    one = Run("youtube", "paper", settings=(("c1", 0.1), ("p", 2)))
    assert one == Run("youtube", "paper", settings=(("p", 2), ("c1", 0.1)))
    assert (one.setting("p"), one.setting("c3")) == (2, None)


def test_an_outcome_comes_back_from_json_with_its_gaps() -> None:
    made = outcome("youtube", "paper", 0.9, f1=(0.5, math.nan), gold_used=(trained(5),))
    text = json.dumps(made.to_plain(), allow_nan=False)
    back = Outcome.from_plain(json.loads(text))
    assert math.isnan(back.f1[1])
    assert math.isnan(back.valid_accuracy)
    assert replace(back, f1=(), valid_accuracy=0, held_out_votes=0) == replace(
        made, f1=(), valid_accuracy=0, held_out_votes=0
    )


@pytest.mark.parametrize(
    "wrong",
    [{"experiment": "all"}, {"selection": "votes"}, {"clean": 0.0}, {"clean": 1.1}, {"rows": 0}],
)
def test_nonsense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        replace(Run("youtube", "paper"), **wrong)  # type: ignore[arg-type]


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

"""The runner: makes what is missing, keeps each run at once, and outlives failures and dead processes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from lab.tests.bench.handmade import Playing, write_tiny

from unruly.features.cache import FeatureCache
from unruly_lab.bench import runner
from unruly_lab.bench.datasets import Folder
from unruly_lab.bench.measuring import make
from unruly_lab.bench.plan import Plan
from unruly_lab.bench.runner import Loader, run_plan
from unruly_lab.bench.runs import Outcome, Run, Store
from unruly_lab.peers.systems import SYSTEMS

METHODS = ("majority-vote", "default", "paper")


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    folder = Folder(write_tiny(tmp_path / "tiny"))
    return Plan((folder,), methods=METHODS, seeds=2, experiments=("main", "search"), trials=4)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs.jsonl")


def test_only_what_is_missing_is_made(plan: Plan, store: Store) -> None:
    first, second = Playing(), Playing()
    assert run_plan(plan, store, first).made == plan.size == 10
    before = store.path.read_bytes()
    assert run_plan(plan, store, second).made == 0
    assert second.asked == []
    assert store.path.read_bytes() == before


def test_an_interrupted_benchmark_goes_on(plan: Plan, store: Store) -> None:
    class Interrupted(Playing):
        def attempt(self, run: Run, progress: object = None) -> Outcome:
            if len(self.asked) == 7:  # in the middle of the search
                raise KeyboardInterrupt
            made = super().attempt(run)
            assert isinstance(made, Outcome)
            return made

    with pytest.raises(KeyboardInterrupt):
        run_plan(plan, store, Interrupted())
    assert len(store.outcomes()) == 7
    rest = Playing()
    assert run_plan(plan, store, rest).made == 3
    whole = Playing()
    run_plan(plan, Store(store.path.with_name("other.jsonl")), whole)
    assert [o.run for o in store.outcomes()] == whole.asked  # the same runs, the same trials


def test_a_failure_does_not_stop_the_rest_and_is_tried_again(plan: Plan, store: Store) -> None:
    tally = run_plan(plan, store, Playing(failing="default"))
    assert [f.run.method for f in tally.failures] == ["default", "default"]
    assert len(store.outcomes()) == 8
    again = Playing()
    assert run_plan(plan, store, again).made == 2
    assert {run.method for run in again.asked} == {"default"}
    assert store.failures() == ()


def test_several_processes_outlive_the_death_of_one(
    plan: Plan, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_prepare", lambda *args: None)
    plan = replace(plan, seeds=1)
    tally = run_plan(plan, store, Playing(deadly="default"), jobs=2)
    (dead,) = tally.failures
    assert dead.run.method == "default"
    assert "ended with -9" in dead.error
    here = Playing()
    run_plan(plan, Store(store.path.with_name("here.jsonl")), here)
    assert {o.run for o in store.outcomes()} | {dead.run} == set(here.asked)


def test_systems_that_look_at_no_features_wait_for_no_encoder(tmp_path: Path) -> None:
    """What they predict is the same with features, and without."""
    folder = Folder(write_tiny(tmp_path / "tiny"))
    loader = Loader({"tiny": folder}, {}, tmp_path / "cache")
    unread = [one.name for one in SYSTEMS if not one.reads_features]
    assert {"majority-vote", "denoiser", "westclass", "ulmfit"} <= set(unread)
    read = folder.load("lsa", None, FeatureCache(tmp_path / "cache"))
    for name in ("dawid-skene", "denoiser", "westclass"):
        run = Run("tiny", name, encoder="no-such-encoder")
        made = loader.attempt(run)
        assert isinstance(made, Outcome)
        assert made.accuracy == make(run, read).accuracy
    failed = loader.attempt(Run("tiny", "bert-mlp", encoder="no-such-encoder"))
    assert "no-such-encoder" in failed.error  # type: ignore[union-attr]


def test_errors_become_one_line(tmp_path: Path) -> None:
    folder = Folder(write_tiny(tmp_path / "tiny"))
    loader = Loader({"tiny": folder}, {}, tmp_path / "cache")
    failed = loader.attempt(Run("tiny", "no-such-method", encoder="lsa"))
    assert "no system is called 'no-such-method'" in failed.error  # type: ignore[union-attr]
    missing = loader.attempt(Run("other", "paper", encoder="lsa"))
    assert missing.error == "unexpected KeyError: 'other'"  # type: ignore[union-attr]

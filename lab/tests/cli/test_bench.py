"""`unruly bench`, driven for real on a tiny data set: runs, goes on after a kill, writes tables."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from lab.tests.bench.handmade import write_tiny
from tests.cli.conftest import Unruly, command_line


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_tiny(tmp_path / "wrench" / "tiny").parent


def options(data: Path, methods: str, *more: str) -> list[str]:
    common = ["bench", "--data", str(data), "--encoder", "lsa", "--methods", methods]
    return [*common, "-o", str(data.parent / "results"), *more]


def lines(data: Path) -> list[bytes]:
    path = data.parent / "results" / "runs.jsonl"
    return path.read_bytes().splitlines(keepends=True) if path.is_file() else []


def test_two_methods_and_every_experiment(unruly: Unruly, data: Path) -> None:
    more = ("--seeds", "1", "--trials", "2", "--quick", "--jobs", "1")
    args = options(data, "majority-vote,paper", "--datasets", "tiny", *more)
    done = unruly(*args, "--json")
    assert done.code == 0, done.err
    answer = json.loads(done.out)
    # main: 1 + 2; clean: 3; parameters: defaults and 7 values; search: 2 × 2 trials
    assert (answer["made"], answer["failed"], answer["runs"]) == (18, 0, 18)
    names = {Path(path).name for path in answer["files"]}
    assert names >= {
        "README.md",
        "main-table.md",
        "data-statistics.md",
        "noise.md",
        "by-matched.md",
        "clean-labels.md",
        "parameter-study.md",
        "search.md",
        "run-time.md",
        "sources.svg",
    }
    results = data.parent / "results"
    assert "(main-table.md)" in (results / "README.md").read_text("utf-8")
    table = (results / "main-table.md").read_text("utf-8")
    assert "| Majority vote | nothing |" in table
    assert "| The paper's method, epoch by gold | choice of the epoch |" in table
    assert "(`--quick`)" in table
    before = lines(data)
    again = unruly(*args, "--json")
    assert json.loads(again.out)["made"] == 0
    assert lines(data) == before
    tables = unruly("bench", "--tables-only", "-o", data.parent / "results", "--quiet")
    assert tables.code == 0
    assert "## Every method on every data set" in tables.out


def test_a_killed_benchmark_goes_on_where_it_stopped(data: Path, real: Unruly) -> None:
    args = options(data, "majority-vote,bert-mlp", "--experiments", "main", "--seeds", "3")
    cache = {**os.environ, "UNRULY_CACHE": str(data.parent / ".cache")}
    running = subprocess.Popen(
        command_line(args), env=cache, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    while len(lines(data)) < 3 and running.poll() is None:
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    kept = [line for line in lines(data) if line.endswith(b"\n")]
    assert 3 <= len(kept) < 9
    done = real(*args, "--json")
    assert done.code == 0, done.err
    answer = json.loads(done.out)
    assert (answer["made"], answer["runs"]) == (9 - len(kept), 9)
    assert lines(data)[: len(kept)] == kept


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["bench"], "--data is missing"),
        (["bench", "--data", "empty"], "jieyuz2/WRENCH on the Hugging Face hub"),
        (["bench", "--data", "wrench", "--datasets", "imdb"], "--download fetches imdb"),
        (["bench", "--data", "wrench", "--methods", "magic"], "no system is called 'magic'"),
        (["bench", "--data", "wrench", "--experiments", "all"], "no experiment is called 'all'"),
        (["bench", "--data", "wrench", "--selection", "test"], "no selection is called 'test'"),
        (["bench", "--data", "wrench", "--prior", "tiny=a,b"], "as in spouse=0.9,0.1"),
        (["bench", "--data", "wrench", "--prior", "tiny=0.9,0.9"], "sum to 1"),
        (["bench", "--data", "wrench", "--prior", "imdb=0.5,0.5"], "not among the data sets"),
        (["bench", "--data", "wrench", "--rules", "nowhere"], "no such folder of rules"),
        (["bench", "--tables-only", "-o", "nowhere"], "there are no results yet"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    unruly: Unruly, data: Path, args: list[str], said: str
) -> None:
    done = unruly(*args)
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1


def test_a_failed_run_is_told_and_does_not_stop_the_rest(unruly: Unruly, data: Path) -> None:
    more = ("--experiments", "main", "--seeds", "1", "--prior", "tiny=0.5,0.3,0.2")
    done = unruly(*options(data, "majority-vote", *more))
    assert done.code == 0
    assert "failed: tiny: a prior of 3 shares, but 2 classes" in done.err
    page = (data.parent / "results" / "README.md").read_text("utf-8")
    assert "- majority-vote on tiny: tiny: a prior of 3 shares" in page


def test_the_methods_are_listed(unruly: Unruly) -> None:
    done = unruly("bench", "--list")
    assert done.code == 0
    for name in ("snorkel", "westclass", "implyloss", "ulmfit", "default"):
        assert name in done.out

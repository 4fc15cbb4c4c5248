"""The benchmark of the prompt client, on few documents: all are answered, and none is paid for twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.mark.parametrize("name", ["TERM", "KILL"])
def test_an_ended_run_pays_for_every_document_once(name: str) -> None:
    options = ["--documents", "200", "--in-flight", "8", "--took", "0.05", "--ends", "2", "--json"]
    command = [sys.executable, str(BENCHMARKS / "prompts.py"), *options, "--signal", name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["load"]["documents"] == 200
    assert 1 <= found["load"]["most_in_flight"] <= 8
    ended = found["ended"]
    assert (ended["paid"], ended["same_votes"]) == (200, True)
    lost = 0 if name == "TERM" else 2 * 8  # what was in flight at each end
    assert 200 <= ended["requests"] <= 200 + lost

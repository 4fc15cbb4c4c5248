"""Damaged projects and tables, a few: read, or refused in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_damaged_files_are_read_or_refused() -> None:
    command = [sys.executable, str(BENCHMARKS / "fuzz.py"), "--seed", "7"]
    command += ["--projects", "12", "--tables", "28"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    last = done.stdout.splitlines()[-1]
    assert last == "12 projects and 28 tables, 0 failures", done.stdout + done.stderr

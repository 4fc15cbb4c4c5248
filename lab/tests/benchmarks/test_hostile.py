"""Crafted model files, a few of each kind: none of them gets anywhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_crafted_model_files_get_nowhere() -> None:
    command = [sys.executable, str(BENCHMARKS / "hostile.py"), "--files", "42", "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.stdout.splitlines()[-1] == "42 crafted model files, 0 failures", done.stdout

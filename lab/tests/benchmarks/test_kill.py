"""A few kills at random moments: nothing half-written, and the next run gives the same bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_nothing_half_written_is_left() -> None:
    command = [sys.executable, str(BENCHMARKS / "kill.py"), "--kills", "2", "--texts", "120"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.stdout.splitlines()[-1] == "2 kills, 0 failures", done.stdout + done.stderr

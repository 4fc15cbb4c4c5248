"""Coverage-guided fuzzing for a few seconds, where atheris is installed; else a word on how to get it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_the_readers_refuse_or_read() -> None:
    command = [sys.executable, str(BENCHMARKS / "guided.py"), "--seconds", "15"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if importlib.util.find_spec("atheris") is None:
        assert (done.returncode, "./lab[fuzz]" in done.stderr) == (1, True)
    else:
        assert done.stdout.endswith(" 0 findings\n"), done.stdout + done.stderr

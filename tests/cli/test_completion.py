"""`unruly completion`: scripts that shells accept, and answers that help."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Unruly

from unruly.cli.main import COMMANDS, installed


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_call_unruly(unruly: Unruly, shell: str) -> None:
    done = unruly("completion", shell)
    assert done.code == 0
    assert f"_UNRULY_COMPLETE={shell}_complete" in done.out


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("unruly ", {*COMMANDS, *installed()}),
        ("unruly vo", {"vote"}),
        ("unruly vote --sp", {"--split"}),
        ("unruly cache ", {"info", "clear"}),
    ],
)
def test_answers(tmp_path: Path, typed: str, offered: set[str]) -> None:
    words = typed.split()
    environment = {
        **os.environ,
        "_UNRULY_COMPLETE": "bash_complete",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(words) - (not typed.endswith(" "))),
    }
    done = subprocess.run(
        [sys.executable, "-m", "unruly"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert {line.partition(",")[2] for line in done.stdout.split()} == offered

"""Two ways to run a command: in this process, which is quick, and in its own, which is the truth."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from unruly.cli.main import run
from unruly.project.new import make_starter


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str


Unruly = Callable[..., Done]


@pytest.fixture
def unruly(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Unruly:
    """Run a command line in this process, from a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / ".cache"))

    def call(*args: str | Path) -> Done:
        capfd.readouterr()
        code = run([str(arg) for arg in args])
        out, err = capfd.readouterr()
        return Done(code, out, err)

    return call


def command_line(args: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "unruly", *args]


@pytest.fixture
def real(tmp_path: Path) -> Unruly:
    """Run a command line in a process of its own."""
    environment = {**os.environ, "UNRULY_CACHE": str(tmp_path / ".cache")}

    def call(*args: str | Path) -> Done:
        done = subprocess.run(
            command_line([str(arg) for arg in args]),
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def spam(tmp_path: Path) -> Path:
    """A starter project."""
    return make_starter(tmp_path / "spam")


FIT = ("--encoder", "lsa", "--method", "paper", "--epochs", "15")


@pytest.fixture(scope="session")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the starter project, fitted once; its project lies beside it."""
    folder = tmp_path_factory.mktemp("fitted")
    make_starter(folder / "spam")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("UNRULY_CACHE", str(folder / "cache"))
        assert run(["fit", "spam", "-o", "spam.unruly", *FIT, "-q"]) == 0
    return folder / "spam.unruly"

"""Files are written whole or not at all, and nothing is left behind."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from unruly.errors import InputError
from unruly.files import written_whole


def _half(part: Path) -> None:
    part.write_text("half")
    raise ZeroDivisionError


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError), written_whole(target) as part:
        _half(part)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.txt", "old")]


def test_a_folder_takes_the_place_of_a_folder(tmp_path: Path) -> None:
    for text in ("one", "two"):
        with written_whole(tmp_path / "made") as part:
            part.mkdir()
            (part / "x").write_text(text)
    assert (tmp_path / "made" / "x").read_text() == "two"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match=r"the folder .*none does not exist") as caught,
        written_whole(tmp_path / "none" / "a.txt"),
    ):
        pass
    assert caught.value.where is not None
    assert caught.value.where.file == str(tmp_path / "none" / "a.txt")


def test_what_a_killed_run_left_is_cleared_by_the_next(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "from unruly.files import written_whole\n"
        "with written_whole(sys.argv[1]) as part:\n"
        "    part.write_text('half')\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    target = tmp_path / "a.txt"
    subprocess.run([sys.executable, "-c", code, str(target)], check=False)
    assert len(list(tmp_path.iterdir())) == 1  # what it left
    running = tmp_path / f".a.txt.unruly-{platform.node()}-{os.getpid()}-x"  # of a run that lives
    elsewhere = tmp_path / ".a.txt.unruly-another.machine-99999999-x"
    users = tmp_path / ".a.txt.mine"
    for folder in (running, elsewhere, users):
        folder.mkdir()
    with written_whole(target) as part:
        part.write_text("whole")
    assert sorted(tmp_path.iterdir()) == sorted([target, running, elsewhere, users])


@pytest.mark.skipif(sys.platform != "linux", reason="zombies are seen in /proc")
def test_what_a_killed_run_left_is_cleared_before_its_parent_reaps_it(tmp_path: Path) -> None:
    child = subprocess.Popen(["sleep", "60"])
    left = tmp_path / f".a.txt.unruly-{platform.node()}-{child.pid}-x"
    left.mkdir()
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and stays a zombie
    with written_whole(tmp_path / "a.txt") as part:
        part.write_text("whole")
    child.wait()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]

"""Files are written whole or not at all, and nothing is left behind."""

from __future__ import annotations

import errno
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from unruly.errors import InputError
from unruly.files import check_not_input, folder_written_whole, temporary_folder, written_whole


def _half(part: Path) -> None:
    part.write_text("half")
    raise ZeroDivisionError


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError), written_whole(target) as part:
        _half(part)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.txt", "old")]


def test_a_folder_takes_the_place_of_one_of_its_kind(tmp_path: Path) -> None:
    for text in ("one", "two"):
        with folder_written_whole(tmp_path / "made", own=["x"]) as part:
            (part / "x").write_text(text)
    assert (tmp_path / "made" / "x").read_text() == "two"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("linked", [False, True])
def test_a_file_never_takes_the_place_of_a_folder(tmp_path: Path, linked: bool) -> None:
    users = tmp_path / "spam"
    users.mkdir()
    (users / "mine.txt").write_text("years of work")
    target = tmp_path / "link" if linked else users
    if linked:
        target.symlink_to(users)
    with pytest.raises(InputError, match="it is a folder: pass a file"), written_whole(target):
        pytest.fail("nothing is to be written")
    assert (users / "mine.txt").read_text() == "years of work"


def _write_and_make(target: Path) -> None:
    with written_whole(target) as part:
        part.write_text("ours")
        target.mkdir()


def test_a_folder_that_appears_meanwhile_stays(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it is a folder"):
        _write_and_make(tmp_path / "a")
    assert (tmp_path / "a").is_dir()
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("made", ["file", "link", "other file", "folder in it"])
def test_a_folder_takes_no_place_that_may_be_a_users(tmp_path: Path, made: str) -> None:
    target = tmp_path / "made"
    if made == "file":
        target.write_text("mine")
    elif made == "link":
        target.symlink_to(tmp_path)
    else:
        target.mkdir()
        (target / "x").mkdir() if made == "folder in it" else (target / "mine").write_text("mine")
    with pytest.raises(InputError, match="made: cannot"), folder_written_whole(target, own=["x"]):
        pytest.fail("nothing is to be written")
    assert target.exists()


def test_outputs_are_told_from_inputs_however_they_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, link = tmp_path / "new.csv", tmp_path / "link.csv"
    data.write_text("text\n")
    link.symlink_to(data)
    monkeypatch.chdir(tmp_path)
    for name in ("new.csv", "./new.csv", str(data), "link.csv"):
        with pytest.raises(InputError, match="one of the inputs"):
            check_not_input(Path(name), [data])
    with pytest.raises(InputError, match="one of the inputs"):
        check_not_input(Path("not-there-yet"), [tmp_path / "not-there-yet"])
    check_not_input(tmp_path / "other.csv", [data, tmp_path / "none.csv"])


def test_temporary_folders_of_killed_processes_are_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "import os\n"
        "from unruly.files import temporary_folder\n"
        "with temporary_folder() as folder:\n"
        "    (folder / 'data').write_text('private')\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], check=False, env=environment)
    assert len(list(tmp_path.rglob("data"))) == 1
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    users = tmp_path / "unruly-notes"
    users.mkdir()
    with temporary_folder() as room:
        assert sorted(tmp_path.iterdir()) == sorted([room, users])
        with temporary_folder() as second:  # one that is in use is left alone
            assert room.is_dir()
            assert second != room
    assert list(tmp_path.iterdir()) == [users]


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


def test_what_runs_for_other_outputs_left_is_cleared_when_it_is_old(tmp_path: Path) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    here = f"unruly-{platform.node()}"
    names = {
        "old": f".b.txt.{here}-{dead.pid}-x",
        "old and elsewhere": f".b.txt.unruly-another.machine-{dead.pid}-x",
        "old and running": f".b.txt.{here}-{os.getpid()}-x",
        "old and the user's": f".b.txt.{dead.pid}",
        "new": f".c.txt.{here}-{dead.pid}-x",
        "old, but still written": f".d.txt.{here}-{dead.pid}-x",
        "old, with what was replaced": f".e.{here}-{dead.pid}-x",
        "old temporary folder": f"{here}-{dead.pid}-x",
    }
    for kind, name in names.items():
        (tmp_path / name / "old" if "replaced" in kind else tmp_path / name).mkdir(parents=True)
        file = tmp_path / name / "data"
        file.write_text("half")
        long_ago = (1_000_000_000, 1_000_000_000)
        if kind.startswith("old") and "still" not in kind:
            os.utime(file, long_ago)
        if "replaced" in kind:
            os.utime(tmp_path / name / "old", long_ago)
        if kind != "new":
            os.utime(tmp_path / name, long_ago)
    with written_whole(tmp_path / "a.txt") as part:
        part.write_text("whole")
    left = {kind for kind, name in names.items() if (tmp_path / name).exists()}
    assert set(names) - left == {"old", "old temporary folder"}


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


FULL = """
import resource, sys
import polars as pl
from unruly.files import written_whole
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # as a full disk, with another number
frame = pl.DataFrame({"text": [str(number * 7919) for number in range(20_000)]})
try:
    with written_whole(sys.argv[1]) as part:
        frame.write_parquet(part) if sys.argv[2] == "whole" else frame.lazy().sink_parquet(part)
except OSError as error:
    print(error.errno, error.strerror)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such limits there")
@pytest.mark.parametrize("way", ["whole", "in parts"])
def test_a_full_disk_is_an_error_of_the_system_also_where_polars_writes(
    tmp_path: Path, way: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path / "out.parquet", way],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{errno.EFBIG} {os.strerror(errno.EFBIG)}\n"
    assert list(tmp_path.iterdir()) == []

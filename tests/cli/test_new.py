"""`unruly new`: a folder that the other commands accept at once."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Unruly


def test_new_then_check(unruly: Unruly, tmp_path: Path) -> None:
    done = unruly("new", "spam")
    assert (done.code, done.out) == (0, "")
    assert done.err == "spam is ready: edit spam/unruly.toml, then run: unruly check spam\n"
    assert unruly("check", "spam").code == 0


def test_never_overwrites(unruly: Unruly, tmp_path: Path) -> None:
    unruly("new", "spam", "-q")
    (tmp_path / "spam" / "unruly.toml").write_text("mine")
    done = unruly("new", "spam")
    assert (done.code, done.err) == (2, "error: spam exists already: choose another name\n")
    assert (tmp_path / "spam" / "unruly.toml").read_text() == "mine"


def test_a_folder_that_is_not_there(unruly: Unruly) -> None:
    done = unruly("new", "nowhere/spam")
    assert done.code == 2
    assert "the folder nowhere does not exist" in done.err

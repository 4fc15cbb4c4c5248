"""`unruly cache`: what is kept, and emptying it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Unruly


def test_info_and_clear(unruly: Unruly, spam: Path, tmp_path: Path) -> None:
    empty = json.loads(unruly("cache", "info", "--json").out)
    assert empty["folder"] == str(tmp_path / ".cache")
    assert set(empty["bytes"].values()) == {0}
    unruly("vote", spam, "-o", "votes.parquet")
    full = json.loads(unruly("cache", "info", "--json").out)
    assert full["bytes"]["votes"] > 0
    assert "votes" in unruly("cache", "info").out
    assert "freed" in unruly("cache", "clear").err
    assert json.loads(unruly("cache", "info", "--json").out) == empty


def test_without_a_word_it_shows_its_help(unruly: Unruly) -> None:
    done = unruly("cache")
    assert (done.code, done.err) == (0, "")
    assert "clear" in done.out


def test_a_cache_that_is_damaged_throughout_is_said_in_one_line(
    unruly: Unruly, spam: Path, tmp_path: Path
) -> None:
    before = unruly("check", spam).out
    entries = list((tmp_path / ".cache").rglob("*.votes"))
    assert len(entries) > 1
    for entry in entries:
        data = bytearray(entry.read_bytes())
        data[len(data) // 2] ^= 1
        entry.write_bytes(bytes(data))
    done = unruly("check", spam)
    assert (done.code, done.out) == (0, before)
    assert done.err.count("warning: ") == 1
    assert "held a damaged entry: its rules are matched again" in done.err

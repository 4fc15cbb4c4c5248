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

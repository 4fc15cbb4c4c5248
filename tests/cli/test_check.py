"""`unruly check`: the source table, the examples, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Unruly


def test_the_source_table(unruly: Unruly, spam: Path) -> None:
    done = unruly("check", spam)
    assert (done.code, done.err) == (0, "")
    header = done.out.strip().splitlines()[0].split()
    assert header[:6] == ["source", "j", "Polarity", "Coverage", "Overlaps", "Conflicts"]
    for name in ("subscribe", "about_the_song", "short", "total", "majority vote"):
        assert name in done.out
    assert "Polarity: 0 = ham, 1 = spam" in done.out
    assert "examples: 14 of 14 hold" in done.out
    assert "\x1b" not in done.out


def test_json_is_one_object_with_all_figures(unruly: Unruly, spam: Path) -> None:
    done = unruly("check", spam, "--json")
    plain = json.loads(done.out)
    assert plain["holds"] is True
    assert plain["failures"] == []
    assert len(plain["summary"]["sources"]) == 8
    assert plain["summary"]["documents"] == 73
    assert 0 < plain["summary"]["majority"]["score"]["accuracy"] < 1


def test_quiet_still_prints_the_results(unruly: Unruly, spam: Path) -> None:
    done = unruly("check", spam, "--quiet")
    assert (done.code, done.err) == (0, "")
    assert "about_the_song" in done.out


def test_without_gold_nothing_is_scored(unruly: Unruly, spam: Path) -> None:
    toml = spam / "unruly.toml"
    toml.write_text(toml.read_text().replace('label = "is_spam"', "#"))
    done = unruly("check", spam)
    assert done.code == 0
    assert "Emp. Acc." not in done.out
    assert "Coverage" in done.out


def test_the_file_itself_may_be_named(real: Unruly, spam: Path) -> None:
    assert real("check", spam / "unruly.toml", "-q").code == 0

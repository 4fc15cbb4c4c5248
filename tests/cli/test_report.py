"""`unruly report`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Unruly


def test_a_project_gives_a_page_with_a_verdict(
    unruly: Unruly, fitted: Path, tmp_path: Path
) -> None:
    done = unruly("report", fitted, "--data", fitted.parent / "spam", "-o", "report.html", "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert told["output"] == "report.html"
    assert told["bytes"] == len(text.encode()) < 3_000_000
    assert text.startswith("<!doctype html>")


def test_the_file_alone_gives_a_page_too(unruly: Unruly, fitted: Path, tmp_path: Path) -> None:
    done = unruly("report", fitted, "-o", "report.html", "-q")
    assert (done.code, done.out.strip(), done.err) == (0, "report.html", "")
    assert "--data PROJECT" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_open_shows_the_page(
    unruly: Unruly, fitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert unruly("report", fitted, "-o", "report.html", "--open").code == 0
    assert opened == [(tmp_path / "report.html").as_uri()]


def test_bad_input_is_one_line_and_writes_nothing(
    unruly: Unruly, fitted: Path, tmp_path: Path
) -> None:
    for args in (
        ("report", "none.unruly", "-o", "r.html"),
        ("report", fitted, "-o", "no/such/folder/r.html"),
        ("report", fitted, "--data", "none.csv", "-o", "r.html"),
    ):
        done = unruly(*args)
        assert done.code == 2
        assert done.err.startswith("error: ")
        assert done.err.count("\n") == 1
    assert not (tmp_path / "r.html").exists()

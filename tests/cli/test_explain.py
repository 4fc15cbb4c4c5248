"""`unruly explain`: one text, told to people and to machines."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from tests.cli.conftest import Unruly

TEXT = "check out my channel, lovely song"


def test_told_to_people(unruly: Unruly, fitted: Path) -> None:
    done = unruly("explain", fitted, TEXT)
    assert (done.code, done.err) == (0, "")
    for words in (
        "subscribe",
        "my channel",
        "denoiser",
        "classifier",
        "majority vote",
        "nearest",
        "gold labels",
    ):
        assert words in done.out


def test_told_to_machines(unruly: Unruly, fitted: Path) -> None:
    plain = json.loads(
        unruly("explain", fitted, TEXT, "--json", "--words", "2", "--neighbours", "3").out
    )
    assert plain["label"] in ("ham", "spam")
    assert {vote["source"] for vote in plain["votes"]} == {
        "subscribe",
        "check_out",
        "about_the_song",
        "feeling",
    }
    assert len(plain["words"]) <= 2
    assert len(plain["neighbours"]) == 3


def test_a_text_from_standard_input(
    unruly: Unruly, fitted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("Please do subscribe to us\n"))
    plain = json.loads(unruly("explain", fitted, "-", "--json").out)
    assert [vote["source"] for vote in plain["votes"]] == ["subscribe"]


def test_an_unknown_model(unruly: Unruly) -> None:
    done = unruly("explain", "gone.unruly", TEXT)
    assert done.code == 2
    assert done.err.count("\n") == 1

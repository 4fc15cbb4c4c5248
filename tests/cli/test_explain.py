"""`unruly explain`: one text, told to people and to machines."""

from __future__ import annotations

import io
import json
import resource
import subprocess
import sys
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
        "here: the vote's share",  # what the columns mean
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


def test_a_document_of_a_file(unruly: Unruly, fitted: Path, tmp_path: Path) -> None:
    data = tmp_path / "new.csv"
    data.write_text("id,comment\na1,what a song\nb2,Please do subscribe to us\n")
    plain = json.loads(unruly("explain", fitted, "--data", data, "--id", "b2", "--json").out)
    assert [vote["source"] for vote in plain["votes"]] == ["subscribe"]
    missing = unruly("explain", fitted, "--data", data, "--id", "c3")
    assert missing.code == 2
    assert (
        "no document has the id 'c3' (ids are in column 'id', the first are a1, b2)" in missing.err
    )
    assert "either a TEXT, or --data and --id" in unruly("explain", fitted).err


def test_one_text_needs_no_heavy_library(fitted: Path) -> None:
    """Importing scikit-learn alone takes longer than the answer may."""
    code = (
        "import sys\n"
        "from unruly.cli.main import run\n"
        f"assert run(['explain', {str(fitted)!r}, 'check out my channel', '-q']) == 0\n"
        "heavy = {'sklearn', 'pandas', 'scipy.stats', 'scipy.special', 'rich', 'torch'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stderr.strip() == "[]"
    assert after.ru_utime - before.ru_utime < 2.0  # 0.8 s of processor time on a plain machine


def test_a_document_by_its_own_column_of_ids(unruly: Unruly, fitted: Path, tmp_path: Path) -> None:
    data = tmp_path / "tickets.csv"
    data.write_text("number,body,more\nT-1,subscribe to my channel,x\nT-2,lovely song,y\n")
    wanted = ("explain", fitted, "--data", data, "--id", "T-2")
    done = unruly(*wanted, "--id-column", "number", "--text-column", "body")
    assert done.code == 0
    assert "lovely" in done.out
    done = unruly(*wanted, "--text-column", "body")
    assert done.code == 2
    assert "ids are row numbers, the first are 0, 1" in done.err
    assert "--id-column" in done.err
    assert unruly("explain", fitted, "hello", "--id-column", "number").code == 2

"""`unruly vote`: the matrix in a file, ids kept, streams, the cache, and Ctrl-C."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import Unruly, command_line

from unruly.project.project import Project
from unruly.project.voting import vote_split
from unruly.votes.files import read_votes


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv", "jsonl"])
def test_the_file_holds_the_votes_of_the_library(unruly: Unruly, spam: Path, ending: str) -> None:
    done = unruly("vote", spam, "-o", f"votes.{ending}")
    assert done.code == 0
    assert done.out == ""
    assert "73 documents, 8 sources" in done.err
    project = Project.read(spam)
    expected = project.sources.vote(project.corpus())
    written = read_votes(Path(f"votes.{ending}"), project.classes)
    assert written.matrix.tolist() == expected.matrix.tolist()
    assert written.sources == expected.sources
    assert written.ids.to_list() == expected.ids.to_list()


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_names_are_written_slice_by_slice(
    unruly: Unruly, spam: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    unruly("vote", spam, "-o", f"whole.{ending}")
    monkeypatch.setattr("unruly.votes.files.SLICE", 10)
    unruly("vote", spam, "-o", f"sliced.{ending}")
    assert Path(f"sliced.{ending}").read_bytes() == Path(f"whole.{ending}").read_bytes()


def test_the_users_ids_and_another_split(unruly: Unruly, spam: Path) -> None:
    (spam / "test.csv").write_text("key,comment\nzz,subscribe!\naa,nice\n")
    toml = spam / "unruly.toml"
    toml.write_text(toml.read_text().replace("[data]\n", '[data]\ntest = "test.csv"\nid = "key"\n'))
    toml.write_text(toml.read_text().replace('label = "is_spam"  ', "#"))
    assert unruly("vote", spam, "--split", "test", "-o", "votes.csv", "-q").err == ""
    votes = pl.read_csv("votes.csv")
    assert votes["id"].to_list() == ["zz", "aa"]
    assert votes["subscribe"].to_list() == ["spam", None]


def test_json(unruly: Unruly, spam: Path) -> None:
    done = unruly("vote", spam, "-o", "votes.csv", "--json", "-q")
    assert json.loads(done.out)["documents"] == 73
    assert done.err == ""


def test_only_an_edited_source_is_matched_again(unruly: Unruly, spam: Path) -> None:
    unruly("vote", spam, "-o", "one.parquet")
    before = set(Path(".cache").rglob("*.votes"))
    assert len(before) == 8
    toml = spam / "unruly.toml"
    toml.write_text(toml.read_text().replace("max_words = 4", "max_words = 5"))
    unruly("vote", spam, "-o", "two.parquet")
    assert len(set(Path(".cache").rglob("*.votes")) - before) == 1
    unruly("vote", spam, "-o", "three.parquet", "--no-cache")
    assert Path("two.parquet").read_bytes() == Path("three.parquet").read_bytes()
    assert Path("one.parquet").read_bytes() != Path("two.parquet").read_bytes()


def test_a_long_file_is_read_as_a_stream_with_the_same_votes(
    spam: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project.read(spam)
    whole = vote_split(project)
    monkeypatch.setattr("unruly.project.voting.SMALL", 10)
    streamed = vote_split(project)
    assert streamed.votes.matrix.tolist() == whole.votes.matrix.tolist()
    assert streamed.votes.ids.to_list() == whole.votes.ids.to_list()
    assert streamed.gold is not None
    assert whole.gold is not None
    assert streamed.gold.tolist() == whole.gold.tolist()


def slow_project(folder: Path) -> Path:
    """A project whose one rule needs a minute for its documents, and says when it has begun."""
    folder.mkdir()
    (folder / "texts.csv").write_text("text\n" + "word\n" * 6000)
    (folder / "rules.py").write_text(
        "import time\nfrom pathlib import Path\nfrom unruly import rule\n\n@rule\ndef slow(row):\n"
        "    Path(__file__).with_name('begun').touch()\n    time.sleep(0.01)\n"
    )
    (folder / "unruly.toml").write_text(
        '[task]\nclasses = ["x", "y"]\n[data]\ntrain = "texts.csv"\n[[source]]\nname = "slow"\n'
        'rule = [{ function = { file = "rules.py", name = "slow" } }]\n'
    )
    return folder


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_it_stops_at_once_and_leaves_nothing_half_written(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    project = slow_project(tmp_path / "slow")
    (tmp_path / "votes.parquet").write_text("precious")
    run = subprocess.Popen(
        command_line(["vote", "slow", "-o", "votes.parquet"]),
        cwd=tmp_path,
        env={**os.environ, "UNRULY_CACHE": str(tmp_path / "cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (project / "begun").exists():
        assert run.poll() is None, run.communicate()
        time.sleep(0.02)
    run.send_signal(number)
    out, err = run.communicate(timeout=30)
    assert run.returncode == code
    assert out == ""
    assert err == ("interrupted: nothing half-written is left\n" if code == 130 else "")
    assert (tmp_path / "votes.parquet").read_text() == "precious"
    left = {path.name for path in tmp_path.iterdir()} - {"cache"}
    assert left == {"slow", "votes.parquet"}


def test_on_a_terminal_a_bar_is_drawn_on_standard_error(tmp_path: Path) -> None:
    slow_project(tmp_path / "slow")
    ours, theirs = pty.openpty()
    run = subprocess.Popen(
        command_line(["vote", "slow", "-o", "votes.parquet"]),
        cwd=tmp_path,
        env={
            **os.environ,
            "UNRULY_CACHE": str(tmp_path / "cache"),
            "TERM": "xterm",
            "COLUMNS": "120",
        },
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    while b"measuring for source 'slow', rule 1" not in shown:
        shown += os.read(ours, 4096)
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=60)
    while b"left" not in shown:
        shown += os.read(ours, 4096)
    os.close(ours)
    assert (run.returncode, out) == (130, b"")
    assert b"0/6,000" in shown
    assert b"\x1b[?25h" in shown, "the cursor stays hidden"
    assert b"interrupted: nothing half-written is left" in shown

"""The demo runs, quickly, and says what it should."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

DEMO = Path(__file__).resolve().parent.parent / "examples" / "demo" / "demo.py"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    pytest.importorskip("textblob")
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        [sys.executable, str(DEMO), "--quick", "--folder", "run"],
        cwd=folder,
        env={**os.environ, "UNRULY_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "run", done.stdout


def test_the_demo_tells_its_story(ran: tuple[Path, str]) -> None:
    folder, told = ran
    for line in (
        "scoring only",
        "before: majority vote",
        "denoised labels",
        "after: final classifier",
    ):
        assert line in told
    assert "rules speak" in told
    assert "no rule speaks" in told
    assert (folder / "report.html").resolve().as_uri() in told
    after = told[told.index("What to try next") :].splitlines()
    commands = [shlex.split(line) for line in after if line.startswith("  ")]
    assert [words[1] for words in commands] == ["explain", "check", "studio", "fit"]
    for words in commands[:2]:  # what is printed works as it is
        done = subprocess.run(
            [sys.executable, "-m", "unruly", *words[1:]], cwd=folder.parent, check=False
        )
        assert done.returncode == 0, words


def test_reviews_are_a_random_sample_with_both_classes(ran: tuple[Path, str]) -> None:
    train, test = (pl.read_csv(ran[0] / name) for name in ("reviews.csv", "test.csv"))
    assert (len(train), len(test)) == (400, 200)
    assert not set(train["id"]) & set(test["id"])
    for part in (train, test):
        assert 0.35 < (part["label"] == "positive").mean() < 0.65  # type: ignore[operator]
        assert not part["id"].is_sorted()


def test_the_report_of_the_demo_is_complete_and_small(ran: tuple[Path, str]) -> None:
    page = (ran[0] / "report.html").read_text(encoding="utf-8")
    assert len(page.encode()) < 3_000_000
    assert "200 for scoring (test.csv)" in page
    assert page.count('class="document"') == 20
    assert page.count("<figure") == 8

"""The progress bar: what it says while work goes on, and that it cleans up."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from unruly.cli.bars import Bars
from unruly.cli.screen import Lines
from unruly.progress import stage


@pytest.fixture
def screen() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def bars(screen: io.StringIO) -> Bars:
    return Bars(Console(file=screen, force_terminal=True, width=120))


def test_says_what_how_far_how_fast_and_the_note(bars: Bars, screen: io.StringIO) -> None:
    with stage(bars, "matching rules", 2000, "texts"):
        for _ in range(4):
            bars.advance(250, note="loss 0.52")
        bars.refresh()
    shown = screen.getvalue()
    assert "matching rules" in shown
    assert "1,000/2,000" in shown
    assert "texts/s" in shown
    assert "loss 0.52" in shown


def test_an_unknown_total(bars: Bars, screen: io.StringIO) -> None:
    with stage(bars, "reading", None, "rows"):
        bars.advance(1234)
        bars.refresh()
    assert "1,234" in screen.getvalue()
    assert "1,234/" not in screen.getvalue()


def test_stages_within_stages_and_the_cursor_comes_back(bars: Bars, screen: io.StringIO) -> None:
    def interrupted() -> None:
        with stage(bars, "outer", 2, "steps"):
            with stage(bars, "inner", 5, "texts"):
                bars.advance(5)
            bars.advance(1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    hidden, shown = "\x1b[?25l", "\x1b[?25h"
    assert screen.getvalue().rfind(shown) > screen.getvalue().rfind(hidden) >= 0
    bars.advance(1)  # nothing is under way: nothing happens
    bars.finish()


def test_markup_in_names_is_shown_as_it_is(bars: Bars, screen: io.StringIO) -> None:
    with stage(bars, "reading [bold]x.csv", 1, "rows"):
        bars.refresh()
    assert "[bold]x.csv" in screen.getvalue()


def test_a_log_gets_a_line_now_and_again() -> None:
    stream = io.StringIO()
    lines = Lines(stream, patience=0.0)
    lines.start("encoding", 1200, "texts")
    lines.advance(400)
    lines.finish()
    lines.advance(1)  # after the end: nothing
    assert stream.getvalue() == "encoding: 400 of 1,200 texts\n"
    patient = Lines(stream, patience=1000.0)
    patient.start("matching", None, "texts")
    patient.advance(5)
    assert stream.getvalue().count("\n") == 1

"""What goes where: results to standard output, remarks and bars to standard error."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from unruly.cli.screen import (
    PIPE_WIDTH,
    Bars,
    Lines,
    Screen,
    console,
    results,
    source_table,
    table_of,
)
from unruly.progress import SILENT, stage
from unruly.votes.votes import Votes


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_results_and_remarks(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().say("a [bold]result[/bold]")
    Screen().remark("a remark")
    Screen().answer({"not": "asked for"})
    assert capsys.readouterr() == ("a [bold]result[/bold]\n", "a remark\n")


def test_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    Screen(quiet=True).say("a result")
    Screen(quiet=True).remark("a remark")
    assert capsys.readouterr() == ("a result\n", "")


def test_json_is_all_of_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(json=True)
    screen.say("a result")
    screen.table(table_of(["a"], [["b"]]))
    screen.answer({"café": 1.5})
    out = capsys.readouterr().out
    assert json.loads(out) == {"café": 1.5}
    assert "café" in out


def test_json_never_holds_what_json_does_not_know() -> None:
    with pytest.raises(ValueError):
        Screen(json=True).answer({"share": float("nan")})


def test_bars_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(Screen().progress(), Lines)
    monkeypatch.setattr("sys.stderr", Terminal())
    assert isinstance(Screen().progress(), Bars)
    assert Screen(quiet=True).progress() is SILENT


def test_long_lines_are_not_broken_and_colours_stay_on_terminals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    pipe, terminal = io.StringIO(), Terminal()
    for stream in (pipe, terminal):
        console(stream).print("[red]x[/red]" * (2 * PIPE_WIDTH), soft_wrap=True)
    assert pipe.getvalue() == "x" * (2 * PIPE_WIDTH) + "\n"
    assert "\x1b[31m" in terminal.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Terminal()
    console(plain).print("[red]x[/red]")
    assert "\x1b[31m" not in plain.getvalue()


def test_the_source_table_shows_names_as_they_are() -> None:
    votes = Votes.from_array([[0, -1], [1, 1]], sources=["[red]odd", "b"], classes=["x", "y"])
    stream = io.StringIO()
    console(stream).print(source_table(votes.summary([0, 1])))
    shown = stream.getvalue()
    assert "[red]odd" in shown
    assert "total" in shown
    assert "95 % interval" in shown


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


def test_names_with_escapes_are_harmless(bars: Bars, screen: io.StringIO) -> None:
    log = io.StringIO()
    for shown in (bars, Lines(log, patience=0.0)):
        with stage(shown, "encoding with \x1b[31m", 1, "texts"):
            shown.advance(1, note="\x1b]0;x")
            bars.refresh()
    for text in (screen.getvalue(), log.getvalue()):
        assert r"encoding with \u001b[31m" in text
        assert "\x1b]0" not in text


def test_what_a_log_told_of_is_told_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([0.0, 11.0, 11.0, 12.0, 12.0, 20.0, 20.5, 31.0])
    monkeypatch.setattr("unruly.cli.screen.time.monotonic", lambda: next(seconds))
    stream = io.StringIO()
    lines = Lines(stream)
    with stage(lines, "holding labels out", 5, "fits"):
        lines.advance(4)
        lines.advance(1)
    with stage(lines, "matching rules", 2, "texts"):
        lines.advance(2)
    assert stream.getvalue() == "holding labels out: 4 of 5 fits\nholding labels out: 5 of 5 fits\n"


def test_a_log_gets_a_line_now_and_again() -> None:
    stream = io.StringIO()
    lines = Lines(stream, patience=0.0)
    lines.start("encoding", 1200, "texts")
    lines.advance(400)
    lines.finish()
    lines.advance(1)  # after the end: nothing
    assert stream.getvalue() == "encoding: 400 of 1,200 texts\n"  # it was interrupted
    patient = Lines(stream, patience=1000.0)
    patient.start("matching", None, "texts")
    patient.advance(5)
    assert stream.getvalue().count("\n") == 1


def test_a_table_on_a_terminal_has_no_sign_that_it_obeys_and_elsewhere_is_as_it_is() -> None:
    terminal = Terminal()
    table = '1,"\x1b]0;title\x07é \u202e"\r\n'.encode()
    shown = results(terminal)
    for byte in table:  # pieces may end within a character
        shown.write(bytes([byte]))
    shown.flush()
    assert terminal.getvalue() == '1,"\\u001b]0;title\\u0007é \\u202e"\\u000d\n'
    pipe = io.TextIOWrapper(io.BytesIO())
    assert results(pipe) is pipe.buffer

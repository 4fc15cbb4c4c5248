"""What goes where: results to standard output, remarks and bars to standard error."""

from __future__ import annotations

import io
import json

import pytest

from unruly.cli.bars import Bars
from unruly.cli.screen import PIPE_WIDTH, Lines, Screen, console, source_table, table_of
from unruly.progress import SILENT
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

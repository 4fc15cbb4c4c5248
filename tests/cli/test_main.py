"""Manners of the command line: help, one-line errors, exit codes, instant start."""

from __future__ import annotations

import importlib
import json
import os
import pty
import re
import shlex
import subprocess
import sys
import warnings
from importlib.metadata import EntryPoint
from pathlib import Path

import click
import pytest
from tests.cli.conftest import Unruly, command_line

from unruly import __version__, errors
from unruly.cli import main
from unruly.cli.main import COMMANDS, GROUP, installed, run
from unruly.errors import ExampleError, InputError


def command_of(name: str) -> click.Command:
    command = getattr(importlib.import_module(f"unruly.cli.{COMMANDS[name].home}"), name)
    assert isinstance(command, click.Command)
    return command


def commands() -> list[tuple[str, click.Command]]:
    """Every command and sub-command, by the words that one types."""
    found: list[tuple[str, click.Command]] = []
    for name in COMMANDS:
        command = command_of(name)
        found.append((name, command))
        if isinstance(command, click.Group):
            found += [(f"{name} {sub}", inner) for sub, inner in command.commands.items()]
    return found


@pytest.mark.parametrize("words", ["", *(words for words, _ in commands())])
def test_every_help_has_an_example_that_names_the_command(unruly: Unruly, words: str) -> None:
    done = unruly(*words.split(), "--help")
    assert done.code == 0
    assert done.err == ""
    _, _, example = done.out.partition("Example:\n")
    assert f"unruly {words}".strip() in example


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_each_says_of_itself(name: str) -> None:
    first = (command_of(name).help or "").split("\n\n")[0].replace("\n", " ")
    assert first.startswith(COMMANDS[name].about.rstrip("."))


@pytest.mark.parametrize("words", [words for words, _ in commands()])
def test_every_option_explains_itself(words: str) -> None:
    command = dict(commands())[words]
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{words} {parameter.opts}"


def test_version(unruly: Unruly) -> None:
    assert __version__ in unruly("--version").out


def test_without_a_command_it_shows_its_help(unruly: Unruly) -> None:
    done = unruly()
    assert done.code == 0
    assert "Commands:" in done.out
    assert "Exit codes: 0 all well, 1 " in done.out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["chekc"],
            "error: there is no command 'chekc': did you mean 'check'? (see unruly --help)",
        ),
        (["--what"], "error: No such option '--what' (see unruly --help)"),
        (["new"], "error: Missing argument 'NAME' (see unruly new --help)"),
    ],
)
def test_wrong_usage_is_one_line(unruly: Unruly, args: list[str], message: str) -> None:
    done = unruly(*args)
    assert (done.code, done.out, done.err) == (2, "", message + "\n")


@pytest.mark.parametrize(
    ("raised", "code", "message"),
    [
        (InputError("a.csv: bad"), 2, "error: a.csv: bad\n"),
        (InputError("two\nlines"), 2, "error: two lines\n"),
        (ExampleError("rule 1: no"), 1, "error: rule 1: no\n"),
        (KeyboardInterrupt(), 130, "interrupted: nothing half-written is left\n"),
        (MemoryError("no 37 GB"), 2, "error: not enough memory: no 37 GB\n"),
        (
            FileNotFoundError(2, "No such file", "x.csv"),
            2,
            "error: x.csv: No such file: check the path\n",
        ),
    ],
)
def test_errors_are_one_line_and_a_code(
    unruly: Unruly, monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int, message: str
) -> None:
    monkeypatch.setattr("unruly.project.new.make_starter", failing(raised))
    done = unruly("new", "x")
    assert (done.code, done.out, done.err) == (code, "", message)


def test_a_bug_asks_to_be_reported_and_shows_its_traceback_only_when_asked(
    unruly: Unruly, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unruly.project.new.make_starter", failing(RuntimeError("boom")))
    done = unruly("new", "x")
    assert done.code == main.BUG
    assert done.err.count("\n") == 1
    assert "unexpected RuntimeError: boom" in done.err
    assert "please report" in done.err
    assert "Traceback" in unruly("--debug", "new", "x").err


def test_a_warning_is_one_line_and_none_when_quiet(
    unruly: Unruly, monkeypatch: pytest.MonkeyPatch
) -> None:
    def warn(name: Path) -> Path:
        errors.warn("the source 'a' abstains:\nno column")
        warnings.warn("not yours to read", stacklevel=1)
        return name

    monkeypatch.setattr("unruly.project.new.make_starter", warn)
    assert unruly("new", "x").err.splitlines()[0] == "warning: the source 'a' abstains: no column"
    assert unruly("new", "x", "--quiet").err == ""


ATTACK = "\x1b[2J\x1b]0;pwn\x07\x9b31m\u202e\u2066\r"
SHOWN = r"\u001b[2J\u001b]0;pwn\u0007\u009b31m\u202e\u2066"


@pytest.mark.parametrize("debug", [[], ["--debug"]])
@pytest.mark.parametrize(
    "raised",
    [
        InputError(f"id {ATTACK}"),
        click.UsageError(f"no option {ATTACK}"),
        FileNotFoundError(2, "No such file", f"{ATTACK}.csv"),
        RuntimeError(ATTACK),
        MemoryError(ATTACK),
    ],
)
def test_no_error_is_obeyed_by_a_terminal(
    unruly: Unruly, monkeypatch: pytest.MonkeyPatch, raised: BaseException, debug: list[str]
) -> None:
    monkeypatch.setattr("unruly.project.new.make_starter", failing(raised))
    done = unruly(*debug, "new", "x")
    assert SHOWN in done.err
    assert not set(ATTACK) & set(done.err) - set(SHOWN)


def test_nor_is_a_warning(unruly: Unruly, monkeypatch: pytest.MonkeyPatch) -> None:
    def warn(name: Path) -> Path:
        errors.warn(f"the source {ATTACK}abstains")
        return name

    monkeypatch.setattr("unruly.project.new.make_starter", warn)
    assert unruly("new", "x").err.splitlines()[0].startswith(f"warning: the source {SHOWN}")


def test_on_a_terminal_the_only_escapes_are_colours(tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    ours, theirs = pty.openpty()
    try:
        line = command_line(["check", "no\x1b[2J\x1b]0;pwn\x07"])
        subprocess.run(line, cwd=tmp_path, env=environment, stderr=theirs, timeout=60)
        written = os.read(ours, 10_000)
    finally:
        os.close(ours)
        os.close(theirs)
    assert re.sub(rb"\x1b\[\d+m", b"", written).find(b"\x1b") < 0
    assert b"\x07" not in written


def failing(raised: BaseException) -> object:
    def fail(name: Path) -> Path:
        raise raised

    return fail


def test_help_imports_no_heavy_library() -> None:
    code = (
        "import sys\nfrom unruly.cli.main import run\nrun(['--help'])\n"
        "heavy = {'torch', 'polars', 'numpy', 'sklearn', 'scipy', 'pandas', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(("no_colour", "coloured"), [(None, True), ("1", False)])
def test_colours_on_a_terminal_only(tmp_path: Path, no_colour: str | None, coloured: bool) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    environment["TERM"] = "xterm-256color"
    if no_colour:
        environment["NO_COLOR"] = no_colour
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            command_line(["chekc"]), cwd=tmp_path, env=environment, stderr=theirs, timeout=60
        )
        written = os.read(ours, 10_000)
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 2
    assert (b"\x1b[" in written) is coloured


@pytest.mark.parametrize("words", ["--help", "check spam"])
def test_a_closed_pipe_is_no_error(spam: Path, tmp_path: Path, words: str) -> None:
    script = f"{sys.executable} -m unruly {words} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")


def test_ctrl_c_behind_a_library_s_own_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrapped(args: object) -> int:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as stop:
            raise RuntimeError("while importing") from stop

    monkeypatch.setattr("unruly.cli.main._invoke", wrapped)
    assert run(["check", "spam"]) == 130
    assert capsys.readouterr().err == "interrupted: nothing half-written is left\n"


def test_commands_of_the_lab_are_named_where_it_is_not_installed(
    unruly: Unruly, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unruly.cli.main.installed", dict)
    for name in ("compare", "bench"):
        done = unruly(name, "spam")
        assert done.code == 2
        assert done.err.startswith(
            f"error: unruly {name} comes with unruly-lab, which is not installed: pip install"
        )
    assert "unruly-lab" not in unruly("--help").out


def test_commands_of_other_packages_are_listed_and_run(
    unruly: Unruly, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = EntryPoint("completion2", "unruly.cli.main:completion", GROUP)
    monkeypatch.setattr("unruly.cli.main.installed", lambda: {"completion2": entry})
    assert "completion2" in unruly("--help").out
    assert "_UNRULY_COMPLETE" in unruly("completion2", "bash").out


@pytest.mark.parametrize(
    ("encoding", "args"),
    [("ascii", ["check", "spam"]), ("ascii", ["--help"]), ("latin-1", ["check", "spam"])],
)
def test_a_screen_without_some_signs(
    spam: Path, tmp_path: Path, encoding: str, args: list[str]
) -> None:
    (spam / "comments.csv").write_text("comment,is_spam\nsubscribe 🎵 ×,1\ngreat song,0\n")
    done = subprocess.run(
        command_line(args),
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": encoding, "UNRULY_CACHE": str(tmp_path / "c")},
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def no_bug_without(args: list[str], closing: str, folder: Path) -> None:
    """Run a command from a shell that closes one of its streams."""
    done = subprocess.run(
        f"{shlex.join(command_line(args))} {closing}",
        shell=True,
        cwd=folder,
        env={**os.environ, "UNRULY_CACHE": str(folder / "c")},
        capture_output=True,
        timeout=60,
    )
    assert done.returncode in (0, 2), done.stderr
    assert b"bug" not in done.stderr + done.stdout


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_a_closed_screen(spam: Path, tmp_path: Path, closed: str) -> None:
    no_bug_without(["check", "spam"], {"stdout": "1>&-", "stderr": "2>&-"}[closed], tmp_path)


@pytest.mark.parametrize(
    "words", [["predict", "MODEL", "-"], ["explain", "MODEL", "-"], ["label", "spam"]], ids=" ".join
)
def test_a_closed_input_is_empty(
    fitted: Path, spam: Path, tmp_path: Path, words: list[str]
) -> None:
    args = [str(fitted) if word == "MODEL" else word for word in words]
    no_bug_without(args, "<&-", tmp_path)


@pytest.mark.parametrize(
    "args", [["check"], ["new"], ["explain", "MODEL"], ["predict", "MODEL"]], ids=" ".join
)
def test_arguments_that_are_not_utf_8(fitted: Path, tmp_path: Path, args: list[str]) -> None:
    given = [str(fitted) if arg == "MODEL" else arg for arg in args]
    line = [arg.encode() for arg in command_line(given)] + [b"\xff\xfe"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, timeout=60)
    assert done.returncode in (0, 2), done.stderr
    assert b"bug" not in done.stderr


@pytest.mark.parametrize("args", [["suggest", "-n", "1"], ["studio", "--no-open"]], ids=" ".join)
def test_a_project_whose_name_is_not_utf_8(spam: Path, tmp_path: Path, args: list[str]) -> None:
    odd = spam.rename(tmp_path / os.fsdecode(b"n\xff"))
    line = [*command_line(args), str(odd)]
    environment = {**os.environ, "UNRULY_CACHE": str(tmp_path / "c")}
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, timeout=120)
    assert done.returncode == (2 if args[0] == "studio" else 0), done.stderr
    assert (b"the name is not in UTF-8" in done.stderr) == (args[0] == "studio")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_behind_standard_output(spam: Path, tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command_line(["show", "spam"]),
            cwd=tmp_path,
            env={**os.environ, "UNRULY_CACHE": str(tmp_path / "c")},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last == "error: No space left on device: free some, or write elsewhere"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_call_unruly(unruly: Unruly, shell: str) -> None:
    done = unruly("completion", shell)
    assert done.code == 0
    assert f"_UNRULY_COMPLETE={shell}_complete" in done.out


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("unruly ", {*COMMANDS, *installed()}),
        ("unruly vo", {"vote"}),
        ("unruly vote --sp", {"--split"}),
        ("unruly cache ", {"info", "clear"}),
    ],
)
def test_answers(tmp_path: Path, typed: str, offered: set[str]) -> None:
    words = typed.split()
    environment = {
        **os.environ,
        "_UNRULY_COMPLETE": "bash_complete",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(words) - (not typed.endswith(" "))),
    }
    done = subprocess.run(
        [sys.executable, "-m", "unruly"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert {line.partition(",")[2] for line in done.stdout.split()} == offered


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


def test_a_cache_that_is_damaged_throughout_is_said_in_one_line(
    unruly: Unruly, spam: Path, tmp_path: Path
) -> None:
    before = unruly("check", spam).out
    entries = list((tmp_path / ".cache").rglob("*.votes"))
    assert len(entries) > 1
    for entry in entries:
        data = bytearray(entry.read_bytes())
        data[len(data) // 2] ^= 1
        entry.write_bytes(bytes(data))
    done = unruly("check", spam)
    assert (done.code, done.out) == (0, before)
    assert done.err.count("warning: ") == 1
    assert "held a damaged entry: its rules are matched again" in done.err

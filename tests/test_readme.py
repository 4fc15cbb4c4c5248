"""The README cannot rot: its examples run, its commands and targets are there."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

from unruly.cli.main import run
from unruly.project.new import make_starter
from unruly.project.project import Project

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def test_the_tree_names_every_module_and_its_purpose() -> None:
    spec = importlib.util.spec_from_file_location("tree", ROOT / "tools" / "tree.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    for package in tool.PACKAGES:
        shown = tool.tree(package)
        for path in package.rglob("*.py"):
            if path.name != "__init__.py":
                assert tool.purpose(path), f"{path} does not say in its first line what it is for"
                assert path.name in shown


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_starter(tmp_path / "spam")
    return tmp_path


def test_the_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / ".cache"))
    lines = [shlex.split(line, comments=True) for line in "".join(blocks("sh")).splitlines()]
    commands = [words[1:] for words in lines if words[:1] == ["unruly"]]
    assert {words[0] for words in commands} >= {"new", "check", "vote", "fit", "predict", "explain"}
    for words in commands:
        assert run(words) == 0, words
    assert (tmp_path / "votes.parquet").is_file()
    assert (tmp_path / "labelled.csv").is_file()


def form(line: str) -> str:
    """A line with its figures and the blanks between them taken out: those depend on the encoder.

    >>> form("all    73   91.8% (83.2% to 96.2%)")
    'all # #% (#% to #%)'
    """
    return re.sub(r"\s+", " ", re.sub(r"\d+(\.\d+)?", "#", line)).strip()


def test_fit_prints_what_is_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("UNRULY_CACHE", str(folder / ".cache"))
    assert run(["fit", "spam", "-o", "spam.unruly", "--encoder", "lsa"]) == 0
    printed = iter([form(line) for line in capsys.readouterr().out.splitlines()])
    (shown,) = blocks("text")
    for line in shown.splitlines():
        start = form(line.removesuffix("…"))
        assert any(one.startswith(start) for one in printed), line  # in this order


@pytest.mark.parametrize("code", blocks("python"))
def test_the_python_runs(
    folder: Path, code: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("UNRULY_CACHE", str(folder / ".cache"))
    exec(compile(code, "README.md", "exec"), {})
    assert "Coverage" in capsys.readouterr().out


@pytest.mark.parametrize("text", blocks("toml"))
def test_the_project_file_votes(folder: Path, text: str) -> None:
    (folder / "spam" / "unruly.toml").write_text(text)
    project = Project.read(folder / "spam")
    votes = project.sources.vote(project.corpus("train"))
    assert votes.voted.any(axis=0).all()


def test_the_targets_that_it_names_are_there() -> None:
    targets = re.findall(r"^make (\w+)", README, flags=re.MULTILINE)
    assert {"demo", "test"} <= set(targets)
    makefile = (ROOT / "Makefile").read_text()
    assert all(f"\n{target}:" in makefile for target in targets)


def test_it_fits_one_screen() -> None:
    assert len(README.encode()) <= 5000

"""The README cannot rot: its tree is the real tree, and its examples run."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from unruly.project.project import Project
from unruly.project.starter import make_starter

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def test_the_tree_is_the_tree() -> None:
    spec = importlib.util.spec_from_file_location("tree", ROOT / "tools" / "tree.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.with_tree(README) == README, "the file tree of the README is old: run `make tree`"
    modules = [
        path for path in (ROOT / "src" / "unruly").rglob("*.py") if path.name != "__init__.py"
    ]
    assert all(f" {path.name} " in README for path in modules)
    for path in modules:
        assert tool.purpose(path), f"{path.name} does not say in its first line what it is for"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_starter(tmp_path / "spam")
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": binaries, "UNRULY_CACHE": str(folder / ".cache")}


def test_the_commands_run(tmp_path: Path) -> None:
    script = "\n".join(blocks("sh")).replace("pip install unruly", "true")
    assert "unruly vote spam" in script
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "votes.parquet").is_file()


@pytest.mark.parametrize("code", blocks("python"))
def test_the_python_runs(folder: Path, code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


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

"""The documentation cannot rot: its examples run, its links lead somewhere, its CLI page is `--help`."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from unruly.cli.main import run
from unruly.project.new import make_starter
from unruly.project.project import Project

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))


def blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / ".cache"))
    return tmp_path


def test_the_tutorial_runs_from_beginning_to_end(folder: Path) -> None:
    page = DOCS / "tutorial.md"
    commands = [shlex.split(line) for line in "".join(blocks(page, "sh")).splitlines() if line]
    assert {words[1] for words in commands} >= {"new", "check", "fit", "predict", "explain"}
    for words in commands:
        assert words[0] == "unruly"
        assert run(words[1:]) == 0, words
    assert (folder / "spam.unruly").is_file()
    assert (folder / "labelled.csv").is_file()
    for code in blocks(page, "python"):
        exec(compile(code, str(page), "exec"), {})


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name != "tutorial.md" and blocks(page, "python")],
    ids=lambda page: page.name,
)
def test_the_python_of_a_page_runs_in_order(page: Path, folder: Path) -> None:
    make_starter(folder / "spam")
    names: dict[str, object] = {}
    for code in blocks(page, "python"):
        exec(compile(code, str(page), "exec"), names)


def test_every_source_of_the_reference_is_valid(folder: Path) -> None:
    sources = [text for text in blocks(DOCS / "project-file.md", "toml") if "[[source]]" in text]
    assert len(sources) >= 8
    (folder / "comments.csv").write_text("text\nhello\n")
    head = '[task]\nclasses = ["ham", "spam"]\n[data]\ntrain = "comments.csv"\n'
    for text in sources:
        (folder / "unruly.toml").write_text(head + text)
        assert Project.read(folder).sources.names, text


def test_all_toml_parses() -> None:
    for page in PAGES:
        for text in blocks(page, "toml"):
            tomllib.loads(text)


def test_the_cli_page_is_what_help_prints() -> None:
    spec = importlib.util.spec_from_file_location("page", ROOT / "tools" / "cli_reference.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert page == tool.reference(), "run: python tools/cli_reference.py > docs/cli.md"


def test_links_lead_somewhere() -> None:
    link = re.compile(r"\]\(([\w./-]+\.(?:md|png|svg|py))\)")
    found = [(page, target) for page in PAGES for target in link.findall(page.read_text("utf-8"))]
    assert found
    for page, target in found:
        assert (page.parent / target).is_file(), f"{page.name} links to {target}"


def test_the_site_has_no_dead_link(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "-q",
        "-d",
        str(tmp_path / "site"),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    links = re.findall(
        r'href="(\.\./[^"#]*)', (tmp_path / "site/method/index.html").read_text("utf-8")
    )
    assert links
    for link in links:
        assert (tmp_path / "site/method" / link).exists(), link


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r"(\S+\.md)", (ROOT / "mkdocs.yml").read_text("utf-8")))
    assert listed == {page.name for page in PAGES}


def test_files_that_the_method_page_names_are_there() -> None:
    text = (DOCS / "method.md").read_text("utf-8")
    names = re.findall(r"`(\w+\.py)`", text)
    assert names
    for name in names:
        assert (ROOT / "src/unruly/paper" / name).is_file(), name


def test_pages_are_wrapped_and_their_tables_short() -> None:
    generated = DOCS / "cli.md"
    written = [ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md")]
    for page in (*written, *(page for page in PAGES if page != generated)):
        for block in page.read_text("utf-8").split("\n\n"):
            assert block.count("\n|") <= 22, f"{page.name}: long tables belong to the lab"
            for line in block.splitlines():
                assert line.startswith("|") or len(line) <= 120, f"{page.name}: {line[:60]}"

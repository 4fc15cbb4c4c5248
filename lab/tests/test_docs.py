"""The laboratory's pages cannot rot: their examples run, and print what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from unruly.project.new import make_starter

DOCS = Path(__file__).resolve().parent.parent / "docs"


def blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(
    "page",
    [page for page in sorted(DOCS.glob("*.md")) if blocks(page, "python")],
    ids=lambda page: page.name,
)
def test_the_python_of_a_page_runs_and_prints_what_the_page_shows(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / ".cache"))
    make_starter(tmp_path / "spam")
    names: dict[str, object] = {}
    for code in blocks(page, "python"):
        exec(compile(code, str(page), "exec"), names)
    printed = capsys.readouterr().out
    for shown in blocks(page, "text"):
        assert shown.strip() in printed

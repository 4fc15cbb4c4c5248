"""A newcomer who follows one document from `unruly fit` to the saved model passes at most 40 files of ours."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from unruly.project.new import make_starter

TOOL = Path(__file__).resolve().parents[1] / "tools" / "path.py"


def test_one_document_passes_few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / "cache"))
    spec = importlib.util.spec_from_file_location("path", TOOL)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    project = make_starter(tmp_path / "spam")
    file = project / "unruly.toml"
    file.write_text(file.read_text("utf-8") + '\n[encoder]\nname = "lsa"\n', "utf-8")
    files = tool.passed(project, tmp_path / "spam.unruly")
    assert {"texts/csv_table.py", "rules/matching.py", "features/lsa.py"} <= set(files)
    assert {"denoising/em.py", "model/storage.py"} <= set(files)
    assert len(["cli/fit.py", *files]) <= 40, files

"""The benchmarks cannot rot: each can be imported, and its `main` knows `--help`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
NAMES = sorted(path.stem for path in BENCHMARKS.glob("*.py") if not path.stem.startswith("_"))


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Benchmarks import one another by their bare names, as scripts in one folder do."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    yield
    for name in NAMES:
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("beside")
@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_can_be_imported_and_asked_for_help(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = importlib.import_module(name)
    assert Path(module.__file__ or "").parent == BENCHMARKS
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--help"])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 0
    first = (module.__doc__ or "").splitlines()[0]
    assert " ".join(first.split()) in " ".join(capsys.readouterr().out.split())

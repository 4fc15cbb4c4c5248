"""The house: rooms import only rooms before them, and importing unruly is instant."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import unruly

HOUSE = Path(unruly.__file__).parent
# In the order of the data: text, votes, features, denoise and train, predict, report.
ROOMS = [
    "errors",
    "wording",
    "files",
    "progress",
    "settings",
    "prior",
    "statistics",
    "html",
    "ledger",
    "findings",
    "sentences",
    "texts",
    "votes",
    "prompts",
    "rules",
    "features",
    "learner",
    "labelmodels",
    "paper",
    "denoising",
    "labelling",
    "model",
    "project",
    "report",
    "serve",
    "studio",
    "export",
    "distributed",
    "cli",
]


# What a room does by a later one, which it imports only when it is asked to.
LATE = {("model/weak_classifier.py", "unruly.report.page")}  # `WeakClassifier.report`


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "unruly"


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module)
    return {name for name in found if name.split(".")[0] == "unruly"}


@pytest.mark.parametrize(
    "path", sorted(HOUSE.rglob("*.py")), ids=lambda p: str(p.relative_to(HOUSE))
)
def test_rooms_import_only_earlier_rooms(path: Path) -> None:
    relative = path.relative_to(HOUSE)
    if relative.name in {"__init__.py", "__main__.py"} and len(relative.parts) == 1:
        return
    room = relative.parts[0].removesuffix(".py")
    assert room in ROOMS, f"{relative}: the room {room} is not in the house's plan"
    for module in imports_of(path):
        if module == "unruly":
            continue  # the version only
        if (relative.as_posix(), module) in LATE:
            continue
        assert ROOMS.index(room_of(module)) <= ROOMS.index(room), f"{relative} imports {module}"


def test_import_brings_no_heavy_library() -> None:
    code = (
        "import sys, unruly\n"
        "heavy = {'torch', 'sklearn', 'polars', 'pandas', 'scipy', 'textblob', 'spacy', 'transformers',"
        " 'onnxruntime', 'matplotlib', 'snorkel'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_resolve() -> None:
    for name in unruly.__all__:
        assert getattr(unruly, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = unruly.nonsense

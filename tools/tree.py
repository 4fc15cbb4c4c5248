"""Print the file tree, each module with the first line of its docstring: `make tree`."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (ROOT / "src" / "unruly", ROOT / "lab" / "src" / "unruly_lab")
WIDTH = 34


def purpose(module: Path) -> str:
    """The first line of a module's docstring; empty where it has none."""
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0]


def tree(package: Path) -> str:
    """One line a file: the modules of the package itself, then its folders by name."""
    lines = [f"{package.relative_to(ROOT)}/"]
    for module in sorted(package.glob("*.py")):
        if module.name != "__init__.py":
            lines.append(line(f"  {module.name}", purpose(module)))
    for init in sorted(package.glob("*/__init__.py")):
        folder = init.parent
        lines.append(line(f"  {folder.name}/", purpose(init)))
        for module in sorted(folder.rglob("*.py")):
            if module.name != "__init__.py":
                lines.append(line(f"    {module.relative_to(folder)}", purpose(module)))
    return "\n".join(lines) + "\n"


def line(name: str, about: str) -> str:
    """A name, and beside it what it is for."""
    return f"{name:{WIDTH}} {about}".rstrip()


if __name__ == "__main__":
    sys.stdout.write("\n".join(map(tree, PACKAGES)))

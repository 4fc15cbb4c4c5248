"""Write the file tree of the README from the first line of every module.

Run `make tree` after adding, moving or renaming a module; a test fails until the README agrees.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOUSE = ROOT / "src" / "unruly"
BEGIN, END = "<!-- tree -->\n", "<!-- end of tree -->\n"
WIDTH = 34
# The way of the data, as tests/test_rooms.py keeps it; anything else comes before, by name.
ROOMS = ["texts", "votes", "rules", "features", "project", "training", "labelmodels", "recipe"]
ROOMS += ["model", "peers", "bench", "report", "cli"]


def purpose(module: Path) -> str:
    """The first line of a module's docstring, without the number of its room."""
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    first = docstring.partition("\n")[0]
    return first.partition(": ")[2] if first.startswith("Room ") else first


def tree(house: Path = HOUSE) -> str:
    """The whole house, one line a file."""
    lines = ["src/unruly/"]
    for module in sorted(house.glob("*.py")):
        if module.name != "__init__.py":
            lines.append(line(f"  {module.name}", purpose(module)))
    for room in rooms(house):
        lines.append(line(f"  {room.name}/", purpose(room / "__init__.py")))
        for module in sorted(room.rglob("*.py")):
            if module.name != "__init__.py":
                lines.append(line(f"    {module.relative_to(room)}", purpose(module)))
    return "\n".join(lines) + "\n"


def rooms(house: Path) -> list[Path]:
    """The folders of the house that hold modules, in the order of the data."""
    folders = [path.parent for path in house.glob("*/__init__.py")]
    return sorted(folders, key=lambda f: (ROOMS.index(f.name) if f.name in ROOMS else -1, f.name))


def line(name: str, about: str) -> str:
    return f"{name:{WIDTH}}{about}".rstrip()


def with_tree(readme: str) -> str:
    """The README with its tree renewed."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}```\n{tree()}```\n{END}{after}"


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(with_tree(readme.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write("README.md: the tree is up to date\n")

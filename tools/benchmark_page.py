"""Put the tables of `results/README.md` into `docs/benchmark.md`, between two marks.

Run after `unruly bench … -o results` (or `unruly bench --tables-only -o results`); a test fails until the page
agrees with the results.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- results -->\n", "<!-- end of results -->\n"


def with_results(page: str, results: str) -> str:
    """The page with what stands between the marks renewed; titles go one level down."""
    before, mark, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise SystemExit(f"the page has no {BEGIN.strip()} … {END.strip()}")
    body = re.sub(r"\A# .*\n+", "", results)
    body = re.sub(r"^(#+ )", r"#\1", body, flags=re.MULTILINE)
    return f"{before}{BEGIN}\n{body.strip()}\n\n{END}{after}"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "README.md")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "benchmark.md")
    chosen = parser.parse_args()
    page = chosen.page.read_text(encoding="utf-8")
    made = with_results(page, chosen.results.read_text(encoding="utf-8"))
    chosen.page.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

NOTHING = "–"


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the first column is words and stands to the left, the others are figures.

    >>> print(markdown(["method", "youtube"], [["a|b", "94.9"]]))
    | method | youtube |
    |:--|--:|
    | a\\|b | 94.9 |
    """
    lines = [header, [":--"] + ["--:"] * (len(header) - 1)]
    written = [_line(lines[0]), "|" + "|".join(lines[1]) + "|"]
    return "\n".join([*written, *map(_line, rows)])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def page(title: str, *parts: str) -> str:
    """A section: its title, then its paragraphs; empty ones are left out.

    >>> page("Noise", "", "All is well.")
    '## Noise\\n\\nAll is well.\\n'
    """
    return "\n\n".join([f"## {title}", *(part for part in parts if part)]) + "\n"

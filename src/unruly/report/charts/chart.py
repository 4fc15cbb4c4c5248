"""A picture, what it says in words, and the numbers behind it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Chart:
    """One chart: `svg` for the eye, `says` for the ear, `rows` for the spreadsheet."""

    name: str  # a word; ids in the SVG begin with it
    title: str
    says: str
    svg: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    wide: bool = False  # takes the whole width of the page

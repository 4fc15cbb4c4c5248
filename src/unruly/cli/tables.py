"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from unruly.votes.summary import Summary


def table_of(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: Sequence[int] = (0,),
    last: bool = False,
) -> Table:
    """A plain table: the columns in `left` to the left, all others to the right; `last` sets the
    last row apart."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for place, name in enumerate(header):
        table.add_column(
            Text(name), justify="left" if place in left else "right", no_wrap=place not in left
        )
    for number, row in enumerate(rows):
        if last and number == len(rows) - 1:
            table.add_section()
        table.add_row(*(Text(cell) for cell in row))
    return table


def source_table(summary: Summary) -> Table:
    """One row for each source, and a total."""
    header, rows = summary.cells()
    return table_of(header, rows, left=(0, 2), last=True)

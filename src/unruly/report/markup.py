"""The parts of the page: figures, tables, matrices as boards of squares, sections, badges, notes on missing data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from unruly.html import LETTERS, WIDTH, escape, label, picture, rect, text_width, with_code
from unruly.statistics import Share
from unruly.wording import shortened

_GAP = 1.5  # between two squares of a matrix
HUES = 8  # class colours in the style sheet; more classes take turns


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{with_code(text)}</p>" if text else ""


def listed(items: Sequence[str]) -> str:
    """A list of plain texts."""
    return "<ul>" + "".join(f"<li>{with_code(item)}</li>" for item in items) + "</ul>"


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "", kind: str = "figures"
) -> str:
    """A table; the first column names the row, the others hold figures, or words."""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    shown = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="scroll" tabindex="0"><table class="{kind}">{shown}<thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def figure(chart: Chart) -> str:
    """A chart with its title, its text alternative and the numbers behind it."""
    name = chart.name
    opened = chart.svg.index(">") + 1
    svg = (
        f'{chart.svg[: opened - 1]} role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(chart.title)}</title>'
        f'<desc id="{name}-desc">{escape(chart.description)}</desc>{chart.svg[opened:]}'
    )
    kind = "wide chart" if chart.wide else "chart"
    return (
        f'<figure class="{kind}" id="chart-{name}"><h3>{escape(chart.title)}</h3>{svg}'
        f"<figcaption>{escape(chart.description)}</figcaption>"
        f"<details><summary>The numbers</summary>{table(chart.header, chart.rows)}</details></figure>"
    )


def figure_or(chart: Chart | None, otherwise: str, command: str = "") -> str:
    """The chart, or a note on what is missing and the command that adds it."""
    return figure(chart) if chart is not None else lacking(otherwise, command)


def lacking(what: str, command: str = "") -> str:
    """What is missing here, and the command that adds it."""
    how = f"<br>To see it: <code>{escape(command)}</code>" if command else ""
    return f'<p class="lacking">{with_code(what)}{how}</p>'


def badge(label: str, classes: Sequence[str]) -> str:
    """A class name in its colour."""
    number = list(classes).index(label) % HUES if label in classes else 0
    return f'<span class="badge c{number}">{escape(label)}</span>'


def section(name: str, title: str, *parts: str) -> str:
    """One part of the page, with an anchor."""
    inside = "\n".join(part for part in parts if part)
    return f'<section id="{name}"><h2>{escape(title)}</h2>\n{inside}\n</section>'


def side_by_side(*parts: str) -> str:
    """Pieces beside each other where there is room."""
    return '<div class="pair">' + "".join(parts) + "</div>"


@dataclass(frozen=True)
class Chart:
    """One chart: its `svg`, a `description` for screen readers, and the numbers in `rows`."""

    name: str  # a word; ids in the page begin with it
    title: str
    description: str
    svg: str  # one element, in the CSS variables of `unruly.html`
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    wide: bool = False  # takes the whole width of the page


def percent(value: float | None, digits: int = 1) -> str:
    """`86.2%`, or a dash.

    >>> percent(0.862), percent(None)
    ('86.2%', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    return f"{100 * value:.{digits}f}%"


def share_words(share: Share | None) -> str:
    """`86.2% (84.0 to 88.2)`, or a dash.

    >>> share_words(Share(0.862, 0.84, 0.882, 1000))
    '86.2% (84.0 to 88.2)'
    """
    if share is None or not share.n:
        return "–"
    return f"{percent(share.value)} ({100 * share.low:.1f} to {100 * share.high:.1f})"


def points_words(share: Share) -> str:
    """`+4.3 points (+2.1 to +6.5)`.

    >>> points_words(Share(0.043, 0.021, 0.065, 1000))
    '+4.3 points (+2.1 to +6.5)'
    """
    return f"{100 * share.value:+.1f} points ({100 * share.low:+.1f} to {100 * share.high:+.1f})"


def board(
    names: Sequence[str],
    colours: Sequence[Sequence[tuple[str, float]]],
    texts: Sequence[Sequence[str]],
    square: float,
    titles: tuple[str, str] = ("", ""),
) -> str:
    """Squares in rows and columns with the same names; names below are turned where there are many."""
    size = LETTERS - 1 if len(names) <= 25 else LETTERS - 3
    short = [shortened(name, 16) for name in names]
    long = max(text_width(name, size) for name in short)
    turned = long > square - 4
    rows, columns = titles
    left = (24 if rows else 6) + long + 6
    below = (0.77 * long + 14 if turned else 18) + (20 if columns else 0)
    side = square * len(names)
    width, height = max(left + side + 8, WIDTH), side + below + 6
    left += max(0.0, (width - left - side - 8) / 2 - 10) if len(names) > 3 else 0.0
    marks = []
    for i, row in enumerate(colours):
        y = 4 + i * square
        marks.append(label(left - 6, y + square / 2, short[i], anchor="end", size=size))
        for j, (colour, strength) in enumerate(row):
            x = left + j * square
            marks.append(rect(x, y, square - _GAP, square - _GAP, colour, round(strength, 2)))
            lines = texts[i][j].split("\n") if texts[i][j] else []
            for n, text in enumerate(lines):
                shift = 15 * (n - (len(lines) - 1) / 2)
                small = size if square >= 40 else size - 1.5
                marks.append(label(x + square / 2, y + square / 2 + shift, text, size=small))
    for j, name in enumerate(short):
        x, y = left + (j + 0.5) * square, side + 14
        if turned:
            marks.append(label(x + 3, y - 2, name, anchor="end", size=size, turn=-50))
        else:
            marks.append(label(x, y, name, size=size))
    if rows:
        marks.append(label(11, 4 + side / 2, rows, turn=-90))
        marks.append(label(left + side / 2, height - 9, columns))
    return picture(width, height, *marks)

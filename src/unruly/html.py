"""Text as HTML, escaped; the parts of a page: tables, figures, sections, badges; and charts as SVG text.

Every mark of a chart is a function from numbers to an SVG element, and a `Frame` holds the axes; a matrix is a `board` of
squares. Colours are CSS variables, so that one picture serves light and dark pages; a picture that stands alone falls
back to the light ones. All text passes through `escape`.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape as _escape
from typing import TYPE_CHECKING

from unruly.wording import shortened

if TYPE_CHECKING:  # it imports NumPy, which HTML does without
    from unruly.statistics import Share

_MARK = '<mark title="{title}">{text}</mark>'


def with_code(text: str) -> str:
    """A plain text as HTML, its commands, which stand between backticks, as code.

    >>> with_code("more labels (`unruly label spam`) & a ` of yours")
    'more labels (<code>unruly label spam</code>) &amp; a ` of yours'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def escape(text: object) -> str:
    """Text escaped for HTML and SVG, also inside quotes; characters that XML does not allow are left out.

    >>> escape('<b title="x">\\x00')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    shown = "".join(c for c in str(text) if c in "\n\t" or _printable(ord(c)))
    return _escape(shown, quote=True)


def _printable(code: int) -> bool:
    lone = 0xD800 <= code <= 0xDFFF or code in (0xFFFE, 0xFFFF)
    return code >= 0x20 and not 0x7F <= code <= 0x9F and not lone


def html_table(header: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """A plain table, as notebooks show it.

    >>> html_table(["a"], [["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    top = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    above = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{above}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def marked_html(text: str, spans: Iterable[tuple[int, int, str]]) -> str:
    """The text with each span marked and the reason as its title; overlapping spans are joined.

    >>> marked_html("a <b> c", [(2, 5, "bold"), (4, 5, "end")])
    'a <mark title="bold; end">&lt;b&gt;</mark> c'
    """
    joined: list[tuple[int, int, list[str]]] = []
    for start, end, why in sorted(spans):
        if joined and start < joined[-1][1]:
            first, last, reasons = joined.pop()
            joined.append((first, max(last, end), [*reasons, why]))
        else:
            joined.append((start, end, [why]))
    pieces, place = [], 0
    for start, end, reasons in joined:
        title = escape("; ".join(dict.fromkeys(reasons)))
        pieces.append(escape(text[place:start]))
        pieces.append(_MARK.format(title=title, text=escape(text[start:end])))
        place = end
    return "".join([*pieces, escape(text[place:])])


INK, SOFT, GRID = "var(--ink, #1d1f24)", "var(--soft, #62666f)", "var(--grid, #e2e1dc)"
MODEL, OTHER, THIRD = "var(--model, #1f66b3)", "var(--other, #b7791f)", "var(--third, #5f8f7b)"
GOOD, BAD = "var(--good, #217a4b)", "var(--bad, #c0392b)"
LETTERS = 12.0
WIDTH, HEIGHT = 440.0, 300.0  # narrow enough that a phone need not shrink the letters much
TOP, RIGHT = 30.0, 20.0  # margins of a chart: for the legend, and for half of the last number


def text_width(text: str, size: float = LETTERS) -> float:
    """The approximate width of a text; wide characters (Han, kana, emoji) count double.

    >>> text_width("ab", 10) < text_width("日本", 10)
    True
    """
    ems = sum(1.05 if unicodedata.east_asian_width(c) in "WF" else 0.62 for c in text)
    return ems * size


def number(value: float) -> str:
    """A coordinate, as short as it can be.

    >>> number(1.0), number(2.345), number(-0.01)
    ('1', '2.3', '0')
    """
    short = f"{value:.1f}".removesuffix(".0")
    return "0" if short == "-0" else short


def line(
    points: Sequence[tuple[float, float]], colour: str, width: float = 1.0, dash: str = ""
) -> str:
    """A line through points."""
    path = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{number(width)}"{dashed}/>'


def rect(x: float, y: float, width: float, height: float, colour: str, opacity: float = 1.0) -> str:
    """A filled rectangle, from its upper left corner."""
    faint = "" if opacity == 1 else f' fill-opacity="{opacity:.2f}"'
    size = f'width="{number(max(0.0, width))}" height="{number(max(0.0, height))}"'
    return f'<rect x="{number(x)}" y="{number(y)}" {size} fill="{colour}"{faint}/>'


def dot(x: float, y: float, radius: float, colour: str, opacity: float = 1.0) -> str:
    """A filled circle."""
    faint = "" if opacity == 1 else f' fill-opacity="{opacity:.2f}"'
    return (
        f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}" fill="{colour}"{faint}/>'
    )


def ring(x: float, y: float, radius: float, colour: str) -> str:
    """An empty circle."""
    at = f'cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"'
    return f'<circle {at} fill="none" stroke="{colour}" stroke-width="1.6"/>'


def diamond(x: float, y: float, radius: float, colour: str) -> str:
    """A filled diamond."""
    corners = ((x, y - radius), (x + radius, y), (x, y + radius), (x - radius, y))
    path = " ".join(f"{number(a)},{number(b)}" for a, b in corners)
    return f'<polygon points="{path}" fill="{colour}"/>'


def label(
    x: float,
    y: float,
    text: object,
    *,
    anchor: str = "middle",
    size: float = LETTERS,
    turn: float = 0.0,
) -> str:
    """Text on one line; `y` is its middle. `turn` is in degrees, clockwise, around the anchor."""
    place = f'x="{number(x)}" y="{number(y)}" dy="0.35em"'
    turned = f' transform="rotate({number(turn)} {number(x)} {number(y)})"' if turn else ""
    look = f'text-anchor="{anchor}" font-size="{number(size)}" fill="{INK}"'
    return f"<text {place} {look}{turned}>{escape(text)}</text>"


@dataclass(frozen=True)
class Scale:
    """Maps values to positions, linearly or by their logarithm; `low` may be the larger value."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = self.low, self.high, value
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(max(value, 1e-12))
        share = (at - low) / (high - low) if high != low else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values within the scale.

        >>> Scale(0, 0.93, 0, 1).ticks(5), Scale(0.004, 0.6, 0, 1, log=True).ticks()
        ([0.0, 0.2, 0.4, 0.6, 0.8], [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5])
        """
        if self.log:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            found = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
            return [tick for tick in found if self.low <= tick <= self.high]
        span = self.high - self.low
        if span <= 0:
            return [self.low]
        rough = 10.0 ** math.floor(math.log10(span / most))
        step = next(rough * k for k in (1, 2, 5, 10) if span / (rough * k) <= most)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(i * step, 12) for i in range(first, last + 1)]


@dataclass(frozen=True)
class Frame:
    """A picture with two axes; marks are drawn at `x(value)` and `y(value)`."""

    width: float
    height: float
    x: Scale
    y: Scale

    @classmethod
    def rows(cls, names: Sequence[str], x: tuple[float, float], each: float) -> Frame:
        """Axes with a row for each name, `each` points high, the first on top."""
        left = 12 + max(text_width(name, LETTERS - 1) for name in names)
        size = (WIDTH, 78 + each * len(names))
        return cls.of(x, (len(names) - 0.5, -0.5), size=size, left=left)

    @classmethod
    def of(
        cls,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        size: tuple[float, float] = (WIDTH, HEIGHT),
        left: float = 52.0,
        bottom: float = 46.0,
        log: bool = False,
    ) -> Frame:
        """Axes from the lowest to the highest value, with margins around them."""
        width, height = size
        x_scale = Scale(*x, left, width - RIGHT, log=log)
        return cls(width, height, x_scale, Scale(*y, height - bottom, TOP))

    def x_axis(self, ticks: Iterable[tuple[float, str]], title: str, grid: bool = True) -> str:
        """The axis below, with a title."""
        base, top = self.y.start, self.y.end
        marks = [line([(self.x.start, base), (self.x.end, base)], SOFT)]
        for value, text in ticks:
            at = self.x(value)
            marks += [line([(at, top), (at, base)], GRID)] if grid else []
            marks += [
                label(at, base + 13 + 14 * i, part, size=LETTERS - 1)
                for i, part in enumerate(text.split("\n"))
            ]
        middle = (self.x.start + self.x.end) / 2
        return "".join(marks) + label(middle, self.height - 9, title)

    def y_axis(self, ticks: Iterable[tuple[float, str]], title: str = "") -> str:
        """The axis on the left, with a title that reads upwards."""
        marks = []
        for value, text in ticks:
            at = self.y(value)
            marks.append(line([(self.x.start, at), (self.x.end, at)], GRID))
            marks.append(label(self.x.start - 6, at, text, anchor="end", size=LETTERS - 1))
        middle = (self.y.start + self.y.end) / 2
        return "".join(marks) + (label(11, middle, title, turn=-90) if title else "")

    def row_names(self, names: Sequence[str]) -> str:
        """Names on the left, one for each row."""
        return "".join(
            label(self.x.start - 6, self.y(row), name, anchor="end", size=LETTERS - 1)
            for row, name in enumerate(names)
        )

    def svg(self, *marks: str) -> str:
        """The whole picture."""
        return picture(self.width, self.height, *marks)


def picture(width: float, height: float, *marks: str) -> str:
    """Marks as one `<svg>` element, as wide as the place where it is put."""
    box = f'viewBox="0 0 {number(width)} {number(height)}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box}>' + "".join(marks) + "</svg>"


def legend(items: Sequence[tuple[str, str, str]], left: float) -> str:
    """Names with their mark (see `MARKS`) and colour, in a row above the axes."""
    marks, x, y = [], left, 12.0
    for name, colour, mark in items:
        marks.append(MARKS[mark](x + 5, y, colour))
        marks.append(label(x + 15, y, name, anchor="start", size=LETTERS - 1))
        x += 15 + text_width(name, LETTERS - 1) + 14
    return "".join(marks)


MARKS: dict[str, Callable[[float, float, str], str]] = {
    "area": lambda x, y, colour: rect(x - 5, y - 5, 10, 10, colour),
    "dot": lambda x, y, colour: dot(x, y, 5, colour),
    "ring": lambda x, y, colour: ring(x, y, 4.5, colour),
    "diamond": lambda x, y, colour: diamond(x, y, 5, colour),
    "line": lambda x, y, colour: line([(x - 7, y), (x + 7, y)], colour, 2),
    "dashes": lambda x, y, colour: line([(x - 7, y), (x + 7, y)], colour, 1.5, "4 3"),
}


def percent_ticks(scale: Scale) -> list[tuple[float, str]]:
    """Round shares as per cent."""
    return [(tick, f"{100 * tick:g}%") for tick in scale.ticks()]


def count_ticks(scale: Scale) -> list[tuple[float, str]]:
    """Round counts, whole ones only."""
    return [(tick, f"{tick:,.0f}") for tick in scale.ticks() if tick == int(tick)]


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

    >>> from unruly.statistics import Share
    >>> share_words(Share(0.862, 0.84, 0.882, 1000))
    '86.2% (84.0 to 88.2)'
    """
    if share is None or not share.n:
        return "–"
    return f"{percent(share.value)} ({100 * share.low:.1f} to {100 * share.high:.1f})"


def points_words(share: Share) -> str:
    """`+4.3 points (+2.1 to +6.5)`.

    >>> from unruly.statistics import Share
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

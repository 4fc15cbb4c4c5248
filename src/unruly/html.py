"""Text as HTML, escaped, in small tables and with matches marked; and charts as SVG text.

Every mark of a chart is a function from numbers to an SVG element, and a `Frame` holds the axes. Colours are CSS
variables, so that one picture serves light and dark pages; a picture that stands alone falls back to the
light ones. All text passes through `escape`.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape as _escape

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

"""Text as HTML: escaped, in small tables, and with what rules matched marked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape as _escape

_MARK = '<mark title="{title}">{text}</mark>'


def escape(text: object) -> str:
    """Text as it may stand in HTML and SVG, inside quotes too; what XML cannot hold is left out.

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
    """The text with each span marked, its title telling why; overlapping ones are joined.

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

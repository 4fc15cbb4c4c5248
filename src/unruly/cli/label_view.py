"""One document on the screen: its text with matches marked, the keys, and afterwards the votes.

Lines follow each other as in any terminal, so it works over ssh, in narrow windows, and in a log.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from unruly.cli.label_keys import ClassKeys
from unruly.cli.screen import console, harmless

if TYPE_CHECKING:
    from rich.text import Text

    from unruly.project.showing import ShownDocument

MANY_CLASSES = 20  # more are listed with the first document, and when asked for
_LINES_AROUND = 9  # of the screen, for all but the text
_LEAST_LINES = 5
_COMMANDS = (
    ("space", "skip"),
    ("?", "cannot tell"),
    ("<", "undo"),
    ("+", "note"),
    ("q", "quit"),
)


@dataclass(frozen=True)
class View:
    """Where documents are shown, and whether in colour."""

    stream: IO[str]

    @property
    def coloured(self) -> bool:
        """Whether matches can be marked without signs in the text."""
        plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
        return self.stream.isatty() and not plain

    def document(self, shown: ShownDocument, head: str, page: int = 0) -> bool:
        """A document from its `page`-th screen on; whether there is more of it."""
        screen = console(self.stream)
        if not page:
            screen.rule(self._plain(head), align="left", characters="-", style="none")
        lines = self._text(shown).wrap(screen, max(screen.width, 1))
        most = len(lines)
        if self.stream.isatty():
            most = max(screen.height - _LINES_AROUND, _LEAST_LINES)
        for line in lines[page * most : (page + 1) * most]:
            screen.print(line, soft_wrap=True, highlight=False)
        left = len(lines) - (page + 1) * most
        if left > 0:
            self.say(f"... {left:,} more lines: > shows them")
        return left > 0

    def keys(self, keys: ClassKeys, *, all_classes: bool = True) -> None:
        """What can be typed."""
        pairs = list(zip(keys.codes, keys.classes, strict=True)) if all_classes else []
        if not all_classes:
            pairs = [("=", f"{len(keys.classes)} classes")]
        items = [harmless(f"[{key}] {name}") for key, name in (*pairs, *_COMMANDS)]
        for line in packed(items, console(self.stream).width):
            self.say(line)

    def say(self, text: str) -> None:
        """Lines of text, wrapped between words."""
        console(self.stream).print(self._plain(text), highlight=False)

    def _plain(self, text: str) -> Text:
        from rich.text import Text

        return Text(harmless(text))

    def _text(self, shown: ShownDocument) -> Text:
        """The text, matches marked by colour, or by brackets where there is none."""
        from rich.text import Text

        text, last = Text(), 0
        for start, end in (*shown.spans, (len(shown.text), len(shown.text))):
            text.append(harmless(shown.text[last:start]))
            if end > start:
                match = harmless(shown.text[start:end])
                text.append(*((match, "reverse") if self.coloured else (f"[{match}]", "")))
            last = end
        return text if shown.text.strip() else Text("(no text)")


def packed(items: Sequence[str], width: int) -> list[str]:
    """Items in lines of this width, none broken where it fits.

    >>> packed(["[h] ham", "[s] spam", "[q] quit"], 18)
    ['[h] ham  [s] spam', '[q] quit']
    """
    from rich.cells import cell_len

    lines: list[str] = []
    for item in items:
        if lines and cell_len(lines[-1]) + 2 + cell_len(item) <= width:
            lines[-1] += f"  {item}"
        else:
            lines.append(item)
    return lines

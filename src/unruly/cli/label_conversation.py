"""The conversation of `unruly label`: show a document, read a reply, write it down, tell the votes, go on.

Lines follow each other as in any terminal, so it works over ssh, in narrow windows, and in a log.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

from unruly.cli.label_keys import ClassKeys, Do, Keyboard, Lines, Reply
from unruly.cli.screen import console, harmless
from unruly.labelling.labels import CANNOT_TELL, SKIPPED
from unruly.labelling.queue import Question, Session
from unruly.project.labelling import LabellingTask
from unruly.project.showing import ShownDocument

if TYPE_CHECKING:
    from rich.text import Text


_SENTENCE_EVERY = 5  # labels
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


@dataclass
class Conversation:
    """Where a conversation has got to; what was answered is in the session, and on disk."""

    task: LabellingTask
    session: Session
    reader: Keyboard | Lines
    view: View
    remark: Callable[[str], None]
    note: str = ""  # for the next answer
    page: int | None = 0  # of the document, to be shown next; None: it is on the screen
    further: int | None = None  # the page after the one on the screen; None: that was all
    unchanged: bool = True  # the project on disk
    keys: ClassKeys = field(init=False)
    all_keys: bool = True  # whether all classes are to be listed

    def __post_init__(self) -> None:
        self.keys = ClassKeys.of(self.task.project.classes)

    def run(self) -> Session:
        """Until there is no question left, or the person has had enough."""
        while (question := self.session.question) is not None:
            self._show(question)
            reply = self.reader.read(self.keys)
            if reply is not None and reply.do is Do.QUIT:
                break
            self._follow(reply, question)
        return self.session

    def _show(self, question: Question) -> None:
        if self.page is None:
            return
        head = f"{len(self.session.given) + 1} of {len(self.session.questions)}, id {question.id}"
        more = self.view.document(self.task.shown(question.row), head, self.page)
        self.view.keys(self.keys, all_classes=self.all_keys)
        self.all_keys = len(self.keys.classes) <= MANY_CLASSES
        self.further, self.page = self.page + 1 if more else None, None

    def _follow(self, reply: Reply | None, question: Question) -> None:
        match None if reply is None else reply.do:
            case None:
                self.view.say("that key means nothing here")
                self.view.keys(self.keys, all_classes=self.all_keys)
            case Do.KEYS:
                self.view.keys(self.keys)
            case Do.MORE:
                self.page = self.further
            case Do.NOTE:
                assert reply is not None
                self.note = self.reader.note() if isinstance(self.reader, Keyboard) else reply.text
            case Do.UNDO:
                self._undo()
            case _:
                assert reply is not None
                self._answer(reply, question)

    def _undo(self) -> None:
        if not self.session.given:
            self.view.say("there is no answer to take back")
            return
        last = self.session.given[-1]
        self.session, self.page, self.note = self.session.undo(), 0, ""
        self.view.say(f"taken back: {last.label} for {last.id}")

    def _answer(self, reply: Reply, question: Question) -> None:
        same = self.task.on_disk.check(self.task.project.classes)  # each time: it may get worse
        if self.unchanged and not same:
            self.unchanged = False
            self.remark("the rules have changed on disk: votes are shown as they were at the start")
        label = {Do.SKIP: SKIPPED, Do.CANNOT_TELL: CANNOT_TELL}.get(reply.do, reply.text)
        self.session = self.session.answer(label, self.note)
        self.page, self.note = 0, ""
        self.view.say(vote_line(self.task.shown(question.row), label, self._model(question.row)))
        labels = self.session.labels
        if reply.do is Do.LABEL and labels % _SENTENCE_EVERY == 0:
            found = self.task.balance(self.session.file)
            if found is not None and found.telling:
                self.view.say(found.sentence())

    def _model(self, row: int) -> str:
        """What the model says of a document."""
        if self.task.proba is None:
            return ""
        proba = self.task.proba[row]
        return f"model: {self.task.project.classes[int(proba.argmax())]} {proba.max():.0%}"


def vote_line(shown: ShownDocument, label: str, model: str) -> str:
    """After an answer: what it was, and what the rules and the model say."""
    votes = ", ".join(f"{vote.source} {vote.label}" for vote in shown.votes) or "none"
    return "; ".join(part for part in (f"-> {label}", f"votes: {votes}", model) if part)


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

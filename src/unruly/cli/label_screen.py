"""The screen of `unruly label`: show a document, read a reply, write it down, show the votes, go on.

Lines follow each other as in any terminal, so it works over ssh, in narrow windows, and in a log. On a terminal
one key is a reply; where letters do not tell the classes apart, a number of fixed length. From a pipe one line is a
reply: a class, its key, or a command.
"""

from __future__ import annotations

import os
import re
import select
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import IO, TYPE_CHECKING, Any, TextIO

from unruly.cli.screen import console
from unruly.errors import InputError, harmless
from unruly.labelling.answers import written_id
from unruly.labelling.label_file import CANNOT_TELL, SKIPPED
from unruly.labelling.sampling import Question, Session
from unruly.project.documents import LabellingTask, ShownDocument
from unruly.wording import did_you_mean, plural

if TYPE_CHECKING:
    from rich.text import Text

_LETTERS = "abcdefghijklmnoprstuvwxyz"  # without q
_DIGITS = "1234567890"
_SENTENCE_EVERY = 5  # labels
MANY_CLASSES = 20  # more are listed before the first document, and when asked for
_LINES_AROUND = 6  # of the screen: the last document's votes, the head, what is left, the cursor
_LEAST_LINES = 5
_COMMANDS = (
    ("space", "skip"),
    ("?", "cannot tell"),
    ("<", "undo"),
    ("+", "note"),
    ("q", "quit"),
)


class Do(StrEnum):
    """What a person can do with a document."""

    LABEL = "label"
    SKIP = "skip"
    CANNOT_TELL = "cannot tell"
    UNDO = "undo"
    NOTE = "note"
    MORE = "more"  # of a long text
    KEYS = "keys"  # show them
    QUIT = "quit"


KEYS = {
    " ": Do.SKIP,
    "?": Do.CANNOT_TELL,
    "<": Do.UNDO,
    "\x7f": Do.UNDO,
    "\b": Do.UNDO,
    "+": Do.NOTE,
    ">": Do.MORE,
    "=": Do.KEYS,
    "q": Do.QUIT,
    "\x04": Do.QUIT,
}


@dataclass(frozen=True)
class Reply:
    """What a person wants, and the class or the note that goes with it."""

    do: Do
    text: str = ""


@dataclass(frozen=True)
class ClassKeys:
    """A code for each class, all of the same length, none the beginning of a command."""

    classes: tuple[str, ...]
    codes: tuple[str, ...]

    @classmethod
    def of(cls, classes: Sequence[str]) -> ClassKeys:
        """A letter of each name; where letters do not tell the names apart, the number in each; else their places from 1.

        >>> ClassKeys.of(["ham", "spam", "scam", "spim", "5"]).codes
        ('h', 's', 'c', 'p', '5')
        >>> ClassKeys.of([f"tier {i}" for i in range(12)]).codes[:3]
        ('00', '01', '02')
        >>> ClassKeys.of(["tier 1", "tier 2", "tier"]).codes
        ('1', '2', '3')
        """
        names = tuple(classes)
        places = tuple(range(1, len(names) + 1))
        return cls(names, _letters(names) or _padded(_numbers(names) or places))

    @property
    def width(self) -> int:
        """How many keys make a code."""
        return len(self.codes[0])

    def typed(self, code: str) -> Reply | None:
        """What a code means; capitals do not matter."""
        low = code.casefold()
        if low in self.codes:
            return Reply(Do.LABEL, self.classes[self.codes.index(low)])
        return Reply(KEYS[low]) if low in KEYS else None

    def line(self, text: str) -> Reply | None:
        """What a line means: a class by its name or its key, a command by its word, `+ a note`.

        >>> keys = ClassKeys.of(["ham", "spam"])
        >>> [keys.line(x) for x in ("Spam", "h", "+ so funny", "eggs")]
        [Reply(do=<Do.LABEL: 'label'>, text='spam'), Reply(do=<Do.LABEL: 'label'>, text='ham'), \
Reply(do=<Do.NOTE: 'note'>, text='so funny'), None]
        """
        word = text.strip()
        if word in self.classes:
            return Reply(Do.LABEL, word)
        same = [name for name in self.classes if name.casefold() == word.casefold()]
        if len(same) == 1:
            return Reply(Do.LABEL, same[0])
        if word.startswith("+"):
            return Reply(Do.NOTE, word[1:].strip())
        if word.casefold() in set(Do) - {Do.LABEL, Do.NOTE}:
            return Reply(Do(word.casefold()))
        return self._number(word) if word.isdecimal() else self.typed(word)

    def _number(self, word: str) -> Reply | None:
        """The class that a number means: by its key or by the number in its name; None where these are two."""
        wanted = int(word)
        meant = {
            name
            for name, code in zip(self.classes, self.codes, strict=True)
            if [wanted] in (_numbers_in(code), _numbers_in(name))
        }
        return Reply(Do.LABEL, meant.pop()) if len(meant) == 1 else None


def _letters(names: Sequence[str]) -> tuple[str, ...]:
    """The first free letter of each name, a name that is a key itself first; none where letters do not tell them apart."""
    free, codes = list(_LETTERS + _DIGITS), dict[str, str]()
    own = [name for name in names if name in free]
    rest = {
        name: [c for c in name.casefold() if c in _LETTERS] for name in names if name not in own
    }
    if len({"".join(letters) for letters in rest.values()}) < len(rest):
        return ()
    for name in own:
        codes[name] = name
        free.remove(name)
    for name, letters in rest.items():
        code = next((letter for letter in letters if letter in free), None)
        if code is None:
            return ()
        codes[name] = code
        free.remove(code)
    return tuple(codes[name] for name in names)


def _numbers(names: Sequence[str]) -> tuple[int, ...]:
    """The number in each name, where each has one and they are small and differ; else none."""
    found = [_numbers_in(name) for name in names]
    numbers = tuple(some[0] for some in found if len(some) == 1)
    most = 10 ** max(2, len(str(len(names))))
    same = len(set(numbers)) < len(names)
    return () if same or max(numbers) >= most else numbers


def _numbers_in(name: str) -> list[int]:
    return [int(digits) for digits in re.findall("[0-9]+", name)]


def _padded(numbers: Sequence[int]) -> tuple[str, ...]:
    width = len(str(max(numbers)))
    return tuple(f"{number:0{width}}" for number in numbers)


@dataclass(frozen=True)
class Keyboard:
    """Single keys of a terminal; between two reads the terminal is as it was."""

    handle: int

    def read(self, keys: ClassKeys) -> Reply | None:
        """The next reply; None: a key without a meaning."""
        first = self.key()
        if keys.width == 1 or first not in _DIGITS:
            return keys.typed(first) if first else None
        code = first
        while len(code) < keys.width:
            key = self.key()
            if not key or key not in _DIGITS:
                return None
            code += key
        return keys.typed(code)

    def key(self) -> str:
        """One key; nothing for arrows and other keys that send several bytes."""
        import termios
        import tty

        before = termios.tcgetattr(self.handle)
        tty.setcbreak(self.handle, termios.TCSADRAIN)
        try:
            return self._key()
        finally:
            termios.tcsetattr(self.handle, termios.TCSADRAIN, before)

    def _key(self) -> str:
        # Ctrl-C ends the waiting; a read would go on after signals that polars handles.
        select.select([self.handle], [], [])
        first = os.read(self.handle, 1)
        if not first:
            return "\x04"  # the terminal is gone
        if first == b"\x1b":
            while select.select([self.handle], [], [], 0.02)[0]:
                os.read(self.handle, 64)
            return ""
        more = max(bin(first[0])[2:].zfill(8).find("0") - 1, 0)  # bytes of a UTF-8 character
        return (first + b"".join(os.read(self.handle, 1) for _ in range(more))).decode(
            errors="replace"
        )

    def forget(self) -> None:
        """Drop what was typed while there was no document to answer."""
        import termios

        termios.tcflush(self.handle, termios.TCIFLUSH)

    def note(self) -> str:
        """A line of text."""
        try:
            return input("note: ")
        except EOFError:
            return ""


@dataclass
class Lines:
    """Answers from a pipe or a file, one a line; blank lines do not count."""

    stream: TextIO
    number: int = 0  # of the last line read

    def read(self, keys: ClassKeys) -> Reply:
        """The next reply; the end means quit. A line that is not an answer stops: later ones would hit wrong documents."""
        while line := self._line():
            self.number += 1
            if not line.strip():
                continue
            reply = keys.line(line)
            if reply is None:
                words = [*keys.classes, *(str(do) for do in Do if do not in (Do.LABEL, Do.NOTE))]
                raise InputError(
                    f"answer in line {self.number}: {line.strip()!r} is not a class: "
                    f"{did_you_mean(line.strip(), words, 'there are')} (all answers before it are saved)"
                )
            return reply
        return Reply(Do.QUIT)

    def _line(self) -> str:
        """The next line; nothing at the end. Read from the bytes, so that `waiting` sees all that is not read yet."""
        raw = getattr(self.stream, "buffer", None)
        if raw is None:
            return self.stream.readline()
        line: bytes = raw.readline()
        return line.decode(self.stream.encoding or "utf-8", "replace")

    def waiting(self) -> bool:
        """Whether more input is there already, so that nobody has to wait for it; of a terminal, always."""
        raw: Any = getattr(self.stream, "buffer", None)
        if not hasattr(raw, "peek") or self.stream.isatty():
            return True
        handle = self.stream.fileno()
        try:
            os.set_blocking(handle, False)
        except OSError:
            return True
        try:
            return bool(raw.peek(1))
        finally:
            os.set_blocking(handle, True)


@dataclass
class Conversation:
    """The state of the screen; the answers are in the session, and on disk."""

    task: LabellingTask
    session: Session
    reader: Keyboard | Lines
    view: View
    remark: Callable[[str], None]
    note: str = ""  # for the next answer
    page: int | None = 0  # of the document, to be shown next; None: it is on the screen
    on_screen: int = 0  # the page that was shown last
    further: int | None = None  # the page after the one on the screen; None: that was all
    unchanged: bool = True  # the project on disk
    keys: ClassKeys = field(init=False)
    list_classes: bool = field(init=False)  # before the next document

    def __post_init__(self) -> None:
        self.keys = ClassKeys.of(self.task.project.classes)
        self.list_classes = len(self.keys.classes) > MANY_CLASSES

    def run(self) -> Session:
        """Ask until no question is left or the person quits; the last answer can be undone like the others."""
        self._forget()
        while (question := self.session.question) is not None or self._undoes_last():
            if question is None:
                continue
            self._show(question)
            reply = self._read()
            if reply is not None and reply.do is Do.QUIT:
                break
            self._follow(reply, question)
        return self.session

    def _undoes_last(self) -> bool:
        """Whether the person takes the last answer back, after which nothing is left to ask."""
        if not self.session.given:
            return False
        keys = isinstance(self.reader, Keyboard)
        if isinstance(self.reader, Lines) and not self.reader.waiting():
            return False  # whoever holds the other end of a pipe may never close it
        how = "< undoes it, any other key ends" if keys else "undo takes it back"
        self.view.say(f"that was the last document: {how}")
        reply = self._read()
        if reply is None or reply.do is not Do.UNDO:
            if not keys and reply is not None and reply.do is not Do.QUIT:
                self.remark(
                    "there are more answers than documents: those after the last one are not used"
                )
            return False
        self._undo()
        return True

    def _read(self) -> Reply | None:
        """The next reply, after everything is shown: whoever sends answers by a pipe may wait for it."""
        self.view.stream.flush()
        return self.reader.read(self.keys)

    def _show(self, question: Question) -> None:
        if self.page is None:
            return
        if self.list_classes:
            self.view.classes(self.keys)  # before the text, which would else scroll away
        self.list_classes = False
        head = f"{len(self.session.given) + 1} of {len(self.session.questions)}, id {question.id}"
        below = len(self.view.key_lines(self.keys))
        more = self.view.document(self.task.shown(question.row), head, self.page, below)
        self.view.keys(self.keys)
        self.on_screen, self.further, self.page = self.page, self.page + 1 if more else None, None

    def _follow(self, reply: Reply | None, question: Question) -> None:
        match None if reply is None else reply.do:
            case None:
                self.view.say("no such key: press one of these")
                self.view.keys(self.keys)
            case Do.KEYS:
                self.list_classes, self.page = True, self.on_screen
            case Do.MORE:
                self.page = self.further
                if self.page is None:
                    self.view.say("this is the end of the text")
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
            self.view.say("there is no answer to undo")
            return
        last = self.session.given[-1]
        self.session, self.page, self.note = self.session.undo(), 0, ""
        self.view.say(f"undone: {last.label} for {last.id}")

    def _answer(self, reply: Reply, question: Question) -> None:
        self._check_disk()
        label = {Do.SKIP: SKIPPED, Do.CANNOT_TELL: CANNOT_TELL}.get(reply.do, reply.text)
        before = self.session.file.standing().get(written_id(question.id), ())
        self.session = self.session.answer(label, self.note)
        self.page, self.note = 0, ""
        said = ", ".join(f"{answer.by or 'unnamed'} {answer.label}" for answer in before)
        line = vote_line(self.task.shown(question.row), label, self._model(question.row))
        self.view.say(f"{line}; before: {said}" if question.again else line)
        fifth = reply.do is Do.LABEL and self.session.labels % _SENTENCE_EVERY == 0
        if fifth and self.session.question is not None:  # at the end the command tells it
            self._tell()

    def _check_disk(self) -> None:
        """Stop where answers would mean something else than before; say when less has changed."""
        given = self.session.given
        try:
            same = self.task.on_disk.check(self.task.project.classes)  # each time: it may get worse
        except InputError as error:
            path = self.session.file.path
            kept = f"{plural(len(given), 'answer')} kept in" if path.exists() else "there is no"
            raise InputError(f"{error.message} ({kept} {path})", where=error.where) from None
        if self.unchanged and not same:
            self.unchanged = False
            self.remark("the rules have changed on disk: votes are still those of the start")
        if given and not self.session.file.path.exists():
            gone = f"{self.session.file.path} is gone"
            self.remark(
                f"{gone}: the {plural(len(given), 'answer')} of this session are written again"
            )

    def _tell(self) -> None:
        """What the labels so far tell, and what they would change."""
        found = self.task.balance(self.session.file)
        if found is not None and found.narrow:
            self.view.say(found.sentence())
        if self.task.quick:
            changed = self.task.changed(self.session.file)
            self.view.say(change_line(changed or 0, len(self.task.corpus)))
            self._forget()  # a fit takes seconds, and the next document is not on the screen

    def _forget(self) -> None:
        """A key that was pressed before a document was there is no answer to it."""
        if isinstance(self.reader, Keyboard):
            self.reader.forget()

    def _model(self, row: int) -> str:
        """The model's prediction for a document."""
        if self.task.proba is None:
            return ""
        proba = self.task.proba[row]
        return f"model: {self.task.project.classes[int(proba.argmax())]} {proba.max():.0%}"


def change_line(changed: int, documents: int) -> str:
    """How many predictions would be others after a fit.

    >>> change_line(12, 1500)
    'a fit with these labels would change 12 of 1,500 predictions'
    """
    return f"a fit with these labels would change {changed:,} of {plural(documents, 'prediction')}"


def vote_line(shown: ShownDocument, label: str, model: str) -> str:
    """After an answer: the answer, the votes and the model's prediction."""
    votes = ", ".join(f"{vote.label} ({vote.source})" for vote in shown.votes) or "none"
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

    def document(self, shown: ShownDocument, head: str, page: int = 0, below: int = 3) -> bool:
        """A document from its `page`-th screen on, with `below` lines after it; whether there is more of it."""
        screen = console(self.stream)
        if not page:
            screen.rule(self._plain(head), align="left", characters="-", style="none")
        lines = self._text(shown).wrap(screen, max(screen.width, 1))
        most = len(lines)
        if self.stream.isatty():
            most = max(screen.height - _LINES_AROUND - below, _LEAST_LINES)
        for line in lines[page * most : (page + 1) * most]:
            screen.print(line, soft_wrap=True, highlight=False)
        left = len(lines) - (page + 1) * most
        if left > 0:
            self.say(f"... {left:,} more lines: > shows them")
        return left > 0

    def classes(self, keys: ClassKeys) -> None:
        """All classes with their keys."""
        for line in self._packed(zip(keys.codes, keys.classes, strict=True)):
            self.say(line)

    def keys(self, keys: ClassKeys) -> None:
        """What can be typed."""
        for line in self.key_lines(keys):
            self.say(line)

    def key_lines(self, keys: ClassKeys) -> list[str]:
        """The same as lines of this screen's width; many classes are not named."""
        many = len(keys.classes) > MANY_CLASSES
        pairs = zip(keys.codes, keys.classes, strict=True)
        return self._packed(
            [*([("=", f"{len(keys.classes)} classes")] if many else pairs), *_COMMANDS]
        )

    def _packed(self, pairs: Iterable[tuple[str, str]]) -> list[str]:
        items = [harmless(f"[{key}] {name}") for key, name in pairs]
        return packed(items, console(self.stream).width)

    def say(self, text: str) -> None:
        """Lines of text, wrapped between words."""
        console(self.stream).print(self._plain(text), highlight=False)

    def _plain(self, text: str) -> Text:
        from rich.text import Text

        return Text(harmless(text))

    def _text(self, shown: ShownDocument) -> Text:
        """The text, matches marked by colour, or by brackets where there is none."""
        from rich.text import Text

        text = Text()
        for piece, match in shown.pieces():
            marked = f"[{harmless(piece)}]" if match and not self.coloured else harmless(piece)
            text.append(marked, "reverse" if match and self.coloured else "")
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

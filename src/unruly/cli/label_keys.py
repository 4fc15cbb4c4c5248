"""Keys and lines that answer a question: which key stands for which class, and what a person typed.

On a terminal one key is enough; where there are more classes than keys, numbers of equal length. From a pipe, one
answer a line: a class, its key, or a word.
"""

from __future__ import annotations

import os
import select
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TextIO

from unruly.errors import InputError
from unruly.wording import did_you_mean

_POOL = "abcdefghijklmnoprstuvwxyz0123456789"  # without q
_DIGITS = "1234567890"


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
        """A letter of the name where one is free, else a digit, else any key; numbers for very many classes.

        >>> ClassKeys.of(["ham", "spam", "scam", "spim", "5"]).codes
        ('h', 's', 'c', 'p', '5')
        >>> ClassKeys.of([f"intent {i}" for i in range(77)]).codes[:3]
        ('01', '02', '03')
        """
        if len(classes) > len(_POOL):
            width = len(str(len(classes)))
            return cls(tuple(classes), tuple(f"{i + 1:0{width}}" for i in range(len(classes))))
        free, codes = list(_POOL), dict[str, str]()
        own = [name for name in classes if name in free]
        for name in [*own, *(name for name in classes if name not in own)]:
            wanted = [*name.casefold(), *_DIGITS, *_POOL]
            codes[name] = next(key for key in wanted if key in free)
            free.remove(codes[name])
        return cls(tuple(classes), tuple(codes[name] for name in classes))

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
        return self.typed(word)


@dataclass(frozen=True)
class Keyboard:
    """Single keys of a terminal; between two reads the terminal is as it was."""

    handle: int

    def read(self, keys: ClassKeys) -> Reply | None:
        """The next reply; None: a key that means nothing."""
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
        select.select(
            [self.handle], [], []
        )  # ends by Ctrl-C; a read goes on after signals that polars handles
        first = os.read(self.handle, 1)
        if not first:
            return "\x04"  # the terminal is gone
        if first == b"\x1b":
            while select.select([self.handle], [], [], 0.02)[0]:
                os.read(self.handle, 64)
            return ""
        more = max(bin(first[0])[2:].zfill(8).find("0") - 1, 0)  # of a sign in UTF-8
        return (first + b"".join(os.read(self.handle, 1) for _ in range(more))).decode(
            errors="replace"
        )

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
        """The next reply; the end means quit, and what is no answer is refused: those after it would be amiss."""
        for line in self.stream:
            self.number += 1
            if not line.strip():
                continue
            reply = keys.line(line)
            if reply is None:
                words = [*keys.classes, *(str(do) for do in Do if do not in (Do.LABEL, Do.NOTE))]
                raise InputError(
                    f"answer in line {self.number}: {line.strip()!r} is no class: "
                    f"{did_you_mean(line.strip(), words, 'there are')} All answers before it are kept"
                )
            return reply
        return Reply(Do.QUIT)

r"""The size and the words of a regular expression, read before any engine compiles it.

The size is the number of parts (characters, classes, marks) with every repetition written out: `(a{1,500}){1,50}b`
has 17 characters and 25,001 parts. Compiling takes memory in proportion to the size, matching takes time up to size ×
length of the text. A large class such as `\w` takes the linear engine as long to compile as fifty letters.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Literal

import polars as pl

from unruly.errors import PatternSizeError, RuleError

Engine = Literal["linear", "python"]
LARGEST = 10_000  # parts of a pattern, repetitions written out
MOST_TOGETHER = 500_000  # parts of all patterns of a project or a model
_WIDE = 50  # parts that a large class such as \w counts for
_LONGEST = 20_000  # characters of a pattern as it is written
_MOST_STRINGS = 2_000  # alternatives that are followed
_UNKNOWN = "\x00"  # in place of letters that are not known, as in \w+
_LONGEST_CLASS = 300  # characters in brackets
_HUGE = 10**12

_COUNTED = re.compile(r"\{(\d*)(,?)(\d*)\}")
_GROUP = re.compile(
    r"\?(?:#[^)]*\)|P?<\w+>|'\w+'|(?P<look><?[=!])|[>|]|(?P<flags>[\w-]*\))|[\w-]*:|P=\w+\)|P>\w+\))"
)
_ESCAPE = re.compile(
    r"\\(?:[xuUpPNkgL]\{[^}]{0,80}\}|[gkL]<[^>]{0,80}>|x\w\w|u\w{4}|[pP]\w|.)", re.DOTALL
)
_WIDE_CLASS = re.compile(r"\\[wWpP]")
_FLAT_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_COMMENT = re.compile(r"(?<!\\)#.*")
# Lower-case letters that are yet the same as another (ς and σ, ſ and s), and the one that becomes two (İ).
_BEYOND_LOWER_CASE = {
    "i\u0307": "\u0130",
    **dict(
        zip(
            "\u00b5\u017f\u0345\u03c2\u03d0\u03d1\u03d5\u03d6\u03f0\u03f1\u03f5"
            "\u1c80\u1c81\u1c82\u1c83\u1c84\u1c85\u1c86\u1c87\u1c88\u1e9b\u1fbe",
            "\u03bcs\u03b9\u03c3\u03b2\u03b8\u03c6\u03c0\u03ba\u03c1\u03b5"
            "\u0432\u0434\u043e\u0441\u0442\u0442\u044a\u0463\ua64b\u1e61\u03b9",
            strict=True,
        )
    ),
}

_BECOME_SUCH = ("\u0130", "\u03a3")  # in lower case: İ, and Σ at the end of a word


@dataclass(frozen=True)
class Expression:
    """A pattern's size, and the words that its matches contain, as far as known."""

    size: int
    words: tuple[str, ...]
    classes: int = 0  # such as \w, repetitions written out: they are large for the linear engine

    @property
    def weight(self) -> int:
        """The work of compiling it, in parts."""
        return self.size + _WIDE * self.classes


class Allowance:
    r"""The total size that the patterns of a project or a model may have; all its rules share the count.

    >>> allowance = Allowance(120)
    >>> allowance.spend(Expression(20, (), classes=2))
    >>> allowance.spend(Expression(1, ()))
    Traceback (most recent call last):
    ...
    unruly.errors.RuleError: the patterns of all rules together are too large: at most 120 parts are allowed, repetitions written out and \w counted as 50: make the numbers in {} smaller, or use keywords
    """

    def __init__(self, most: int = MOST_TOGETHER) -> None:
        self._most = self._left = most

    def spend(self, expression: Expression) -> None:
        """Count a pattern; refuses the one that is too much."""
        self._left -= expression.weight
        if self._left < 0:
            raise RuleError(
                f"the patterns of all rules together are too large: at most {self._most:,} parts are allowed, "
                f"repetitions written out and \\w counted as {_WIDE}: make the numbers in {{}} smaller, or use keywords"
            )


@dataclass
class _Level:
    """An open group: its alternatives so far, and the sequence that is being read."""

    look: bool = False
    size: int = 0  # without the last item
    before: tuple[str, ...] = ()  # alternatives that are complete
    strings: tuple[str, ...] = ("",)  # the sequence, without its last item
    last: tuple[str, ...] = ("",)
    last_size: int = 0
    classes: int = 0  # large ones, without the last item
    last_classes: int = 0

    def add(self, strings: tuple[str, ...], size: int = 1, classes: int = 0) -> None:
        self.strings = _joined(self.strings, self.last)
        self.size = min(self.size + self.last_size, _HUGE)
        self.classes = min(self.classes + self.last_classes, _HUGE)
        self.last, self.last_size, self.last_classes = strings, size, classes

    def close(self) -> tuple[tuple[str, ...], int, int]:
        self.add((), 0)
        return _either(self.before, self.strings), max(self.size, 1), self.classes


def read_expression(pattern: str, engine: Engine = "linear") -> Expression:
    r"""A pattern's size and words; never fails, also on what is not a regular expression.

    >>> read_expression(r"(a{1,500}){1,50}b").size
    25001
    >>> read_expression(r"(?i)\bsub(scribe)?\b|check\s+.*out|w\d+").words
    ('sub', 'subscribe', 'check', 'out')
    """
    readings = [pattern]
    if "(?" in pattern and "x" in pattern and "#" in pattern:
        readings.append(_COMMENT.sub("", pattern))  # as flag x reads it
    nested = (True, False) if engine == "python" else (True,)
    found = [_read(reading, nest) for reading in readings for nest in nested]
    largest = max(found, key=lambda expression: expression.size)
    classes = max(expression.classes for expression in found)
    return Expression(largest.size, found[0].words, classes)


@functools.lru_cache(maxsize=512)
def checked(pattern: str, engine: Engine = "linear") -> Expression:
    """The size and words of a pattern; refuses one that is too large to be compiled.

    >>> checked("(((a{99}){99}){99}){99}", "python")
    Traceback (most recent call last):
    ...
    unruly.errors.PatternSizeError: the pattern '(((a{99}){99}){99}){99}' is too large: its repetitions written out, it has 96059601 parts, and at most 10000 are allowed: make the numbers in {} smaller
    """
    shown = short(pattern)
    if len(pattern) > _LONGEST:
        raise PatternSizeError(
            f"the pattern {shown!r} is too large: it has {len(pattern)} characters, and at most "
            f"{_LONGEST} are allowed: use keywords, or several rules"
        )
    expression = read_expression(pattern, engine)
    size = expression.size
    counted = size - len(pattern)
    if counted > LARGEST:
        raise PatternSizeError(
            f"the pattern {shown!r} is too large: its repetitions written out, it has {size} parts, "
            f"and at most {LARGEST} are allowed: make the numbers in {{}} smaller"
        )
    return expression


def short(pattern: str) -> str:
    """A pattern as messages show it."""
    return pattern if len(pattern) <= 60 else pattern[:57] + "..."


def words_of(strings: Iterable[str]) -> tuple[str, ...]:
    """The words and phrases in lower case, each once, single spaces between the words of a phrase."""
    folded = (" ".join(text.lower().split()) for text in strings)
    return tuple(dict.fromkeys(text for text in folded if text))


def _read(pattern: str, nested: bool) -> Expression:
    levels = [_Level()]
    at, last_bracket = 0, pattern.rfind("]")
    while at < len(pattern):
        char, level = pattern[at], levels[-1]
        if char == "\\":
            escape = _ESCAPE.match(pattern, at)
            text = escape[0] if escape else char
            level.add((_escaped(text),), 1, bool(_WIDE_CLASS.match(text)))
            at += len(text)
        elif char == "[":
            text = _class(pattern, at, nested) if at < last_bracket else char
            level.add(_letters(text), 1, bool(_WIDE_CLASS.search(text)))
            at += len(text)
        elif char == "(":
            group = _GROUP.match(pattern, at + 1)
            at = group.end() if group else at + 1
            if group and group[0].endswith(")"):
                continue  # flags, a comment, a reference: no group
            levels.append(_Level(look=bool(group and group["look"])))
        elif char == ")":
            at += 1
            if len(levels) > 1:
                strings, size, classes = levels.pop().close()
                levels[-1].add(("",) if level.look else strings, size, classes)
        elif char == "|":
            level.add((), 0)
            level.before, level.strings = _either(level.before, level.strings), ("",)
            level.last, level.last_size, level.last_classes = ("",), 0, 0
            at += 1
        else:
            at = _repeated_or_literal(pattern, at, level)
    while len(levels) > 1:
        strings, size, classes = levels.pop().close()
        levels[-1].add(strings, size, classes)
    strings, size, classes = levels[0].close()
    words = (word for text in strings for word in re.findall(r"[\w\x00]+", text))
    known = [w for w in words if _UNKNOWN not in w and len(w) > 1 and not w.isdigit()]
    return Expression(size, words_of(known), classes)


def _repeated_or_literal(pattern: str, at: int, level: _Level) -> int:
    """Read one repetition mark or one character; returns the position behind it."""
    char = pattern[at]
    counted = _COUNTED.match(pattern, at) if char == "{" else None
    if counted and (counted[1] or counted[3]):
        low = int(counted[1][:13] or 0)
        high = int(counted[3][:13]) if counted[3] else low + bool(counted[2])
        _repeat(level, low, high if counted[3] or not counted[2] else None)
        times = max(low, high, 1)
        level.last_size = min(level.last_size * times, _HUGE)
        level.last_classes = min(level.last_classes * times, _HUGE)
        return counted.end()
    if char in "*+?":
        _repeat(level, int(char == "+"), 1 if char == "?" else None)
        level.last_size += 1
    elif char in "^$":
        level.add(("",))
    else:
        level.add((" " if char == "." else char,))
    return at + 1


def _repeat(level: _Level, low: int, high: int | None) -> None:
    if all(text.isspace() or not text for text in level.last):
        return  # spaces, however many
    if high is not None and low <= 1 and high <= 1:
        level.last = level.last if low else ("", *level.last)
    else:
        level.last = (_UNKNOWN,)


def _either(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    return left + right if len(left) + len(right) <= _MOST_STRINGS else (_UNKNOWN,)


def _joined(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    if not right:
        return left
    if len(left) * len(right) > _MOST_STRINGS:
        return (_UNKNOWN,)
    return tuple(a + b for a in left for b in right)


def _escaped(text: str) -> str:
    letter = text[1:2]
    if letter in set("bBAzZGK<>"):
        return ""
    if letter in set("sWnrtfv"):
        return " "
    return _UNKNOWN if letter.isalnum() else letter


def _class(pattern: str, at: int, nested: bool) -> str:
    """A class in brackets; within it, brackets open further classes in the linear engine."""
    if not nested:
        flat = _FLAT_CLASS.match(pattern, at)
        return flat[0] if flat else pattern[at]
    depth, place = 0, at
    while place < min(len(pattern), at + _LONGEST_CLASS):
        char = pattern[place]
        if char == "\\":
            place += 1
        elif char == "[":
            depth += 1
            place += pattern.startswith("^", place + 1)
            place += pattern.startswith("]", place + 1)
        elif char == "]":
            depth -= 1
            if not depth:
                return pattern[at : place + 1]
        place += 1
    return pattern[at]


def _letters(text: str) -> tuple[str, ...]:
    inside = text[1:-1]
    if 0 < len(inside) <= 6 and not set(inside) & set("^-\\[]&~"):
        return tuple(inside)
    return (_UNKNOWN,)


_PRIVATE = range(0xE000, 0xF8FF)  # code points without a meaning of their own


def find_all_spans(texts: Sequence[str], pattern: str) -> list[tuple[tuple[int, int], ...]]:
    r"""Character ranges of every match of the linear engine, from left to right, in each text.

    polars gives no positions: each match is wrapped in two characters that do not occur in the texts.

    >>> find_all_spans(["Straße, STRASSE"], r"(?i)\bstra\w+")
    [((0, 6), (8, 15))]
    """
    left, right, replacement = mark_spans("".join(texts))
    marked = pl.Series(texts, dtype=pl.String).str.replace_all(pattern, replacement)
    return [spans_between(text, left, right) for text in marked]


def mark_spans(text: str) -> tuple[str, str, str]:
    """Two characters that do not occur in the text, and the replacement that puts a match between them."""
    used = set(text)
    left, right = islice((chr(c) for c in _PRIVATE if chr(c) not in used), 2)
    return left, right, f"{left}${{0}}{right}"


def spans_between(marked: str, left: str, right: str) -> tuple[tuple[int, int], ...]:
    """The character ranges between the marks, in the text without them."""
    before, *rest = marked.split(left)
    spans: list[tuple[int, int]] = []
    position = len(before)
    for part in rest:
        inside, _, after = part.partition(right)
        spans.append((position, position + len(inside)))
        position += len(inside) + len(after)
    return tuple(spans)


def sorted_spans(spans: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Spans in order, each once."""
    return tuple(sorted(set(spans)))


IN_WORD, SPACE, OTHER = "w", " ", "."  # what a character is, in `SearchedTexts.signs`


@dataclass(frozen=True, eq=False)
class SearchedTexts:
    """Texts in which many rules look for words; what all of them need is computed once.

    >>> SearchedTexts(("Wo? Da",)).signs
    ('ww. ww',)
    """

    texts: Sequence[str]

    @cached_property
    def folded(self) -> tuple[str, ...]:
        """The texts with case folded."""
        return tuple(self._made(folded(pl.col("text"))))

    @cached_property
    def signs(self) -> tuple[str, ...]:
        """For each character of `folded` a sign: `IN_WORD`, `SPACE` or `OTHER`."""
        made = folded(pl.col("text"))
        for kind, sign in ((r"[^\w\s]", OTHER), (r"\w", IN_WORD), (r"\s", SPACE)):
            made = made.str.replace_all(kind, sign)
        return tuple(self._made(made))

    def _made(self, expression: pl.Expr) -> pl.Series:
        texts = pl.DataFrame({"text": list(self.texts)}, schema={"text": pl.String})
        return texts.select(expression).to_series()


def folded(text: pl.Expr) -> pl.Expr:
    """Case folded as the regular expressions do it; to look for the letters beyond lower case first is faster."""
    lower, rest = text.str.to_lowercase(), _BEYOND_LOWER_CASE
    beyond = text.str.contains("|".join((*rest, *_BECOME_SUCH)))
    few = pl.when(beyond).then(lower).otherwise(pl.lit(""))
    return (
        pl.when(beyond).then(few.str.replace_many(list(rest), list(rest.values()))).otherwise(lower)
    )

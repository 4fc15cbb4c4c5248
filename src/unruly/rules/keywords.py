"""`keywords` and `sequence`: words in the text.

Keywords are words and phrases that occur (the paper's HAS); a sequence is a word of one list, then, not far behind, a
word of another (the paper's PRE…EXP).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from unruly.errors import PatternSizeError, RuleError
from unruly.rules.condition import (
    TEXT,
    Condition,
    Needs,
    Place,
    Plain,
    Row,
    Span,
    Table,
    as_tuple,
)
from unruly.rules.pattern import LinearPattern, check_linear
from unruly.rules.regular_expressions import (
    IN_WORD,
    SPACE,
    SearchedTexts,
    checked,
    find_all_spans,
    folded,
    sorted_spans,
    words_of,
)
from unruly.rules.source import class_number
from unruly.rules.timeouts import SECONDS, Countdown
from unruly.wording import near_file

Match = Literal["word", "substring"]
Negated = Literal["flip", "block"]
_SEQUENCE = (
    "first", "then", "within_words", "within_chars", "negators", "negators_within", "negated",
)  # fmt: skip
_MOST_TOGETHER = 300  # words in one expression: beyond this `contains_any_word` is faster


@dataclass(frozen=True)
class Keywords(Condition):
    """Any of these words or phrases occurs, whatever its case.

    Whole words by default: a keyword's edge must be the edge of a word, where the keyword begins or
    ends with a letter or digit. Spaces within a phrase match any white space.

    >>> from unruly.rules.condition import spans_of
    >>> rule = Keywords(("subscribe", "check out"))
    >>> texts = pl.DataFrame({TEXT: ["SUBSCRIBE!", "unsubscribed", "check\\n out this"]})
    >>> texts.select(rule.mask()).to_series().to_list()
    [True, False, True]
    >>> spans_of(rule, {TEXT: "please subscribe"})
    ((7, 16),)
    """

    words: Sequence[str]
    match: Match = "word"
    file: str | None = None  # where the words were read from

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", as_tuple("keywords", self.words))
        if not self.words:
            raise RuleError(
                "the list of keywords is empty: give at least one word, or drop the rule"
            )
        for word in self.words:
            if not isinstance(word, str) or not word.strip():
                raise RuleError(f"a keyword is blank or no text: {word!r}")
        if self.match not in ("word", "substring"):
            raise RuleError(f'match must be "word" or "substring", not {self.match!r}')

    def __repr__(self) -> str:
        more = f", … {len(self.words) - 5} more" if len(self.words) > 5 else ""
        words = ", ".join(repr(word) for word in self.words[:5])
        return f"Keywords([{words}{more}]{', match=' + repr(self.match) if self.match != 'word' else ''})"

    @classmethod
    def from_file(cls, path: str | Path, match: Match = "word") -> Keywords:
        """Keywords from a file, one a line; blank lines and lines that begin with # are passed over."""
        return cls(read_words(Path(path)), match, file=str(path))

    @classmethod
    def from_plain(cls, table: Mapping[str, object], place: Place) -> Keywords:
        """From the keys `keywords` or `keywords_file`, and `match`."""
        match: Match = "word"
        if "match" in table:
            chosen = place.at("match").choice(table["match"], ("word", "substring"))
            match = "substring" if chosen == "substring" else "word"
        if "keywords" in table:
            there = place.at("keywords")
            words, file = there.texts(table["keywords"]), None
        else:
            there = place.at("keywords_file")
            path = there.file(table["keywords_file"])
            words, file = read_words(path), there.text(table["keywords_file"])
        with there.blamed():
            return cls(words, match, file)

    def patterns(self) -> tuple[str, ...]:
        """The regular expressions that find the words, some hundreds of words in each."""
        return _patterns(tuple(self.words), self.match)

    def mask(self) -> pl.Expr:
        return self.on(pl.col(TEXT))

    def on(self, text: pl.Expr) -> pl.Expr:
        """The same test on another text."""
        if len(self.patterns()) > 1:
            return contains_any_word(text, self.words, whole=self.match == "word")
        low, (pattern, longest) = folded(text), _folded_patterns(tuple(self.words), self.match)
        if longest != pattern:
            low = pl.when(~low.str.contains(longest)).then(pl.lit("")).otherwise(low)
        return low.str.contains(pattern)

    def spans(self, row: Row, countdown: Countdown) -> tuple[Span, ...]:
        return self.spans_in(SearchedTexts((str(row[TEXT]),)), [0])[0]

    def spans_in(self, texts: SearchedTexts, rows: Sequence[int]) -> list[tuple[Span, ...]]:
        """The same of several texts."""
        if len(self.words) > _MOST_TOGETHER:
            return self._spans_by_patterns([texts.texts[row] for row in rows])
        needles = _needles(tuple(self.words), self.match)
        return [
            _spans_of(needles, texts.folded[row], texts.signs[row])
            if len(texts.folded[row]) == len(texts.texts[row])  # else places would shift
            else self._spans_by_patterns([texts.texts[row]])[0]
            for row in rows
        ]

    def _spans_by_patterns(self, texts: Sequence[str]) -> list[tuple[Span, ...]]:
        found = [find_all_spans(texts, pattern) for pattern in self.patterns()]
        return [
            sorted_spans([span for each in found for span in each[i]]) for i in range(len(texts))
        ]

    def reads(self) -> tuple[str, ...]:
        return words_of(self.words)

    def reason(self) -> str:
        few, more = self.few
        return f"keywords: {', '.join(few)}{more}"

    @property
    def few(self) -> tuple[tuple[str, ...], str]:
        """The first words, and how many more there are.

        >>> Keywords(["a, b", "c", "d", "e"]).few
        (('a, b', 'c', 'd'), ' and 1 more')
        """
        left = len(self.words) - 3
        return tuple(self.words[:3]), f" and {left} more" if left > 0 else ""

    def to_plain(self) -> Table:
        words: dict[str, Plain] = (
            {"keywords_file": self.file} if self.file else {"keywords": list(self.words)}
        )
        return words if self.match == "word" else {**words, "match": self.match}

    def meaning(self) -> Plain:
        return {"keywords": sorted(set(self.words)), "match": self.match}


def read_words(path: Path) -> tuple[str, ...]:
    """The words in a file, one a line."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        hint = near_file(path) or "check the name and the folder"
        raise RuleError(f"there is no file {path}: {hint}") from None
    except UnicodeDecodeError as error:
        raise RuleError(f"{path}: not UTF-8 (byte {error.start}): save it as UTF-8") from None
    words = tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))
    if not words:
        raise RuleError(f"{path}: there are no keywords in the file: write one a line")
    return words


@functools.lru_cache(maxsize=512)
def _patterns(words: tuple[str, ...], match: Match) -> tuple[str, ...]:
    alternatives = _alternatives(words, match)
    return tuple(
        f"(?i)(?:{'|'.join(alternatives[i : i + _MOST_TOGETHER])})"
        for i in range(0, len(alternatives), _MOST_TOGETHER)
    )


@functools.lru_cache(maxsize=512)
def _folded_patterns(words: tuple[str, ...], match: Match) -> tuple[str, str]:
    """A pattern for texts with case folded, twenty times as fast as ignoring case; and one that each of its texts matches.

    That is the longest part of each phrase, the same where there are none: `i\\s+love` is looked for at every i.
    """
    distinct = _folded_words(words)
    pattern = "|".join(_alternatives(distinct, match))
    if all(len(word.split()) == 1 for word in distinct):
        return pattern, pattern
    parts = sorted({max(word.split(), key=len) for word in distinct})
    return pattern, "|".join(pl.escape_regex(part) for part in parts)


def _folded_words(words: Sequence[str]) -> list[str]:
    return pl.select(folded(pl.lit(pl.Series(words)))).to_series().to_list()


def _alternatives(words: Iterable[str], match: Match) -> list[str]:
    distinct = _longest_first(words)
    return word_patterns(distinct) if match == "word" else [_flexible(w) for w in distinct]


def _longest_first(words: Iterable[str]) -> list[str]:
    """So that the span shown for a phrase is the whole phrase."""
    return sorted({" ".join(word.split()) for word in words}, key=lambda w: (-len(w), w))


@dataclass(frozen=True)
class _Needle:
    """A word or phrase that is looked for in folded texts, without compiling a pattern."""

    parts: tuple[str, ...]  # white space stands between them
    from_edge: bool  # begins at the edge of a word
    to_edge: bool

    def ends(self, text: str, signs: str, start: int) -> int | None:
        """Where the needle ends if it begins at `start`; None if it does not."""
        if self.from_edge and start and signs[start - 1] == IN_WORD:
            return None
        end = start + len(self.parts[0])
        for part in self.parts[1:]:
            gap = end
            while end < len(text) and signs[end] == SPACE:
                end += 1
            if end == gap or not text.startswith(part, end):
                return None
            end += len(part)
        inside = self.to_edge and end < len(text) and signs[end] == IN_WORD
        return None if inside else end


@functools.lru_cache(maxsize=512)
def _needles(words: tuple[str, ...], match: Match) -> tuple[_Needle, ...]:
    distinct = _longest_first(_folded_words(words))
    signs = SearchedTexts(distinct).signs
    whole = match == "word"
    return tuple(
        _Needle(tuple(word.split(" ")), whole and sign[0] == IN_WORD, whole and sign[-1] == IN_WORD)
        for word, sign in zip(distinct, signs, strict=True)
    )


def _spans_of(needles: Sequence[_Needle], text: str, signs: str) -> tuple[Span, ...]:
    """The spans that a pattern of alternatives finds: from left to right, the first needle that fits."""
    found: list[tuple[int, int, int]] = []  # start, the needle's place in the list, end
    for order, needle in enumerate(needles):
        start = text.find(needle.parts[0])
        while start >= 0:
            if (end := needle.ends(text, signs, start)) is not None:
                found.append((start, order, end))
            start = text.find(needle.parts[0], start + 1)
    spans: list[Span] = []
    for start, _, end in sorted(found):
        if not spans or start >= spans[-1][1]:
            spans.append((start, end))
    return tuple(spans)


def word_patterns(words: Iterable[str]) -> list[str]:
    r"""A pattern for each word or phrase, which matches whole words only.

    >>> word_patterns(["check out", "c++"])
    ['\\bcheck\\s+out\\b', '\\bc\\+\\+']
    """
    listed = list(words)
    series = pl.Series(listed, dtype=pl.String)
    starts, ends = series.str.contains(r"^\w"), series.str.contains(r"\w$")
    return [
        (r"\b" if start else "") + _flexible(word) + (r"\b" if end else "")
        for word, start, end in zip(listed, starts, ends, strict=True)
    ]


def _flexible(word: str) -> str:
    return r"\s+".join(pl.escape_regex(part) for part in word.split())


_START, _END = "\x01", "\x02"  # control characters: no text that people write has them


def contains_any_word(text: pl.Expr, words: Sequence[str], whole: bool) -> pl.Expr:
    """Whether one of the words occurs, whatever its case.

    >>> frame = pl.DataFrame({"text": ["Check  OUT!", "check outs", "c++"]})
    >>> frame.select(
    ...     contains_any_word(pl.col("text"), ["check out", "C++"], True)
    ... ).to_series().to_list()
    [True, False, True]
    """
    single = pl.Series([" ".join(word.split()) for word in words])
    keywords = pl.select(prepared(pl.lit(single), whole)).to_series()
    return prepared(text, whole).str.contains_any(keywords.to_list())


def prepared(text: pl.Expr, whole: bool) -> pl.Expr:
    """A text or a keyword with case folded and single spaces; with `whole`, each word between two marks."""
    plain = folded(text).str.replace_all(r"\s+", " ")
    return plain.str.replace_all(r"\w+", f"{_START}${{0}}{_END}") if whole else plain


@dataclass(frozen=True)
class WordSequence(Condition):
    """One of the words `first`, later one of the words `then`; whole words, whatever the case.

    At most `within_words` words or `within_chars` characters may stand between them; with neither,
    any number. Where a negator stands at most `negators_within` words before it, the match is
    blocked, or the vote flips to the other of two classes. The leftmost match in a text decides.

    >>> rule = WordSequence(["would"], ["again"], within_words=4, negators=["never"])
    >>> texts = [
    ...     "I would watch it again",
    ...     "Nobody would. And again",
    ...     "never would I do it again",
    ... ]
    >>> pl.DataFrame({TEXT: texts}).select(rule.mask()).to_series().to_list()
    [True, True, False]
    """

    first: Sequence[str]
    then: Sequence[str]
    within_words: int | None = None
    within_chars: int | None = None
    negators: Sequence[str] = ()
    negators_within: int = 3
    negated: Negated = "block"

    def __post_init__(self) -> None:
        for name in ("first", "then", "negators"):
            words = as_tuple(name, getattr(self, name))
            if name != "negators" and not words:
                raise RuleError(f"the list {name} is empty: give at least one word")
            if any(not isinstance(w, str) or not w.strip() for w in words):
                raise RuleError(f"the list {name} has a blank word, or one that is not a text")
            object.__setattr__(self, name, words)
        if self.within_words is not None and self.within_chars is not None:
            raise RuleError("give within_words or within_chars, not both")
        if self.negated not in ("flip", "block"):
            raise RuleError(f'negated must be "flip" or "block", not {self.negated!r}')
        try:
            check_linear(self._with_negator())
        except PatternSizeError:
            raise RuleError(
                "the sequence is too large: make within_words, within_chars or the lists smaller"
            ) from None

    @classmethod
    def from_plain(cls, table: Mapping[str, object], place: Place) -> WordSequence:
        """From the key `sequence`, a table."""
        here, inner = place.section(table, "sequence", _SEQUENCE, needed=["first", "then"])
        limits = {
            key: here.at(key).count(inner[key])
            for key in ("within_words", "within_chars", "negators_within")
            if key in inner
        }
        chosen = here.at("negated").choice(inner.get("negated", "block"), ("flip", "block"))
        with here.blamed():
            made = cls(
                here.at("first").texts(inner["first"]),
                here.at("then").texts(inner["then"]),
                limits.get("within_words"),
                limits.get("within_chars"),
                here.at("negators").texts(inner.get("negators", ())),
                limits.get("negators_within", 3),
                "flip" if chosen == "flip" else "block",
            )
            for each in made._patterns():
                place.allowance.spend(checked(each.pattern))
        return made

    @property
    def picks(self) -> bool:
        return bool(self.negators) and self.negated == "flip"

    def vote(self, label: str | None, classes: tuple[str, ...]) -> pl.Expr:
        number = class_number(label, classes)
        if len(classes) != 2:
            raise RuleError(
                f'negated = "flip" needs two classes, not {len(classes)}: use "block", '
                "and a rule of its own for the negated words"
            )
        found, turn = self._found().contains(), 1 - 2 * number
        return pl.when(found).then(number + turn * self._negated(found).cast(pl.Int8))

    def needs(self, classes: tuple[str, ...]) -> Needs:
        return Needs(parts=sum(each.size for each in self._patterns()), seconds=SECONDS)

    def _patterns(self) -> tuple[LinearPattern, ...]:
        """All that are looked for."""
        if not self.negators:
            return (self._found(),)
        return self._found(), self._behind_negator(), self._negation()

    def mask(self) -> pl.Expr:
        found = self._found().contains()
        return found & ~self._negated(found) if self.negators else found

    def _negated(self, found: pl.Expr) -> pl.Expr:
        """Whether the leftmost match is behind a negator; groups are slow, so only where any match is."""
        return self._negation().group(self._behind_negator().contains(found))

    def _found(self) -> LinearPattern:
        return LinearPattern(self._pattern())

    def _negation(self) -> LinearPattern:
        return LinearPattern(self._with_negator())

    def _behind_negator(self) -> LinearPattern:
        return LinearPattern(f"(?i){self._negator()}{self._pattern().removeprefix('(?i)')}")

    def _pattern(self) -> str:
        return f"(?i){_one_of(tuple(self.first))}{self._gap()}{_one_of(tuple(self.then))}"

    def _with_negator(self) -> str:
        """The pattern with an optional negator before it: finds whichever comes first in the text."""
        if not self.negators:
            return self._pattern()
        return f"(?i)(?:{self._negator()})?{self._pattern().removeprefix('(?i)')}"

    def _negator(self) -> str:
        return f"({_one_of(tuple(self.negators))}){_words_between(self.negators_within)}"

    def _gap(self) -> str:
        if self.within_words is not None:
            return _words_between(self.within_words)
        return "(?s:.*?)" if self.within_chars is None else f"(?s:.{{0,{self.within_chars}}}?)"

    def spans(self, row: Row, countdown: Countdown) -> tuple[Span, ...]:
        return self._negation().spans(str(row[TEXT]), countdown)

    def spans_in(self, texts: SearchedTexts, rows: Sequence[int]) -> list[tuple[Span, ...]] | None:
        """The same of several texts; None where that may take long."""
        return self._negation().spans_in([texts.texts[row] for row in rows])

    def reads(self) -> tuple[str, ...]:
        return words_of((*self.first, *self.then))

    def reason(self) -> str:
        return f"sequence: {_few(self.first)} … {_few(self.then)}"

    def to_plain(self) -> Table:
        plain: dict[str, Plain] = {"first": list(self.first), "then": list(self.then)}
        if self.within_words is not None:
            plain["within_words"] = self.within_words
        if self.within_chars is not None:
            plain["within_chars"] = self.within_chars
        if self.negators:
            plain["negators"] = list(self.negators)
            plain["negated"] = self.negated
        if self.negators_within != 3:
            plain["negators_within"] = self.negators_within
        return {"sequence": plain}


@functools.lru_cache(maxsize=512)
def _one_of(words: tuple[str, ...]) -> str:
    return f"(?:{'|'.join(word_patterns(_longest_first(words)))})"


def _words_between(most: int) -> str:
    """At most so many words, and the spaces and marks around them."""
    return rf"\W*?(?:[\w'’-]+\W+){{0,{most}}}?"


def _few(words: Sequence[str]) -> str:
    return "/".join(words[:3]) + ("/…" if len(words) > 3 else "")

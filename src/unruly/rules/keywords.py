"""`keywords`: words and phrases that occur in the text (the paper's HAS)."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from unruly.errors import RuleError
from unruly.rules.condition import NOTHING, TEXT, Needs, Place, Plain, Row, Span, Table
from unruly.rules.expressions import find_all_spans, merged, words_of
from unruly.wording import near_file

Match = Literal["word", "substring"]
_MOST_TOGETHER = 300  # words in one expression: beyond this `many_words` is faster


@dataclass(frozen=True)
class Keywords:
    """Any of these words or phrases occurs, whatever its case.

    Whole words by default: a keyword's edge must be the edge of a word, where the keyword begins or
    ends with a letter or digit. Spaces within a phrase match any white space.

    >>> rule = Keywords(("subscribe", "check out"))
    >>> texts = pl.DataFrame({TEXT: ["SUBSCRIBE!", "unsubscribed", "check\\n out this"]})
    >>> texts.select(rule.mask()).to_series().to_list()
    [True, False, True]
    >>> rule.spans({TEXT: "please subscribe"})
    ((7, 16),)
    """

    words: Sequence[str]
    match: Match = "word"
    file: str | None = None  # where the words were read from

    def __post_init__(self) -> None:
        if isinstance(self.words, str):
            raise RuleError(f"keywords must be a list, not one text: write [{self.words!r}]")
        object.__setattr__(self, "words", tuple(self.words))
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
        try:
            return cls(words, match, file)
        except RuleError as error:
            raise there.error(error.message) from None

    def patterns(self) -> tuple[str, ...]:
        """The regular expressions that find the words, some hundreds of words in each."""
        return _patterns(tuple(self.words), self.match)

    def needs(self, classes: tuple[str, ...]) -> Needs:
        return NOTHING

    def mask(self) -> pl.Expr:
        return self.on(pl.col(TEXT))

    def on(self, text: pl.Expr) -> pl.Expr:
        """The same test on another text."""
        if len(self.patterns()) > 1:
            return contains_any_word(text, self.words, whole=self.match == "word")
        return folded(text).str.contains(_folded_pattern(tuple(self.words), self.match))

    def spans(self, row: Row) -> tuple[Span, ...]:
        return self.spans_in([str(row[TEXT])])[0]

    def spans_in(self, texts: Sequence[str]) -> list[tuple[Span, ...]]:
        """The same of several texts."""
        found = [find_all_spans(texts, pattern) for pattern in self.patterns()]
        return [merged([span for each in found for span in each[i]]) for i in range(len(texts))]

    def reads(self) -> tuple[str, ...]:
        return words_of(self.words)

    def reason(self) -> str:
        few = ", ".join(self.words[:3]) + (
            f" and {len(self.words) - 3} more" if len(self.words) > 3 else ""
        )
        return f"keywords: {few}"

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
def _folded_pattern(words: tuple[str, ...], match: Match) -> str:
    """Finds the words in folded texts, twenty times as fast: plain words are searched for many bytes at a time."""
    plain = pl.select(folded(pl.lit(pl.Series(words)))).to_series().to_list()
    return "|".join(_alternatives(plain, match))


def _alternatives(words: Iterable[str], match: Match) -> list[str]:
    # Longest first, so that the span shown for a phrase is the whole phrase.
    distinct = sorted({" ".join(word.split()) for word in words}, key=lambda w: (-len(w), w))
    return word_patterns(distinct) if match == "word" else [_flexible(w) for w in distinct]


def word_patterns(words: Iterable[str]) -> list[str]:
    r"""A pattern for each word or phrase that keeps to the edges of words.

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
    return r"\s+".join(escape(part) for part in word.split())


def escape(text: str) -> str:
    """A text as a pattern that matches it and nothing else."""
    return re.sub(r"([\\.+*?()|\[\]{}^$#&\-~])", r"\\\1", text)


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
    """A text, or a keyword, in which words of any case are plain bytes; of `whole` words, each between two marks."""
    plain = folded(text).str.replace_all(r"\s+", " ")
    return plain.str.replace_all(r"\w+", f"{_START}${{0}}{_END}") if whole else plain


def folded(text: pl.Expr) -> pl.Expr:
    """Letters that differ in case only made one, as the regular expressions see it."""
    rest = _beyond_lower_case()
    return text.str.to_lowercase().str.replace_many(list(rest), list(rest.values()))


@functools.lru_cache(maxsize=1)
def _beyond_lower_case() -> dict[str, str]:
    """Lower-case letters that are yet the same as another (ς and σ, ſ and s), and the one that becomes two (İ)."""
    found = {"i\u0307": "\u0130"}
    for letter in map(chr, range(0x10000)):  # further on, lower case is all there is to it
        simple, lower = letter.casefold(), letter.lower()
        if len(lower) == len(simple) == 1 and simple.lower() != lower:
            found[lower] = simple
    return found

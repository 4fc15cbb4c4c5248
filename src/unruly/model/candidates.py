"""Conditions that a new rule might have: words, phrases, word families, sequences, patterns, fields, lengths.

Candidates are counted in a sample of the documents, as one sparse matrix of which document might match which;
a shortlist of them is matched exactly afterwards (`suggestions`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.rules.condition import TEXT, Condition
from unruly.rules.field import Field
from unruly.rules.keywords import Keywords, WordSequence
from unruly.rules.matching import MatchFrame
from unruly.rules.pattern import Pattern
from unruly.rules.tools import Length
from unruly.texts.columns import gold_column
from unruly.texts.corpus import Corpus

Maker = Callable[[], Condition]
Found = list[tuple[Maker, NDArray[np.intp]]]  # conditions, each with the rows that it matches
_WORD = re.compile(r"(?u)\b[^\W\d_][\w'’]+\b")
# Not words: links, mail addresses, tags and signs of HTML, whole or as careless copying leaves them.
_MARKUP = re.compile(
    r"\S*://\S*|\bwww\.\S*|\S*\w\.(?:com|net|org|info|edu|gov|co\.uk)\b\S*|\S+@\S+\.\S+"
    r"|</?[a-z][^<>]{0,200}>|&#?\w+;|#\d+;|\b(?:quot|amp|lt|gt|nbsp|apos);"
)
MOST_EVERYWHERE = 0.5  # of the documents: a word in more of them tells nothing
STEM = 5  # letters that the words of a family share at least
ENDING = 5  # letters that nearly all words of a family have beyond these at most
ALMOST = 0.9  # of a family's documents in one word, or in a narrower family: that is named instead
SEQUENCE_WORDS = 120  # the words that sequences are made of: those that go most with a class
GAP = 4  # words allowed between the two of a sequence
MOST_VALUES = 30  # of a column, above which its values are not looked at one by one
LENGTHS = (3, 5, 8, 12, 20, 40, 80, 160)  # words
# English words that hold sentences together: alone they say nothing that a person would write as a rule.
GRAMMAR = frozenset((
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "but", "by", "can", "could", "did", "do", "does", "for", "from", "had",
    "has", "have", "if", "in", "into", "is", "it", "its", "just", "more", "of", "on", "or", "out",
    "so", "some", "such", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "to", "too", "very", "was", "were", "what", "when", "which", "who",
    "will", "with", "would",
))  # fmt: skip
# English words that may tell something alone ("my" for advertising), but not with words of grammar around them.
PRONOUNS = frozenset((
    "he", "her", "here", "him", "his", "how", "i'm", "it's", "me", "my", "no", "not", "our", "she", "should",
    "up", "us", "we", "where", "why", "you", "you're", "your",
))  # fmt: skip
# English words that a phrase neither begins nor ends with: without them it says the same.
JOINS = frozenset((
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "for", "from", "had", "has", "have", "if", "in",
    "into", "is", "it", "its", "of", "on", "or", "so", "than", "that", "the", "their", "them", "then", "they", "to",
    "was", "were", "which", "with",
))  # fmt: skip
# What a person would call a shape rather than a word.
SHAPES = {
    "link": r"https?://|www\.|\w\.com\b",
    "email": r"\w@\w+\.\w",
    "mention": r"@\w+",
    "hashtag": r"#\w+",
    "long_number": r"\d{5,}",
    "percent": r"\d+[.,]?\d*\s?%",
    "amount": r"[£$€]\s?\d",
    "time_or_date": r"\b\d{1,2}[:/.]\d{2}\b",
    "exclamations": r"!{2,}",
    "questions": r"\?{2,}",
    "dots": r"\.{3,}|…",
    "capitals": r"\b[A-Z]{4,}\b",
    "smiley": r"[:;]-?[)D(P]",
    "emoji": r"[\u2600-\u27bf\U0001F300-\U0001FAFF]",
}


@dataclass(frozen=True, eq=False)
class Candidates:
    """Conditions, and (n, w) which document of the sample each is thought to match.

    A condition is made when it is asked for: checking thousands of patterns takes seconds.
    """

    makers: tuple[Maker, ...]
    found: Any  # a sparse matrix of 0 and 1 by columns, float64

    def condition(self, w: int) -> Condition:
        """The condition of column w."""
        return self.makers[w]()

    def rows(self, w: int) -> NDArray[np.intp]:
        """The documents of the sample that column w matches."""
        return np.asarray(self.found.indices[self.found.indptr[w] : self.found.indptr[w + 1]])


def find_candidates(corpus: Corpus, posteriors: NDArray[np.floating]) -> Candidates:
    """All candidates that match neither too few nor too many of these documents.

    `posteriors` (n, m) only choose the words that sequences are made of.
    """
    from scipy import sparse

    texts = [_MARKUP.sub(" ", text.lower()) for text in corpus.texts.to_list()]
    least = max(3, len(texts) // 400)
    names, words = _words(texts, least)
    parts: list[tuple[list[Maker], Any]] = []
    if names:
        parts.append(([partial(Keywords, (name,)) for name in names], words))
        parts.append(_columns(_families(texts, least), len(texts)))
        single = [i for i, name in enumerate(names) if " " not in name]
        parts.append(
            _columns(_sequences(texts, names, single, words, posteriors, least), len(texts))
        )
    parts.append(_columns(_others(corpus, least), len(texts)))
    makers = [maker for some, _ in parts for maker in some]
    return Candidates(tuple(makers), sparse.hstack([found for _, found in parts]).tocsc())


def _words(texts: Sequence[str], least: int) -> tuple[list[str], Any]:
    """Words and phrases of two or three, and (n, w) which text holds which."""
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(
        binary=True,
        lowercase=False,
        ngram_range=(1, 3),
        min_df=least,
        max_df=MOST_EVERYWHERE,
        token_pattern=_WORD.pattern,
    )
    try:
        found = counter.fit_transform(texts).astype(np.float64)
    except ValueError:  # no word occurs often enough, or no limit fits so few texts
        return [], None
    names = counter.get_feature_names_out().tolist()
    kept = [i for i, name in enumerate(names) if _tells(name.split())]
    return [names[i] for i in kept], found[:, kept]


def _tells(words: Sequence[str]) -> bool:
    """Whether a word or phrase is more than what holds sentences together.

    >>> [_tells(phrase.split()) for phrase in ("my", "check out", "on my", "the best in", "the")]
    [True, True, False, False, False]
    """
    if len(words) == 1:
        return words[0] not in GRAMMAR
    return not JOINS & {words[0], words[-1]} and not (GRAMMAR | PRONOUNS).issuperset(words)


def _columns(found: Found, n: int) -> tuple[list[Maker], Any]:
    """The makers, and (n, w) what they match."""
    from scipy import sparse

    rows = np.concatenate([rows for _, rows in found]) if found else np.empty(0, np.intp)
    ends = np.cumsum([0, *(len(rows) for _, rows in found)])
    matrix = sparse.csc_matrix((np.ones(len(rows)), rows, ends), shape=(n, len(found)))
    return [maker for maker, _ in found], matrix


def _families(texts: Sequence[str], least: int) -> Found:
    """Words that begin alike, as `subscri…`: all that they share, where no one of them has nearly all documents."""
    holding: dict[str, set[int]] = defaultdict(set)
    for row, text in enumerate(texts):
        for word in set(_WORD.findall(text)):
            if len(word) >= STEM and word.isalpha():
                holding[word].add(row)
    forms: dict[str, list[str]] = defaultdict(list)
    for word in sorted(holding):
        for end in range(STEM, len(word) + 1):
            forms[word[:end]].append(word)
    found: Found = []
    for stem, own in forms.items():
        narrower: dict[str, set[int]] = defaultdict(set)  # by the next letter, "" for the stem
        for word in own:
            narrower[word[len(stem) : len(stem) + 1]] |= holding[word]
        rows = set[int]().union(*narrower.values())
        longer = sum(len(holding[word]) for word in own if len(word) > len(stem) + ENDING)
        if (
            least <= len(rows) <= MOST_EVERYWHERE * len(texts)
            and longer <= (1 - ALMOST) * len(rows)
            and max(map(len, narrower.values())) < ALMOST * len(rows)
        ):
            maker = partial(Pattern, rf"\b{stem}\w*", ignore_case=True)
            found.append((maker, np.array(sorted(rows), np.intp)))
    return found


def _sequences(
    texts: Sequence[str],
    names: Sequence[str],
    single: Sequence[int],
    words: Any,
    posteriors: NDArray[np.floating],
    least: int,
) -> Found:
    """Two words that go with a class, one after the other with a word or more between."""
    counts = np.asarray(words.sum(axis=0)).ravel()[single]
    shares = np.asarray(words[:, single].T @ posteriors) / counts[:, None]
    strength = (np.abs(shares - posteriors.mean(axis=0)).max(axis=1)) * np.sqrt(counts)
    chosen = {names[single[i]] for i in np.argsort(-strength, kind="stable")[:SEQUENCE_WORDS]}
    holding: dict[tuple[str, str], set[int]] = defaultdict(set)
    for row, text in enumerate(texts):
        tokens = _WORD.findall(text)
        places = [i for i, word in enumerate(tokens) if word in chosen]
        for a, i in enumerate(places):
            for j in places[a + 1 :]:
                if j - i > GAP + 1:
                    break
                if j > i + 1 and tokens[i] != tokens[j]:
                    holding[tokens[i], tokens[j]].add(row)
    found: Found = []
    for (first, then), rows in holding.items():
        if len(rows) >= least:
            maker = partial(WordSequence, [first], [then], within_words=GAP)
            found.append((maker, np.array(sorted(rows), np.intp)))
    return found


def _others(corpus: Corpus, least: int) -> Found:
    """Shapes, lengths, and the values of other columns, matched as rules would."""
    frame = MatchFrame.of(corpus).frame
    shapes = [Pattern(shape) for shape in SHAPES.values()]
    tests: list[tuple[Condition, pl.Expr]] = [(one, one.on(pl.col(TEXT))) for one in shapes]
    for words in LENGTHS:
        tests += [(one, one.mask()) for one in (Length(max_words=words), Length(min_words=words))]
    for name in corpus.columns.columns:
        if name != likely_gold(corpus):
            tests += [(one, one.mask()) for one in _values(corpus.columns[name])]
    found: Found = []
    for condition, test in tests:
        rows = np.flatnonzero(frame.select(test.fill_null(value=False)).to_series().to_numpy())
        if least <= len(rows) <= MOST_EVERYWHERE * len(corpus):
            found.append((partial(_same, condition), rows))
    return found


def likely_gold(corpus: Corpus) -> str | None:
    """The column that other commands take for gold by its name, where nobody has named one: no rule may read it."""
    return gold_column(corpus.columns.columns) if corpus.gold is None else None


def _same(condition: Condition) -> Condition:
    return condition


def _values(column: pl.Series) -> list[Field]:
    """The values of a column that has few, or bounds for one that holds numbers."""
    name, kind = column.name, column.dtype
    if kind in (pl.String, pl.Boolean) or kind.is_integer():
        values = column.drop_nulls().unique().sort().to_list()
        if 2 <= len(values) <= MOST_VALUES:
            return [Field(name, equal=value) for value in values]
    numbers = column.drop_nulls()
    if not kind.is_numeric() or not len(numbers):
        return []
    limits = sorted({float(f"{numbers.quantile(q):.3g}") for q in (0.1, 0.25, 0.5, 0.75, 0.9)})
    return [field for x in limits for field in (Field(name, high=x), Field(name, low=x))]

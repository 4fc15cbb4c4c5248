"""N-grams as numbers: the same n-grams that a plain reading of the text gives."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from unruly.features.ngrams import LENGTHS, WORD, CharGrams, WordGrams

WRITTEN = st.lists(st.text(alphabet="ab c,é我", max_size=20), min_size=1, max_size=6)


@given(WRITTEN)
def test_words_and_pairs_are_those_of_a_plain_loop(texts: list[str]) -> None:
    grams = WordGrams.learn(texts, least=1)
    found = grams.of(texts)
    ours = Counter((int(r), grams.term(int(k))) for r, k in zip(found.row, found.key, strict=True))
    plain: Counter[tuple[int, str]] = Counter()
    for row, text in enumerate(texts):
        words = re.findall(r"\w+", text.lower())
        plain.update((row, word) for word in words)
        plain.update((row, f"{a} {b}") for a, b in pairwise(words))
    assert ours == plain


LETTERS = "ab_0Z '.\n\0é我—😀İΣσςß\u0307\u0301\u200dǅñع٣²ªⅣ①"


@given(st.lists(st.text(LETTERS, max_size=30), max_size=6), st.booleans())
def test_words_in_the_bytes_are_those_of_the_regular_expression(
    texts: list[str], all_known: bool
) -> None:
    lists = pl.Series(texts, dtype=pl.String).str.to_lowercase().str.extract_all(WORD).to_list()
    words = sorted({word for words in lists for word in words})
    grams = WordGrams(tuple(words if all_known else words[::2]))
    row, word = grams._numbered(texts)
    assert [(r, grams.words[w] if w >= 0 else None) for r, w in zip(row, word, strict=True)] == [
        (r, word if word in grams.words else None)
        for r, words in enumerate(lists)
        for word in words
    ]


def test_long_words_differ_by_any_byte() -> None:
    long = "a" * 40
    known = (*(f"{long[:i]}b{long[i + 1 :]}" for i in range(40)), long, long[:8], long[:16])
    grams = WordGrams(tuple(sorted(known)))
    texts = [*grams.words, f"{long}a", long[:39], long[:9], f"é{long}", "c" * 100_000]
    assert grams._numbered(texts)[1].tolist() == [*range(len(grams.words)), *[-1] * 5]


@given(WRITTEN)
def test_runs_of_characters_are_those_of_a_plain_loop(texts: list[str]) -> None:
    grams = CharGrams.learn(texts)
    found = grams.of(texts)
    ours = Counter((int(r), grams.term(int(k))) for r, k in zip(found.row, found.key, strict=True))
    plain: Counter[tuple[int, str]] = Counter()
    for row, text in enumerate(texts):
        for word in text.lower().split():
            padded = f" {word} "
            for n in LENGTHS:
                plain.update((row, padded[i : i + n]) for i in range(len(padded) - n + 1))
    # A blank between two words belongs to both: " c" of "ab c" is counted once in either reading.
    assert ours == plain


def test_rare_words_break_pairs() -> None:
    grams = WordGrams.learn(["good film", "good song", "film"], least=2)
    assert grams.words == ("film", "good")
    found = grams.of(["good unheard film good film"])
    assert [grams.term(int(k)) for k in found.key] == [
        "good",
        "film",
        "good",
        "film",
        "film good",
        "good film",
    ]


def test_an_unknown_character_breaks_a_run() -> None:
    grams = CharGrams(" ab")
    found = grams.of(["abzab"])
    assert {grams.term(int(k)) for k in found.key} == {" a", "ab", " ab", "b ", "ab "}


def test_emoji_are_words() -> None:
    assert "😀" in WordGrams.learn(["😀 nice 😀"], least=1).words
